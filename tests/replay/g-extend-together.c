/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: two threads extend one lease at about the same moment.
 * The first is stopped after its swap, and goes on when the old deadline has
 * passed: it is too late and undoes what it did.  The second extended the lease
 * in time, and its call succeeded: the lease must stay held.
 *
 * Otherwise the late thread would undo the other's extension, and the holder
 * would lose a key without notice.
 */
#include "replay.h"

#define TTL_MS t_long(300)
#define ROUNDS 8

static struct lh *lh, *other;
static struct lh_lease held;

/* Runs in threads that did not acquire the lease. */
static int
extend(void *arg)
{
	struct lh_lease *l = arg;

	return lh_extend(lh, l, REPLAY_LONG_MS);
}

static void
together(const char *round)
{
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	struct lh_lease first, second, l;

	is(lh_acquire(lh, "k", &o, &held), 0, "%s: k is held", round);
	first = second = held;
	replay_stop("first", "extend.swapped", extend, &first);
	replay_go("second", extend, &second);
	is(replay_result("second"), 0, "the second extension is in time");
	replay_sleep_past(&held);
	is(lh_verify(lh, &second), 0, "its lease is held");
	/* -ESTALE, or 0 if it reads the second's deadline */
	(void)replay_finish("first");
	is(lh_verify(lh, &second), 0,
	    "%s: it stays held when the first has gone on", round);
	is(replay_try(other, "k", &l), -EAGAIN, "nobody else acquires the key");
	is(lh_release(lh, &second), 0, "release");
}

static void
play_all(void)
{
	const char *table = replay_begin();
	char round[8];

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(round, sizeof(round), "%d", i);
		together(round);
	}
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "extend together");
	return done();
}
