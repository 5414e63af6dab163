/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 C2, deadlocks by job: a process finds that it is on a circle of
 * waits through a run's job, and is stopped there.  The job gives up its wait,
 * and waits for another key with the same claim.  There is no circle any more,
 * and none may be reported: the process acquires its key when the run releases
 * it.
 *
 * Otherwise a job would fail with a deadlock that does not exist.
 */
#include "sake.h"

static struct lh *job, *other;
static int gave_up;

/* Of a higher priority: so B would give way. */
static int
be_the_job(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 1000);
	struct lh_lease l;
	int error;

	(void)unused;
	o.priority = 1;
	gave_up = lh_acquire(job, "b", &o, &l);
	o.max_wait_ms = 5000;
	error = lh_acquire(job, "c", &o, &l);
	return error != 0 ? error : lh_release(job, &l);
}

static bool
b_is_held(void *unused)
{
	struct lh_lease l;

	(void)unused;
	if (replay_try(other, "b", &l) != 0)
		return true;
	(void)lh_release(other, &l);
	return false;
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_lease c;

	sake_begin(table);
	job = replay_open(table, 0);
	unsetenv("LEASEHOLD_HELD");
	other = replay_open(table, 0);
	is(replay_try(other, "c", &c), 0, "another one has c");
	replay_hold("B", "wait.announced");
	replay_go("B", sake_want_a, NULL);
	replay_wait_held("B");
	ok(b_is_held(NULL), "B has b, and is about to wait for a");
	replay_go("job", be_the_job, NULL);
	ok(t_await_waiters(other, "b", 1), "the job waits for b");
	replay_hold("B", "deadlock.found");
	replay_release("B");
	replay_wait_held("B");
	ok(t_await_waiters(other, "c", 1), "the job waits for another key");
	is(gave_up, -ETIMEDOUT, "having given up the first");
	replay_release("B");
	is(lh_release(sake_run, &sake_a), 0, "the run ends");
	is(replay_result("B"), 0, "B gets a: no deadlock is reported");
	is(lh_release(other, &c), 0, "released");
	is(replay_result("job"), 0, "the job has what it wants");
	t_close(other);
	t_close(job);
	t_close(sake_b);
	t_close(sake_run);
	return done();
}
