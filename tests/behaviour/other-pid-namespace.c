/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: containers that share the table's object and the time
 * namespace, but not the process ids.  A holder in another pid namespace is
 * seen alive while it lives, also if its number belongs to another process
 * here, and its death frees the key at once, in both directions.
 *
 * Otherwise a container would take the key of a living holder, or wait for a
 * dead one.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NO_NAMESPACE 42

static const char *table;
static struct t_event *inside, *outside;

/* Checks that the holder's state is unknown, whatever has its number here. */
static int
unseen(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	is(info->n_holders == 1 ? (int)info->holders[0].pid : -1, 1,
	    "its holder is number 1 there");
	return info->n_holders == 1 ? (int)info->holders[0].run : -1;
}

/* The first process of its namespace: number 1 there. */
static void
hold(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_lease l, other;

	(void)arg;
	is(getpid(), 1, "it is number 1");
	is(t_acquire(lh, "inner", 3600000, 0, &l), 0, "it holds a key");
	is(t_acquire(lh, "outer", 1000, 0, &other), -EAGAIN,
	    "and finds one held from outside");
	is(lh_explain(lh, "inner", unseen, NULL), LH_RUN_UNSEEN,
	    "the outer /proc's entry of number 1 is not reported");
	t_post(inside);
	ok(t_await(outside, 1, T_HANG_MS), "told to go on");
	is(t_acquire(lh, "outer", 3600000, T2_MS, &other), 0,
	    "a death outside is seen inside");
	if (tap_child_status() == 0)
		t_post(inside);
	for (;;)
		pause();
}

static int
enter(void *arg)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) != 0)
		return NO_NAMESPACE;
	/* not t_fork(): its parent has no number there */
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		hold(arg);
	}
	return t_reap(pid, T_HANG_MS * 3);
}

static int
hold_outer(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_lease l;

	is(t_acquire(lh, "outer", 3600000, 0, &l), 0, "one holds outside");
	t_post(arg);
	for (;;)
		pause();
	return 0;
}

int
main(void)
{
	struct t_event *holds = t_shared(sizeof(*holds));
	struct lh_lease l;
	pid_t outer, pid;
	struct lh *lh;
	int r;

	if (geteuid() != 0)
		skip_all("only root makes a pid namespace");
	table = t_table();
	inside = t_shared(sizeof(*inside));
	outside = t_shared(sizeof(*outside));
	lh = t_open(table);
	outer = t_fork(hold_outer, holds);
	ok(t_await(holds, 1, T_HANG_MS), "a holder outside");
	pid = t_fork(enter, NULL);
	if (!t_await(inside, 1, T_HANG_MS)) {
		r = t_reap(pid, T_HANG_MS);
		if (r == NO_NAMESPACE)
			skip_all("no pid namespaces here");
		bail_out("the inner one says nothing (%d)", r);
	}
	is(t_acquire(lh, "inner", 1000, t_ms(200), &l), -ETIMEDOUT,
	    "who lives in another namespace keeps its key");
	ok(strstr(lh_error_detail(), "of another pid namespace") != NULL,
	    "its number is not taken for one of ours: %s",
	    lh_error_detail());
	is(lh_table_remove(table, 0), -EBUSY, "the table is in use");
	ok(strstr(lh_error_detail(), "a process of another pid namespace, "
	    "number 1 there") != NULL, "there, too: %s", lh_error_detail());
	is(lh_explain(lh, "inner", unseen, NULL), LH_RUN_UNSEEN,
	    "and it is not said what it does");
	t_kill(outer);
	t_post(outside);
	ok(t_await(inside, 2, T_HANG_MS), "the inner one got the outer key");
	t_kill(pid);	/* and with it, its child */
	is(t_acquire(lh, "inner", 1000, T2_MS, &l), 0,
	    "a death inside is seen outside");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "and noted");
	is(t_acquire(lh, "outer", 1000, T2_MS, &l), 0, "both keys");
	t_close(lh);
	return done();
}
