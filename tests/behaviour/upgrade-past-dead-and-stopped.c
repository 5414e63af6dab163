/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G5, timings T1 and T2: an upgrade waits for living readers,
 * and for these no longer than their deadlines: a killed one is found dead, a
 * stopped one's lease expires, an idle one leaves at once.  An upgrader that is
 * killed, or stopped past its lease, hinders nobody.
 *
 * Otherwise one stopped reader would keep an upgrade waiting for ever.
 */
#include <errno.h>
#include "support/part.h"
#include "upgrade.h"

static struct lh *lh;

static bool
over_dead(void *table)
{
	struct t_actor *r = t_actor(table);
	struct lh_lease l = t_read_hold(lh, "k");
	int64_t ns;

	is(t_do_read(r, "k", HOUR_MS, 0), 0, "another reads");
	t_actor_kill(r);
	ns = t_now_ns();
	is(t_upgrade(lh, &l, T_HANG_MS), 0, "it was killed: upgraded");
	ns = t_since_ms(ns);
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(r);
	diag("after %lld ms", (long long)ns);
	return ns <= T2_MS;
}

static bool
over_stopped(void *table)
{
	struct t_actor *r = t_actor(table);
	struct lh_lease l = t_read_hold(lh, "k");
	int64_t late;

	is(t_do_read(r, "k", t_long(200), 0), 0, "another reads for a while");
	t_stop(r->pid);
	is(t_upgrade(lh, &l, T_HANG_MS), 0, "it is stopped: upgraded");
	late = t_since_ms(r->lease.expires_ns);
	cmp(t_now_ns(), >=, r->lease.expires_ns, "not before its deadline");
	t_cont(r->pid);
	is(t_do_verify(r), -ESTALE, "it has lost its lease");
	is(lh_release(lh, &l), 0, "released");
	t_actor_end(r);
	diag("%lld ms after the deadline", (long long)late);
	return late <= T1_MS;
}

static int
go_idle(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, 0);
	struct lh_lease x;
	int r = lh_acquire(a->lh, "k", &o, &x);

	(void)arg;
	return r != 0 ? r : lh_release(a->lh, &x);
}

static bool
over_idle(void *table)
{
	struct t_actor *r = t_actor(table), *i = t_actor(table);
	struct lh_lease l = t_read_hold(lh, "k");
	int64_t ns;

	is(t_do(i, go_idle, NULL), 0, "one has read, beside others");
	is(t_do_read(r, "k", t_long(100), 0), 0, "one reads for a while");
	is(t_do(i, go_idle, NULL), 0, "the first again");
	is(t_upgrade(lh, &l, T_HANG_MS), 0, "upgraded");
	ns = t_since_ms(r->lease.expires_ns);
	is(lh_release(lh, &l), 0, "released");
	t_actor_end(r);
	t_actor_end(i);
	diag("%lld ms after the deadline", (long long)ns);
	return ns <= T1_MS;
}

/* The upgrader itself, killed: readers get in, a writer as well. */
static bool
itself_killed(void *table)
{
	struct t_actor *u = t_actor(table), *w = t_actor(table);
	struct lh_lease l = t_read_hold(lh, "k");
	int64_t ns;
	int r;

	is(t_do_read(u, "k", HOUR_MS, 0), 0, "another reads");
	t_begin_upgrade(u, HOUR_MS);
	ok(t_await_waiters(lh, "k", 1), "and waits to upgrade");
	is(t_try(lh, "k", LH_SHARED, 0), -EAGAIN, "new readers stay out");
	t_actor_kill(u);
	ns = t_now_ns();
	r = t_read(lh, "k", HOUR_MS, T_HANG_MS, &(struct lh_lease){ 0 });
	is(r, 0, "it was killed: they come in");
	ns = t_since_ms(ns);
	t_actor_free(u);
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	is(lh_release(lh, &l), 0, "one reader leaves");
	is(lh_break(lh, "k", NULL, 0), 1, "the other one is broken");
	is(t_result(w), 0, "a writer has it");
	is(t_do_release(w), 0, "released");
	t_actor_end(w);
	diag("after %lld ms", (long long)ns);
	return ns <= T2_MS;
}

static bool
itself_stopped(void *table)
{
	struct t_actor *u = t_actor(table), *w = t_actor(table);
	struct lh_lease l = t_read_hold(lh, "k"), l2;
	int64_t ns;

	is(t_do_read(u, "k", t_long(500), 0), 0, "another reads");
	t_begin_upgrade(u, HOUR_MS);
	ok(t_await_waiters(lh, "k", 1), "and waits to upgrade");
	t_stop(u->pid);
	ns = t_now_ns();
	is(t_read(lh, "k", HOUR_MS, T_HANG_MS, &l2), 0,
	    "it is stopped: new readers come in");
	ns = t_since_ms(ns);
	is(lh_release(lh, &l), 0, "they leave");
	is(lh_release(lh, &l2), 0, "all");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 2);
	is(t_result(w), 0, "at its deadline a writer has the key");
	t_cont(u->pid);
	is(t_result(u), -ESTALE, "it has lost its lease");
	is(t_do_release(w), 0, "released");
	diag("readers after %lld ms, the writer %lld ms after the deadline",
	    (long long)ns, (long long)t_after_ms(w, u->lease.expires_ns));
	t_actor_end(u);
	t_actor_end(w);
	return ns <= T3_DEAD_MS;
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	ok(t_tries(3, over_dead, (void *)(uintptr_t)table), "dead: in time");
	ok(t_tries(3, over_stopped, (void *)(uintptr_t)table),
	    "stopped: in time");
	ok(t_tries(3, over_idle, (void *)(uintptr_t)table), "idle: in time");
	ok(t_tries(3, itself_killed, (void *)(uintptr_t)table),
	    "itself killed: in time");
	ok(t_tries(3, itself_stopped, (void *)(uintptr_t)table),
	    "itself stopped: in time");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 300, "upgrade past dead and stopped");
	return done();
}
