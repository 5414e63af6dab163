/* SPDX-License-Identifier: MIT */
/* test: slow 6 */
/*
 * Timing T6: a caller that waits for a lease of its own is in a deadlock with
 * itself, in another attachment, too.  It is not if other threads may release
 * that lease (LH_SHAREABLE), if it asked for no report (LH_NO_DEADLOCK), or if
 * the thread that acquired is gone.  A claim that was a shareable lease's is an
 * ordinary one afterwards.  Deadlocks are described in words, and counted.
 *
 * Otherwise a caller would be refused although another thread will release the
 * key, or would wait for itself.
 */
#include "support/part.h"
#include "circle.h"

static struct lh *lh, *other;

static int
wait_again(struct lh *by, uint32_t flags, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, wait_ms);
	struct lh_lease l;

	o.flags = flags;
	return lh_acquire(by, "k", &o, &l);
}

static struct lh_lease
hold(uint32_t flags, uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_lease l;

	o.flags = flags;
	o.mode = mode;
	if (lh_acquire(lh, "k", &o, &l) != 0)
		bail_out("cannot have k: %s", lh_error_detail());
	return l;
}

static uint64_t
deadlocks(void)
{
	struct lh_stats s = { .size = sizeof(s) };

	if (lh_stats(lh, &s) != 0)
		bail_out("no statistics");
	return s.counters.deadlocks;
}

static void
own_lease(void)
{
	struct lh_lease l = hold(0, LH_EXCLUSIVE);
	uint64_t n = deadlocks();
	int64_t ns = t_now_ns();

	is(wait_again(lh, 0, t_long(5000)), -EDEADLK, "one's own lease");
	cmp(t_since_ms(ns), <=, T6_MS, "soon");
	ok(strstr(lh_error_detail(), "this thread waits for 'k', held by this "
	    "thread") != NULL, "in words: %s", lh_error_detail());
	is((int)(deadlocks() - n), 1, "it is counted");
	is(wait_again(other, 0, t_long(5000)), -EDEADLK,
	    "the same in another attachment");
	is(lh_verify(lh, &l), 0, "the lease is as it was");
	is(wait_again(lh, LH_NO_DEADLOCK, t_long(150)), -ETIMEDOUT,
	    "with LH_NO_DEADLOCK it waits");
	is(wait_again(lh, 0, 20), -ETIMEDOUT, "a short wait does not look");
	is(lh_release(lh, &l), 0, "released");
}

static void
shareable(uint32_t mode)
{
	struct lh_lease l = hold(LH_SHAREABLE, mode);

	is(wait_again(lh, 0, t_long(150)), -ETIMEDOUT,
	    "a lease that others may release: it waits");
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < 20; i++) {
		l = hold(0, mode);
		if (wait_again(lh, 0, t_long(5000)) != -EDEADLK)
			fail("the next use is not an ordinary lease's");
		if (lh_release(lh, &l) != 0)
			fail("release");
	}
	l = hold(LH_SHAREABLE, mode);
	is(lh_convert(lh, &l, LH_SHARED), 0, "made shared");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "made exclusive");
	is(wait_again(lh, 0, t_long(150)), -ETIMEDOUT, "as before");
	is(lh_release(lh, &l), 0, "released");
}

static void *
hold_and_go(void *arg)
{
	*(struct lh_lease *)arg = hold(0, LH_EXCLUSIVE);
	return NULL;
}

static void
gone_thread(void)
{
	struct lh_lease l, mine[20];
	char key[16];

	t_join(t_thread(hold_and_go, &l));
	/* its claims come to us */
	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "mine%d", i);
		mine[i] = t_hold(lh, key);
	}
	is(wait_again(lh, 0, t_long(150)), -ETIMEDOUT,
	    "a lease of a thread that is gone: it waits");
	for (int i = 0; i < 20; i++)
		if (lh_release(lh, &mine[i]) != 0)
			fail("release");
	is(lh_release(lh, &l), 0, "released");
}

/* Two callers in a circle: the one with LH_NO_DEADLOCK waits, the other
 * returns. */
static void
spared(struct party *a, struct party *b)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct party *p[] = { a, b };

	party_has(a, "x", LH_EXCLUSIVE, HOUR_MS);
	party_has(b, "y", LH_EXCLUSIVE, HOUR_MS);
	party_wants(lh, b, "x", LH_EXCLUSIVE, 9, 1);
	o.flags = LH_NO_DEADLOCK;
	party_begin(a, TAKE, "y", &o);
	is(party_first(p, 2, T_HANG_MS), 1,
	    "of two, the one without LH_NO_DEADLOCK returns");
	is(b->result, -EDEADLK, "is");
	is(party_lets_go(b), 0, "it releases its key");
	party_follows(a, "the other goes on");

	party_has(a, "x", LH_EXCLUSIVE, HOUR_MS);
	party_has(b, "y", LH_EXCLUSIVE, t_long(400));
	party_begin(a, TAKE, "y", &o);
	party_begin(b, TAKE, "x", &o);
	is(party_result(a), 0, "neither can: the deadline decides");
	cmp(t_now_ns(), >=, b->lease[0].expires_ns, "when it has come");
	ok(!party_answered(b), "the other waits on");
	is(party_lets_go(a), 0, "released");
	is(party_result(b), 0, "it goes on");
	is(party_lets_go(b), -ESTALE, "its first lease was lost");
}

static void
play(void)
{
	const char *table = t_table();
	struct party *a, *b;

	b = party_new(table, NULL);	/* forked before there are threads */
	lh = t_open(table);
	other = t_open(table);
	own_lease();
	shareable(LH_EXCLUSIVE);
	shareable(LH_SHARED);
	gone_thread();
	a = party_new(table, lh);
	spared(a, b);
	party_end(a);
	party_end(b);
	is(lh_close(other), 0, "closed");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 20, "deadlock who is not in one");
	return done();
}
