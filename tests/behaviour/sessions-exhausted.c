/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G8: a table takes as many attachments as it was made for;
 * the next returns -ENOSPC until one closes or dies.  Dead sessions are reused
 * by the next process that attaches, and everything that they held is freed.
 *
 * Otherwise a few crashes would lock everybody out.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define SESSIONS 4

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct lh *lh[SESSIONS], *more = NULL;
	struct t_actor *a, *b;
	uint64_t last;
	struct lh_lease l;

	o.max_sessions = SESSIONS;
	for (int i = 0; i < SESSIONS; i++)
		is(lh_open(&lh[i], table, &o), 0, "attachment %d", i + 1);
	is(lh_open(&more, table, &o), -ENOSPC, "one more is refused");
	ok(t_has_detail(), "with a reason");
	ok(more == NULL, "without a handle");
	l = t_hold(lh[0], "k");
	is(t_acquire(lh[1], "k", 1000, 0, &l), -EAGAIN, "the others go on");

	last = lh_session_id(lh[3]);
	is(lh_close(lh[3]), 0, "one closes");
	is(lh_open(&lh[3], table, &o), 0, "another comes in its place");
	ok(lh_session_id(lh[3]) != last, "as another session");
	is(lh_open(&more, table, &o), -ENOSPC, "now it is full again");

	is(lh_close(lh[3]), 0, "two");
	is(lh_close(lh[2]), 0, "leave");
	a = t_actor(table);
	b = t_actor(table);
	is(lh_open(&more, table, &o), -ENOSPC, "and two processes come");
	is(t_do_acquire(a, "of the dead", 3600000, 0), 0, "one holds");
	t_begin_acquire(b, "k", 3600000, 3600000);
	ok(t_await_waiters(lh[0], "k", 1), "one waits");
	t_stop(a->pid);
	is(lh_open(&more, table, &o), -ENOSPC, "a stopped one keeps its place");
	t_actor_kill(a);
	t_actor_kill(b);
	is(lh_open(&lh[2], table, &o), 0, "the place of a killed one is free");
	is(lh_open(&lh[3], table, &o), 0, "and the other's");
	is(lh_open(&more, table, &o), -ENOSPC, "and no more than those");
	is(t_waiters(lh[0], "k"), 0, "the dead no longer wait");
	is(t_acquire(lh[1], "of the dead", 1000, 0, &l), 0, "nor hold");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "which is noted");
	cmp(l.token, >, a->lease.token, "with a larger token");
	is(lh_stats(lh[0], &st), 0, "statistics");
	is(st.max_sessions, SESSIONS, "know the limit");
	is(st.sessions, SESSIONS, "and the number");
	t_actor_free(a);
	t_actor_free(b);
	for (int i = 1; i < SESSIONS; i++)
		is(lh_close(lh[i]), 0, "closed");
	t_close(lh[0]);
	return done();
}
