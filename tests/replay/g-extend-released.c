/* SPDX-License-Identifier: MIT */
/*
 * G1, G11: an extend never succeeds once the lock word is gone.
 *
 * One thread releases a lease and is stopped between its two steps: the word is
 * free, the claim still says HELD.  Another thread of the attachment extends
 * the same lease: lost, whether or not somebody else has the key by then, by
 * the thread that acquired it (fast path) and by a third one.  The release goes
 * on and is told nothing unusual.
 */
#include <errno.h>
#include "replay.h"

enum extender { ACQUIRER, STRANGER };

static struct lh *lh, *other;

static void
play(enum extender who, bool taken, int64_t ttl_ms)
{
	struct replay_call mine = REPLAY_CALL(lh, "k", REPLAY_LONG_MS, 0);
	struct replay_call rival = REPLAY_CALL(other, "k", REPLAY_LONG_MS, 0);
	struct replay_call released, extended;
	int r;

	/* another key before, so that the claim is the fast path's */
	is(replay_acquire(&mine), 0, "k is held");
	released = extended = mine;
	extended.ttl_ms = ttl_ms;
	replay_stop("releaser", "release.word_freed", replay_release_lease,
	    &released);
	if (taken) {
		/* in a thread, so that this one's claim cache stays as it is */
		replay_go("rival", replay_acquire, &rival);
		is(replay_result("rival"), 0, "somebody else takes it");
	}
	if (who == ACQUIRER) {
		r = replay_extend(&extended);
	} else {
		replay_go("extender", replay_extend, &extended);
		r = replay_result("extender");
	}
	is(r, -ESTALE, "extend by %lld ms, %s, %s", (long long)ttl_ms,
	    who == ACQUIRER ? "by who acquired it" : "by a third thread",
	    taken ? "taken" : "free");
	is(lh_verify(lh, &extended.lease), -ESTALE, "it is lost");
	if (taken)
		is(lh_verify(other, &rival.lease), 0, "the rival holds it");
	is(replay_finish("releaser"), 0, "the release goes on");
	if (taken) {
		is(lh_verify(other, &rival.lease), 0, "the rival holds it");
		is(lh_release(other, &rival.lease), 0, "and releases");
	}
	is(replay_acquire(&mine), 0, "k is to be had");
	is(lh_release(lh, &mine.lease), 0, "and released");
}

int
main(void)
{
	static const int64_t ttls_ms[] = { REPLAY_LONG_MS, 2 * REPLAY_LONG_MS,
		5000 };
	const char *table = replay_begin();
	struct lh_lease l;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	l = t_hold(lh, "other");
	is(lh_release(lh, &l), 0, "in use");
	for (int i = 0; i < 3; i++) {
		play(ACQUIRER, true, ttls_ms[i]);
		play(ACQUIRER, false, ttls_ms[i]);
		play(STRANGER, true, ttls_ms[i]);
	}
	t_close(other);
	t_close(lh);
	return done();
}
