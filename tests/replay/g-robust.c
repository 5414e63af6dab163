/* SPDX-License-Identifier: MIT */
/*
 * Robust keys: a note is sticky, and no late declaration ends it.
 *
 * A holder leaves the key without a release.  Each later one finds the note,
 * also by the fast paths, until one declares the resource consistent while it
 * holds the key.  One that declares it too late ends nothing, whether another
 * holder has found the note meanwhile or not.
 */
#include <errno.h>
#include "replay.h"

#define TTL_MS t_long(200)

static struct lh *lh, *other;
static struct lh_lease lease;

static int
mark(void *arg)
{
	(void)arg;
	return lh_mark_consistent(lh, &lease);
}

/* k is acquired and released; its holder finds the note, or does not. */
static void
told(bool want, const char *what)
{
	struct lh_lease l;

	is(t_acquire(other, "k", REPLAY_LONG_MS, 0, &l), 0, "%s", what);
	is((l.notes & LH_NOTE_INCONSISTENT) != 0, want, "finds the note: %d",
	    want);
	is(lh_release(other, &l), 0, "and released");
}

static void
leave_note(const char *table)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh *dying = replay_open(table, 0);
	struct lh_lease l;

	o.flags = LH_ROBUST;
	is(lh_acquire(dying, "k", &o, &l), 0, "a robust holder");
	is(lh_close(dying), 0, "goes without a release");
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh_lease l;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	leave_note(table);
	told(true, "the next one");
	told(true, "the one after it, by the fast path");

	is(t_acquire(lh, "k", TTL_MS, 0, &lease), 0, "held");
	replay_stop("marker", "consistency.marking", mark, NULL);
	replay_sleep_past(&lease);
	is(replay_finish("marker"), -ESTALE, "declared after the deadline");
	told(true, "that is taken back: the next one");

	is(t_acquire(lh, "k", TTL_MS, 0, &lease), 0, "held");
	replay_stop("marker", "consistency.marking", mark, NULL);
	replay_sleep_past(&lease);
	is(t_acquire(other, "k", REPLAY_LONG_MS, 0, &l), 0, "another has it");
	is(replay_finish("marker"), -ESTALE, "declared under its lease");
	is(lh_release(other, &l), 0, "which is released");
	told(true, "nothing was taken back: the next one");

	is(t_acquire(lh, "k", REPLAY_LONG_MS, 0, &lease), 0, "held");
	is(mark(NULL), 0, "declared in time");
	is(lh_release(lh, &lease), 0, "released");
	told(false, "the next one");
	is(lh_close(lh), 0, "close");
	t_close(other);
}

int
main(void)
{
	t_part(play_all, 60, "robust");
	return done();
}
