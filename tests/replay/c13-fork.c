/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, amendment C13: a forked child owns nothing of its parent's.
 *
 * The fork happens while another thread of the parent is stopped between the
 * announcement of its claim and its swap of the lock word.  The child tries to
 * verify, extend and release its parent's lease, to acquire with its parent's
 * attachment, and to close it: each call must be refused and change nothing.
 * An attachment that the child opens itself must work.
 *
 * Otherwise a child that exits or releases would end a lease that its parent
 * relies on.
 */
#include "replay.h"

static struct lh *lh;
static struct lh_lease k;
static const char *table;

static int
child(void *arg)
{
	struct lh_lease l = k, mine = { 0 };
	struct lh *own;

	(void)arg;
	is(lh_verify(lh, &l), -EPERM, "verify in a child");
	is(lh_extend(lh, &l, 1000), -EPERM, "extend in a child");
	is(replay_try(lh, "free", &mine), -EPERM, "acquire in a child");
	is(lh_release(lh, &l), -EPERM, "release in a child");
	is(lh_close(lh), -EPERM, "close in a child");
	own = replay_open(table, 0);
	is(replay_try(own, "k", &mine), -EAGAIN,
	    "through its own attachment the parent's key is held");
	is(lh_release(own, &l), -EPERM,
	    "and the parent's lease is another session's");
	is(replay_try(own, "free", &mine), 0, "it acquires a key of its own");
	is(lh_release(own, &mine), 0, "and releases it");
	is(lh_close(own), 0, "close");
	return tap_child_status();
}

int
main(void)
{
	struct replay_call stopped;
	pid_t pid;

	table = replay_begin();
	lh = replay_open(table, 0);
	k = t_hold(lh, "k");
	stopped = (struct replay_call)REPLAY_CALL(lh, "stopped", 60000, 0);
	replay_stop("stopped", "acquire.announced", replay_acquire, &stopped);

	pid = t_fork(child, NULL);
	is(t_reap(pid, REPLAY_MS), 0, "the child is refused");
	is(lh_verify(lh, &k), 0, "the parent still has its lease");
	is(replay_finish("stopped"), 0, "the other thread gets its lease");
	is(lh_release(lh, &stopped.lease), 0, "and releases it");
	is(lh_release(lh, &k), 0, "the parent releases");
	t_close(lh);
	return done();
}
