/* SPDX-License-Identifier: MIT */
/* test: release: ASan's malloc() lock is not held over fork() */
/*
 * Guarantee G4: a forked child has no live handle: inherited handles are
 * refused, call by call, the parent's lease goes on, and the child's own
 * handles work.  Also when the fork happens during the work of the renewing
 * thread.
 *
 * Otherwise a child would release its parent's lease, or hang in a lock of the
 * renewing thread.
 */
#include <errno.h>
#include <unistd.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static struct lh_lock *lock;
static struct lh_watch *watch;
static const char *table;

static void
outlives(struct lh *lh, const char *key)
{
	struct lh_acquire_opts a = t_opts(t_long(1000), 0);
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_lock *mine;

	o.renew_ms = 50;
	is(lh_lock_open(lh, key, &o, &mine), 0, "a handle of its own");
	is(lh_lock_acquire(mine, &a), 0, "holds");
	t_sleep_ms(t_long(1200));
	is(lh_lock_valid(mine), 0, "and is renewed");
	is(lh_lock_release(mine), 0, "released");
	is(lh_lock_close(mine), 0, "closed");
}

static int
child(void *arg)
{
	struct lh_lock_state s = { .size = sizeof(s) };
	struct lh_event e = LH_EVENT_INIT;
	struct lh_watch *w = NULL;
	struct lh *lh;

	(void)arg;
	is(lh_lock_valid(lock), -EPERM, "valid");
	ok(t_has_detail(), "and it is said why");
	is(lh_lock_acquire(lock, NULL), -EPERM, "acquire");
	is(lh_lock_release(lock), -EPERM, "release");
	is(lh_lock_state(lock, &s), -EPERM, "state");
	is(lh_lock_renew_every(lock, 0), -EPERM, "renew_every");
	is(lh_lock_watch(lock, 0, &w), -EPERM, "watch");
	is(lh_watch_next(watch, &e), -EPERM, "next");
	is(lh_watch_fd(watch), -EPERM, "fd");
	is(lh_watch_close(watch), -EPERM, "closing a watch");
	is(lh_lock_close(lock), -EPERM, "closing");
	lh = t_open(table);
	outlives(lh, "child's");
	is(lh_close(lh), 0, "detached");
	return tap_child_status();
}

/* Exits with a live handle held, while its callbacks run. */
static void
busy_event(struct lh_lock *l, const struct lh_event *e, void *arg)
{
	(void)l;
	(void)e;
	(void)arg;
}

static int
leaver(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(60000, T_HANG_MS);
	struct lh_lock *l;

	(void)arg;
	o.renew_ms = 1;
	o.event = busy_event;
	is(lh_lock_open(lh, "leaver's", &o, &l), 0, "a handle");
	is(lh_lock_acquire(l, &a), 0, "holds");
	t_sleep_ms(5);
	exit(tap_child_status());
}

static void
play(void)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(t_long(2000), 0);
	struct lh_lock_state s = { .size = sizeof(s) };
	int n = t_count(40, 8), bad = 0;
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	o.renew_ms = 1;
	is(lh_lock_open(lh, "k", &o, &lock), 0, "a handle");
	is(lh_lock_watch(lock, 0, &watch), 0, "watched");
	is(lh_lock_acquire(lock, &a), 0, "holds, renewed all the time");
	is(t_reap(t_fork(child, NULL), T_HANG_MS), 0, "a child");
	for (int i = 0; i < n; i++)
		bad += t_reap(t_fork(leaver, NULL), T_HANG_MS) != 0;
	is(bad, 0, "%d more, which exit in the midst of renewing", n);
	ok(t_until(T2_MS, t_holders(lh, "leaver's") == 0), "freed by that");
	is(lh_lock_state(lock, &s), 0, "the parent's");
	is(s.status, LH_LOCK_HELD, "is held all the time");
	is(lh_lock_release(lock), 0, "released");
	is(lh_lock_close(lock), 0, "closed");
	is(lh_watch_close(watch), 0, "and its watch");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 900, "live fork");
	return done();
}
