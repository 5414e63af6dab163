/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4, G5 and G9: a reader that has released may keep its place among
 * the readers, to be faster next time.  Stopped or killed then, it blocks
 * nobody: a writer acquires at once, without waiting for a deadline or a proof,
 * and without a note.  When the reader continues, it is kept out like any
 * other, and its next token is larger than the writer's.
 *
 * Otherwise a process that has released its key would still keep a writer out.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

static struct lh *lh;

enum fate { RUNS, STOPPED, KILLED, N };

static const char *const names[N] = { "running", "stopped", "killed" };

/* Beside another reader that came before it, or after.  Being asked may take
 * its place away: so it is done with and without. */
static void
idle(enum fate fate, bool elder, bool ask)
{
	const char *table = lh_table_name(lh);
	struct t_actor *i = t_actor(table), *other = t_actor(table);
	struct lh_lease l;
	uint64_t old;
	int64_t ns;

	if (elder)
		is(t_do_read(other, "k", HOUR_MS, 0), 0, "a reader");
	is(t_do_read(i, "k", HOUR_MS, 0), 0, "one that will be idle");
	if (!elder)
		is(t_do_read(other, "k", HOUR_MS, 0), 0, "a reader");
	old = i->lease.token;
	is(t_do_release(i), 0, "it releases");
	if (fate == STOPPED)
		t_stop(i->pid);
	if (fate == KILLED)
		t_actor_kill(i);
	if (ask) {
		is(t_holders(lh, "k"), 1, "%s, it is not counted",
		    names[fate]);
		is(lh_status(lh, "k", i->lease.id, t_view_keep,
		    &(struct t_view){ .calls = 0 }), -ESTALE,
		    "nor told by its id");
		is(t_try(lh, "k", LH_SHARED, 0), 0, "readers come and go");
		is(t_try(lh, "k", LH_EXCLUSIVE, 0), -EAGAIN,
		    "a writer waits for the other only");
	}
	is(t_do_release(other), 0, "who releases");
	ns = t_now_ns();
	is(t_acquire(lh, "k", HOUR_MS, 0, &l), 0, "it gets in at once");
	cmp(t_since_ms(ns), <=, T3_MS, "at once");
	is(l.notes, 0, "without a note");
	cmp(l.token, >, old, "with a larger token");
	if (fate == STOPPED)
		t_cont(i->pid);
	if (fate != KILLED) {
		is(t_do_read(i, "k", HOUR_MS, 0), -EAGAIN,
		    "the idle one is kept out");
		is(lh_release(lh, &l), 0, "released");
		is(t_do_read(i, "k", HOUR_MS, 0), 0, "then it gets in");
		cmp(i->lease.token, >, l.token, "with a larger token");
		is(t_do_release(i), 0, "and releases");
		t_actor_end(i);
	} else {
		is(lh_release(lh, &l), 0, "released");
		t_actor_free(i);
	}
	t_actor_end(other);
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), 0, "it is free");
}

static void
play(void)
{
	lh = t_open(t_table());
	for (int fate = 0; fate < N; fate++) {
		idle(fate, true, true);
		idle(fate, false, true);
		idle(fate, true, false);
		idle(fate, false, false);
	}
	t_close(lh);
}

int
main(void)
{
	t_part(play, 200, "idle reader bars nobody");
	return done();
}
