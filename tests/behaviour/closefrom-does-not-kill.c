/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, its safe side: a program that closes every descriptor that it
 * does not know (daemons do) is not dead.  Its leases hold, whoever looks, and
 * each of its operations works as before, because the bytes that prove a
 * session's life must not depend on one descriptor.
 *
 * Otherwise a daemon would lose all its keys when it starts.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static int
close_all(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	if (close_range(3, ~0u, 0) != 0)
		closefrom(3);
	return 0;
}

/* Everything that a process may do with an attachment. */
static int
do_all(struct t_actor *a, void *arg)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_key *key;
	struct lh_lease l;
	struct lh *more;

	(void)arg;
	is(t_acquire(a->lh, "new", 1000, 0, &l), 0, "a new key by name");
	is(lh_extend(a->lh, &l, 2000), 0, "extended");
	is(lh_release(a->lh, &l), 0, "released");
	is(lh_key_open(a->lh, "newer", 0, &key), 0, "a new key opened");
	is(lh_key_acquire(key, NULL, &l), 0, "acquired");
	is(lh_release(a->lh, &l), 0, "released");
	is(lh_key_close(key), 0, "closed");
	is(t_acquire(a->lh, "other", 1000, t_ms(30), &l), -ETIMEDOUT,
	    "waited for a key that is held");
	is(lh_stats(a->lh, &st), 0, "statistics");
	is(t_findings(a->lh), 0, "the table checked");
	more = t_open(lh_table_name(a->lh));
	is(t_acquire(more, "new", 1000, 0, &l), 0, "another attachment");
	is(lh_close(more), 0, "and closed");
	return tap_child_status();
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh *lh = t_open(table), *newcomer;
	struct lh_lease other = t_hold(lh, "other"), l;

	is(t_do_acquire(a, "k", 3600000, 0), 0, "a process holds the key");
	t_begin_acquire(b, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "another waits for it");
	is(t_do(a, close_all, NULL), 0, "the holder closes everything");

	for (int i = 0; i < 5; i++) {
		is(t_acquire(lh, "k", 1000, t_ms(30), &l), -ETIMEDOUT,
		    "looking again and again: it is held");
		newcomer = t_open(table);
		is(t_acquire(newcomer, "k", 1000, 0, &l), -EAGAIN,
		    "newcomers see it, too");
		is(lh_close(newcomer), 0, "and go");
	}
	is(t_holders(lh, "k"), 1, "status knows the holder");
	ok(!t_answered(b), "the waiter waits");
	is(t_do_verify(a), 0, "the holder holds");
	is(t_do_extend(a, 1800000), 0, "and extends");
	is(t_do(a, do_all, NULL), 0, "and does all that one can do");
	is(t_do_release(a), 0, "and releases");
	is(t_result(b), 0, "the waiter gets it");
	is(b->lease.notes, 0, "nobody died");

	is(t_do(b, close_all, NULL), 0, "that one closes everything");
	is(t_do_acquire(a, "k", 1000, t_ms(50)), -ETIMEDOUT,
	    "and is not dead either");
	is(t_do(a, do_all, NULL), 0, "the first goes on");
	t_actor_end(a);
	t_actor_kill(b);
	is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0, "really killed: free");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "with a note");
	t_actor_free(b);
	is(lh_release(lh, &other), 0, "released");
	t_close(lh);
	return done();
}
