/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G5, timing T2: a process that is killed while it holds some
 * of its keys and waits for others leaves them to others.  A stopped one keeps
 * them up to the end of its leases, and begins again when it continues.
 *
 * Otherwise half of a set would stay held by a process that never gets the
 * rest.
 */
#include <errno.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static const struct lh_item items[] = { { .key = "a" }, { .key = "b" },
	{ .key = "c" } };

struct job {
	const char *table;
	int64_t ttl_ms;
	uint64_t token;		/* of "a", when all were acquired */
};

static int
acquire(void *arg)
{
	struct job *job = arg;
	struct lh_acquire_opts o = t_opts(job->ttl_ms, T_HANG_MS);
	struct lh *lh = t_open(job->table);
	struct lh_lease l[3];

	is(lh_acquire_many(lh, items, 3, &o, l), 0, "all keys are acquired");
	job->token = l[0].token;
	is(lh_release_many(lh, l, 3), 0, "and released");
	return tap_child_status();
}

static void
killed(struct lh *lh, struct job *job)
{
	struct lh_lease last = t_hold(lh, "c"), l[3];
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	pid_t pid;
	int64_t began;

	job->ttl_ms = 3600000;
	pid = t_fork(acquire, job);
	ok(t_await_waiters(lh, "c", 1), "it waits for the last");
	is(t_holders(lh, "a") + t_holders(lh, "b"), 2, "and holds the others");
	t_kill(pid);
	is(lh_release(lh, &last), 0, "killed, and the last released");
	began = t_now_ns();
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "another one has them all");
	cmp(t_since_ms(began), <=, 2 * T2_MS, "soon (T2)");
	ok(l[0].notes & LH_NOTE_PREVIOUS_DIED,
	    "and its lease notes the first holder's death");
	ok(l[1].notes & LH_NOTE_PREVIOUS_DIED, "and of the second");
	ok(!(l[2].notes & LH_NOTE_PREVIOUS_DIED), "the third was never had");
	is(lh_release_many(lh, l, 3), 0, "released");
}

static void
stopped(struct lh *lh, struct job *job)
{
	struct lh_lease last = t_hold(lh, "c"), l;
	int64_t ttl = t_long(300), began;
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	pid_t pid;

	o.flags = LH_NO_DEADLOCK;	/* it is one, to the deadline */
	job->ttl_ms = ttl;
	pid = t_fork(acquire, job);
	ok(t_await_waiters(lh, "c", 1), "it waits for the last");
	t_stop(pid);
	began = t_now_ns();
	is(lh_acquire(lh, "a", &o, &l), 0, "stopped: another has it");
	cmp(t_since_ms(began), <=, ttl + T1_MS, "at the end of its lease (T1)");
	t_cont(pid);
	ok(t_until(T_HANG_MS, t_waiters(lh, "a") == 1), "it begins anew");
	is(t_holders(lh, "b"), 0, "and gives back what it had");
	is(lh_verify(lh, &l), 0, "the new lease is untouched");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(lh, &last), 0, "both");
	is(t_reap(pid, T_HANG_MS), 0, "then it has them all");
	cmp(job->token, >, l.token, "with a larger token");
}

static void
play(void)
{
	struct job *job = t_shared(sizeof(*job));
	struct lh *lh;

	job->table = t_table();
	lh = t_open(job->table);
	killed(lh, job);
	stopped(lh, job);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 100, "many killed in the middle");
	return done();
}
