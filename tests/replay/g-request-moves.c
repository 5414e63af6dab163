/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: a request is repeated, and the repeating caller is stopped
 * before each of its accesses to shared memory, while the request's lease is
 * extended, or converted without success.  The lease is held all the time: the
 * call must return it, and never report it lost.
 *
 * Otherwise a caller that repeats its request would believe that it had lost a
 * key that it still holds.
 */
#include "sweep.h"

static struct lh *lh, *other;
static uint64_t ids;

struct call {
	struct sweep s;
	const char *point;
	int n;
	uint32_t mode;
	struct lh_lease l;
};

static int
request(uint32_t mode, uint64_t id, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.request[0] = id;
	o.more = &more;
	o.mode = mode;
	return lh_acquire(lh, "k", &o, l);
}

static int
repeat(void *arg)
{
	struct call *c = arg;

	sweep_warm_up(lh);
	sweep_now(&c->s, c->point, c->n);
	return request(c->mode, ids, &c->l);
}

static int
upgrade(void *arg)
{
	struct call *c = arg;

	sweep_warm_up(lh);
	sweep_now(&c->s, c->point, c->n);
	return lh_convert(lh, &c->l, LH_EXCLUSIVE);
}

static void
extend(struct call *up, const struct lh_lease *l, int n)
{
	struct lh_lease as = *l;

	(void)up;
	if (lh_extend(lh, &as, HOUR_MS / 2) != 0)
		sweep_bad("extended", n, "it is not extended: %s",
		    lh_error_detail());
}

/* The upgrade has begun; another reader makes it fail. */
static void
give_up(struct call *up, const struct lh_lease *l, int n)
{
	struct lh_lease r;

	(void)l;
	if (t_read(other, "k", HOUR_MS, 0, &r) != 0)
		bail_out("'k' cannot be read: %s", lh_error_detail());
	if (sweep_end(&up->s) != -EAGAIN)
		sweep_bad("failed upgrade", n, "it is converted");
	(void)lh_release(other, &r);
}

/* `up`: an upgrade is under way before. */
static void
sweep(const char *what, uint32_t mode, bool up,
    void (*meanwhile)(struct call *up, const struct lh_lease *l, int n))
{
	bool stands = true;
	int n;

	for (n = 1; stands; n++) {
		struct call c = { .n = n, .mode = mode }, u = {
		    .point = "convert.announced", .n = 1 };
		struct lh_lease l;

		ids++;
		if (request(mode, ids, &l) != 0)
			bail_out("'k' is not free: %s", lh_error_detail());
		u.l = l;
		if (up) {
			sweep_go(&u.s, upgrade, &u);
			(void)sweep_stands(&u.s);
		}
		sweep_go(&c.s, repeat, &c);
		stands = sweep_stands(&c.s);
		meanwhile(&u, &l, n);
		if (sweep_end(&c.s) != 0)
			sweep_bad(what, n, "it is lost");
		else if (c.l.id[1] != l.id[1] || c.l.token != l.token)
			sweep_bad(what, n, "it is another lease");
		if (lh_release(lh, &l) != 0)
			bail_out("not released: %s", lh_error_detail());
	}
	cmp(n, >, 20, "%s, %s: stopped %d times", what, mode == LH_SHARED ?
	    "shared" : "exclusive", n - 2);
}

int
main(void)
{
	const char *table = sweep_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	sweep_warm_up(lh);
	sweep("extended", LH_EXCLUSIVE, false, extend);
	sweep("extended", LH_SHARED, false, extend);
	sweep("failed upgrade", LH_SHARED, true, give_up);
	is(t_findings(lh), 0, "the table is sound");
	t_close(other);
	t_close(lh);
	return done();
}
