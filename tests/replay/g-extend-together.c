/* SPDX-License-Identifier: MIT */
/*
 * Two threads extend one lease to about the same moment.  The one is stopped
 * after its swap, and goes on when the deadline of before has passed: it is too
 * late, and undoes what it did.  The other one had extended it meanwhile, and
 * was told that the lease is held: so it is.
 */
#include "replay.h"

#define TTL_MS t_long(300)
#define ROUNDS 8

static struct lh *lh, *other;
static struct lh_lease held;

/* Neither of the two is the thread that acquired it. */
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
	is(replay_result("second"), 0, "the second one: held until later");
	replay_sleep_past(&held);
	is(lh_verify(lh, &second), 0, "so it is");
	(void)replay_finish("first");	/* late; or it goes by the second's */
	is(lh_verify(lh, &second), 0, "%s: and after the first went on", round);
	is(replay_try(other, "k", &l), -EAGAIN, "nobody else has it");
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
