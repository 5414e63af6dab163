/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G11: a claim is used again only when no lock word can come
 * to name it.
 *
 * A thread converts a lease of another thread, and is stopped between its two
 * swaps (first the claim's state, then the word). The deadline passes, and a
 * third caller marks the lease expired, but is stopped before the word.  The
 * owner's claim cache takes the claim back, and is stopped before each of its
 * accesses to shared memory; there the conversion goes on, and may turn the
 * word from S to X or back.  Then the owner uses the claim for another key.
 * The conversion must report the lease lost, and the new lease must be
 * untouched.
 *
 * Otherwise the old key's word would name a claim of another key, and two
 * callers would share one lease.
 */
#include "sweep.h"

#define TTL_MS 20
#define OTHERS 7		/* with one more: all claims of a thread */
#define STEP 2			/* small enough to meet the window */
#define TRIES 20		/* on a busy machine */

static const char *table;
static struct lh *lh, *other, *third;

/* A call in a thread of its own, stopped at a named point. */
struct caller {
	struct sweep s;
	const char *point;
	int n;
	struct lh *lh;
	uint32_t mode;		/* to acquire in, or to convert to */
	char key[32];
	struct t_event ready, on;
	struct lh_lease l;
};

static int
convert(void *arg)
{
	struct caller *c = arg;

	sweep_warm_up(c->lh);
	sweep_now(&c->s, c->point, c->n);
	return lh_convert(c->lh, &c->l, c->mode);
}

static int
acquire(void *arg)
{
	struct caller *c = arg;
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);

	o.mode = c->mode;
	sweep_warm_up(c->lh);
	sweep_now(&c->s, c->point, c->n);
	return lh_acquire(c->lh, c->key, &o, &c->l);
}

/* The owner: seven long leases and a short one; later one more. */
static int
own(void *arg)
{
	struct caller *c = arg;
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	char key[32];

	for (int i = 0; i < OTHERS; i++) {
		(void)snprintf(key, sizeof(key), "own%d", i);
		(void)t_hold(c->lh, key);
	}
	o.mode = c->mode;
	if (lh_acquire(c->lh, c->key, &o, &c->l) != 0)
		bail_out("%s is not free", c->key);
	t_post(&c->ready);
	(void)t_await(&c->on, 1, REPLAY_MS);
	sweep_now(&c->s, NULL, c->n);
	return t_read(c->lh, "new", HOUR_MS, 0, &c->l);
}

/* Stops the owner before access n.  1: stopped; 0: it has ended; -1: too
 * slow. */
static int
play(const char *what, int n, uint32_t from, bool *same)
{
	struct caller owner = { .n = n, .mode = from };
	struct caller up, w;
	struct lh_lease was, x;
	bool stands, in_time;
	int r;

	lh = replay_open(table, 0);
	owner.lh = lh;
	(void)snprintf(owner.key, sizeof(owner.key), "%s%d", what, n);
	sweep_go(&owner.s, own, &owner);
	ok(t_await(&owner.ready, 1, REPLAY_MS), "%s is held", owner.key);
	was = owner.l;
	up = (struct caller){ .point = "convert.announced", .n = 1, .lh = lh,
	    .l = was,
	    .mode = from == LH_SHARED ? LH_EXCLUSIVE : LH_SHARED };
	sweep_go(&up.s, convert, &up);
	in_time = sweep_stands(&up.s);
	replay_sleep_past(&was);
	w = (struct caller){ .point = "lock.expired", .n = 1, .lh = other };
	memcpy(w.key, owner.key, sizeof(w.key));
	sweep_go(&w.s, acquire, &w);
	if (!sweep_stands(&w.s) && in_time)
		sweep_bad(what, n, "nobody marks it expired");

	t_post(&owner.on);
	stands = sweep_stands(&owner.s);
	if (in_time)
		(void)sweep_on(&up.s, "convert.swapped", 1);
	r = sweep_end(&owner.s);
	if (r != 0)
		sweep_bad(what, n, "the owner cannot read another key: %d", r);
	*same = lid_claim(owner.l.id[1]) == lid_claim(was.id[1]);
	r = sweep_end(&up.s);
	if (in_time && r != -ESTALE)
		sweep_bad(what, n, "the conversion says %d", r);
	r = sweep_end(&w.s);
	if (r != 0 && r != -EAGAIN)
		sweep_bad(what, n, "the writer: %d", r);
	if (r == 0)
		(void)lh_release(other, &w.l);
	if (replay_try(third, owner.key, &x) != 0)
		sweep_bad(what, n, "the key is not free in the end");
	(void)lh_release(third, &x);
	if (lh_verify(lh, &owner.l) != 0 ||
	    replay_try(third, "new", &x) != -EAGAIN)
		sweep_bad(what, n, "the claim's new lease is lost");
	if (lh_release(lh, &owner.l) != 0)
		sweep_bad(what, n, "it cannot be released");
	if (t_findings(third) != 0)
		sweep_bad(what, n, "the table is not sound");
	if (lh_close(lh) != 0)
		sweep_bad(what, n, "the owner's session cannot be closed");
	return in_time ? stands : -1;
}

static void
sweep(const char *what, uint32_t from)
{
	int n, stands = 1, same = 0;

	for (n = 1; stands == 1; n += STEP) {
		bool it = false;

		stands = -1;
		for (int i = 0; i < TRIES && stands < 0; i++)
			stands = play(what, n, from, &it);
		same += it;
	}
	is(stands, 0, "%s: stopped %d times", what,
	    n / STEP - 1);
	cmp(same, >, n / STEP / 2, "the same claim was used %d times", same);
}

int
main(void)
{
	table = sweep_begin();
	other = replay_open(table, 0);
	third = replay_open(table, 0);
	sweep("up", LH_SHARED);
	sweep("down", LH_EXCLUSIVE);
	t_close(third);
	t_close(other);
	return done();
}
