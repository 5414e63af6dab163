/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: a call that presents a lease is stopped before each of
 * its accesses to shared memory in turn, while another thread extends the
 * lease, and the old deadline passes.  The call must not report the lease lost:
 * not verify, extend, convert, hand-off, status or set-value.  The lease that a
 * conversion or a hand-off makes can be found by status, and extended, too.
 *
 * Otherwise a holder would stop its work although it still holds the key.
 */
#include "sweep.h"

#define TTL_MS 8			/* doubled, tripled ... at each try */
#define TRIES 20		/* on a busy machine */

static struct lh *lh;
static struct lh_session *session;

struct call {
	struct sweep s;
	const char *point;
	int n;
	int (*present)(struct lh_lease *l);
	struct lh_lease l;
};

static int
verify(struct lh_lease *l)
{
	return lh_verify(lh, l);
}

static int
extend(struct lh_lease *l)
{
	return lh_extend(lh, l, HOUR_MS);
}

static int
convert(struct lh_lease *l)
{
	return lh_convert(lh, l, l->mode == LH_SHARED ? LH_EXCLUSIVE :
	    LH_SHARED);
}

static int
hand_over(struct lh_lease *l)
{
	return lh_handoff(lh, l, session);
}

static int
take_over(struct lh_lease *l)
{
	return lh_handoff(lh, l, NULL);
}

static int
set_value(struct lh_lease *l)
{
	return lh_value_set(lh, l, "x", 1);
}

static int
found(const struct lh_key_info *info, void *unused)
{
	(void)info;
	(void)unused;
	return 0;
}

static int
status(struct lh_lease *l)
{
	return lh_status(lh, "k", l->id, found, NULL);
}

static int
run(void *arg)
{
	struct call *c = arg;

	sweep_warm_up(lh);
	sweep_now(&c->s, c->point, c->n);
	return c->present(&c->l);
}

static int
recall(const struct lh_key_info *info, void *l)
{
	const struct lh_party *h = &info->holders[0];

	return info->n_holders == 0 ? -ENOENT :
	    lh_lease_recall(lh, "k", h->id, h->token, l);
}

/* Extends the lease as it was presented, or what it has become. */
static bool
others_extend(struct lh_lease *l)
{
	struct lh_lease now;

	return lh_extend(lh, l, HOUR_MS) == 0 ||
	    (lh_status(lh, "k", NULL, recall, &now) == 0 &&
	    lh_extend(lh, &now, HOUR_MS) == 0);
}

/* 1: the call was stopped; 0: it was not; -1: it was too slow. */
static int
extended(const char *what, int (*present)(struct lh_lease *l), uint32_t mode,
    const char *point, int n, int64_t ttl_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	struct call c = { .point = point, .n = n, .present = present };
	struct lh_lease l;
	bool stands, in_time;
	int error;

	o.mode = mode;
	if (lh_acquire(lh, "k", &o, &l) != 0)
		bail_out("'k' is not free: %s", lh_error_detail());
	c.l = l;
	sweep_go(&c.s, run, &c);
	stands = sweep_stands(&c.s);
	in_time = others_extend(&l);
	t_sleep_ms(in_time ? ttl_ms + 1 : 0);
	error = sweep_end(&c.s);
	if (in_time && error != 0)
		sweep_bad(what, n, "%d", error);
	if (in_time && lh_verify(lh, &c.l) != 0)
		sweep_bad(what, n, "it is not held");
	if (lh_release(lh, &c.l) != 0)
		(void)lh_release(lh, &l);
	return in_time ? stands : -1;
}

/* The same, at the nth arrival at point, or access. */
static int
stop(const char *what, int (*present)(struct lh_lease *l), uint32_t mode,
    const char *point, int n)
{
	int stands = -1;

	for (int i = 0; i < TRIES && stands < 0; i++)
		stands = extended(what, present, mode, point, n,
		    TTL_MS * (i + 1));
	return stands;
}

static void
sweep(const char *what, int (*present)(struct lh_lease *l), uint32_t mode)
{
	int n = 1, stands;

	while ((stands = stop(what, present, mode, NULL, n)) == 1)
		n++;
	is(stands, 0, "%s, %s: stopped %d times", what, mode == LH_SHARED ?
	    "shared" : "exclusive", n - 1);
}

static int
policy(const struct lh_key_info *info, void *unused)
{
	(void)unused;
	return (int)info->holders[0].policy;
}

/* A lease that is extended while it moves keeps its policy live. */
static void
stays_live(const char *what, int (*present)(struct lh_lease *l), uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	bool stands = true;
	int n;

	more.policy = LH_POLICY_LIVE;
	o.more = &more;
	o.mode = mode;
	for (n = 1; stands; n++) {
		struct call c = { .n = n, .present = present };
		struct lh_lease l;

		if (lh_acquire(lh, "k", &o, &l) != 0)
			bail_out("'k' is not free: %s", lh_error_detail());
		c.l = l;
		sweep_go(&c.s, run, &c);
		stands = sweep_stands(&c.s);
		if (!others_extend(&l))
			sweep_bad(what, n, "it is not extended");
		if (sweep_end(&c.s) != 0)
			sweep_bad(what, n, "it is lost");
		if (lh_status(lh, "k", NULL, policy, NULL) != LH_POLICY_LIVE)
			sweep_bad(what, n, "it is under another policy");
		if (lh_release(lh, &c.l) != 0)
			bail_out("not released: %s", lh_error_detail());
	}
	cmp(n, >, 10, "%s, %s, under policy live: stopped %d times", what,
	    mode == LH_SHARED ? "shared" : "exclusive", n - 2);
}

int
main(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	const char *table = sweep_begin();

	so.ttl_ms = HOUR_MS;
	lh = replay_open(table, 0);
	is(lh_session_open(lh, "s", &so, &session), 0, "a session");
	sweep_warm_up(lh);
	for (uint32_t mode = LH_EXCLUSIVE; mode <= LH_SHARED; mode++) {
		sweep("verified", verify, mode);
		sweep("extended", extend, mode);
		sweep("converted", convert, mode);
		sweep("handed over", hand_over, mode);
		sweep("its status asked", status, mode);
	}
	sweep("its value set", set_value, LH_EXCLUSIVE);
	for (uint32_t mode = LH_EXCLUSIVE; mode <= LH_SHARED; mode++) {
		is(stop("converted", convert, mode, "convert.looked", 1), 1,
		    "its new deadline looked at");
		stays_live("converted", convert, mode);
		stays_live("handed over", take_over, mode);
	}
	is(t_findings(lh), 0, "the table is sound");
	lh_session_close(session);
	t_close(lh);
	return done();
}
