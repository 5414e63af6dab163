/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, timing T2: readers are killed one after another.  The
 * number of readers that status reports falls by exactly one each time, within
 * T2, and the waiting writer acquires only when the last living reader has
 * gone.  Once in the order in which they came, once from the youngest back.
 *
 * Otherwise a writer would come in beside a living reader, or wait for dead
 * ones.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define DEAD	5
#define READERS	(DEAD + 1)

static struct lh *lh;

static void
kill_them(bool youngest_first, bool ask)
{
	const char *table = lh_table_name(lh);
	struct t_actor *r[READERS], *last, *w = t_actor(table);
	int n, least;
	int64_t ns;

	for (int i = 0; i < READERS; i++) {
		r[i] = t_actor(table);
		is(t_do_read(r[i], "k", HOUR_MS, 0), 0, "reader %d", i);
	}
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	is(t_holders(lh, "k"), READERS, "all are counted");
	last = r[youngest_first ? 0 : DEAD];
	for (int i = 0; i < DEAD; i++) {
		t_actor_kill(r[youngest_first ? DEAD - i : i]);
		if (!ask)
			continue;
		ns = t_now_ns();
		least = READERS;
		(void)t_until(T_HANG_MS, (n = t_holders(lh, "k"),
		    least = n < least ? n : least, n < READERS - i));
		is(least, DEAD - i, "one dead: one less");
		cmp(t_since_ms(ns), <=, T2_MS, "soon");
		is(t_holders(lh, "k"), DEAD - i, "and it stays at that");
		is(t_do_verify(last), 0, "the living holds");
	}
	t_sleep_ms(t_long(60));
	ok(!t_answered(w), "the writer waits for the living one");
	is(t_holders(lh, "k"), 1, "which is counted");
	is(t_do_verify(last), 0, "and holds");
	is(t_do_extend(last, HOUR_MS), 0, "and extends");
	is(t_do_release(last), 0, "it releases");
	is(t_result(w), 0, "then the writer gets it");
	for (int i = 0; i < READERS; i++)
		if (r[i]->lease.token >= w->lease.token)
			fail("a reader has the larger token");
	is(t_holders(lh, "k"), 1, "alone");
	is(t_do_release(w), 0, "and releases");
	for (int i = 0; i < READERS; i++)
		if (r[i] == last)
			t_actor_end(r[i]);
		else
			t_actor_free(r[i]);
	t_actor_end(w);
}

static void
play(void)
{
	lh = t_open(t_table());
	kill_them(false, true);
	kill_them(true, true);
	/* nobody else looks: the writer alone must notice */
	kill_them(false, false);
	kill_them(true, false);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 500, "five dead readers count shrinks");
	return done();
}
