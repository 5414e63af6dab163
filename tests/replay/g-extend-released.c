/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G11, crash row R2: an extension never succeeds after the
 * lock word was freed.
 *
 * One thread releases a lease and is stopped between its two steps: the word is
 * free, the claim still says HELD. Another thread of the attachment extends the
 * same lease: it must be refused, whether or not somebody else holds the key by
 * then; on the fast path of the thread that acquired, and by a third thread.
 * The release then ends as usual.
 *
 * Otherwise the extending thread would believe that it holds a key that another
 * process acquires.
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

	/* the claim is in the thread's cache already, because of another key */
	is(replay_acquire(&mine), 0, "k is held");
	released = extended = mine;
	extended.ttl_ms = ttl_ms;
	replay_stop("releaser", "release.word_freed", replay_release_lease,
	    &released);
	if (taken) {
		/* in a thread of its own: this thread's claim cache stays the
		 * same */
		replay_go("rival", replay_acquire, &rival);
		is(replay_result("rival"), 0,
		    "another process acquires the key");
	}
	if (who == ACQUIRER) {
		r = replay_extend(&extended);
	} else {
		replay_go("extender", replay_extend, &extended);
		r = replay_result("extender");
	}
	is(r, -ESTALE, "extend by %lld ms, %s, %s", (long long)ttl_ms,
	    who == ACQUIRER ? "by the thread that acquired it" :
	    "by a third thread",
	    taken ? "taken" : "free");
	is(lh_verify(lh, &extended.lease), -ESTALE, "it is lost");
	if (taken)
		is(lh_verify(other, &rival.lease), 0, "the rival holds it");
	is(replay_finish("releaser"), 0, "the release goes on");
	if (taken) {
		is(lh_verify(other, &rival.lease), 0, "the rival holds it");
		is(lh_release(other, &rival.lease), 0, "and releases");
	}
	is(replay_acquire(&mine), 0, "k can be acquired");
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
	is(lh_release(lh, &l), 0, "the cache has a claim");
	for (int i = 0; i < 3; i++) {
		play(ACQUIRER, true, ttls_ms[i]);
		play(ACQUIRER, false, ttls_ms[i]);
		play(STRANGER, true, ttls_ms[i]);
	}
	t_close(other);
	t_close(lh);
	return done();
}
