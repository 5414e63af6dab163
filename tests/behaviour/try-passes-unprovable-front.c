/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G5: callers that only try acquire a free key in the end as well,
 * although the first waiter will never acquire it and cannot be proved dead.
 * Its process was killed, but a copy of its liveness descriptor is open in a
 * child, so that its session counts as alive.  No single try lasts long enough
 * to notice; those of one process together do, and so do those of many
 * attachments that come and go.
 *
 * Otherwise a free key would never be granted to callers that only try.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define BETWEEN_MS 4

static struct t_event *end;

/* Attach anew so that the session can be passed on, and pass it on. */
static int
pass_on(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();
	pid_t pid;

	o.flags = LH_LIVENESS_FD;
	if (lh_close(a->lh) != 0 || lh_open(&a->lh, arg, &o) != 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		/* outlives its parent, not the test */
		(void)t_await(end, 1, T_HANG_MS);
		_exit(0);
	}
	return pid > 0 ? 0 : -errno;
}

/* The key "k" is free; who cannot come is first in its queue, and is the nth
 * there: those before it are known not to come. */
static void
unprovable_front(struct lh *lh, int nth)
{
	const char *table = lh_table_name(lh);
	struct t_actor *front = t_actor(table);
	struct lh_lease l = t_hold(lh, "k"), m;

	is(t_do(front, pass_on, (void *)(uintptr_t)table), 0,
	    "a process with a child that keeps its session");
	t_begin_acquire(front, "k", 1000, 3600000);
	ok(t_await_waiters(lh, "k", nth), "waits");
	/* long enough to say that it starves: then nobody may overtake it */
	t_sleep_ms(t_long(50));
	t_actor_kill(front);
	t_actor_free(front);
	is(t_waiters(lh, "k"), nth, "it is killed, and still seems to wait");
	is(t_acquire(lh, "k", 1000, 0, &m), -EAGAIN, "the key is held");
	is(lh_release(lh, &l), 0, "then released");
}

/* Tries until one succeeds: how long that took, in ms. */
static int64_t
tries(struct lh *lh, bool newcomers)
{
	int64_t began_ns = t_now_ns(), took;
	struct lh_lease l;
	struct lh *by;
	int r, n = 0;

	do {
		by = newcomers ? t_open(lh_table_name(lh)) : lh;
		r = t_acquire(by, "k", 3600000, 0, &l);
		n++;
		took = t_since_ms(began_ns);
		if (r == 0 && lh_release(by, &l) != 0)
			r = 1;
		if (newcomers && lh_close(by) != 0)
			r = 1;
		if (r == -EAGAIN)
			t_sleep_ms(BETWEEN_MS);
	} while (r == -EAGAIN && took < 3 * T3_DEAD_MS);
	diag("%d tries, the last one %lld ms after the release", n,
	    (long long)took);
	is(r, 0, "the key is acquired");
	return took;
}

static void
play(void)
{
	const char *table = t_table();
	struct lh_lease l;
	struct lh *lh;

	end = t_shared(sizeof(*end));
	lh = t_open(table);

	unprovable_front(lh, 1);
	cmp(tries(lh, false), <=, T3_DEAD_MS, "by one who only tries, in time");
	unprovable_front(lh, 2);
	cmp(tries(lh, true), <=, T3_DEAD_MS, "by many who try once, in time");
	is(t_acquire(lh, "k", 1000, T3_DEAD_MS, &l), 0, "by one who waits");
	is(lh_release(lh, &l), 0, "and releases");

	t_post(end);
	is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0, "the children end");
	ok(t_until(2 * T2_MS, t_waiters(lh, "k") == 0), "so do the waits");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 600, "try passes unprovable front");
	return done();
}
