/* SPDX-License-Identifier: MIT */
/*
 * Timing T2, op/death_hint.c: a waiter prepares the proof of its holder's death
 * while the holder lives, before it sleeps again.  That proves nothing: it goes
 * on to wait.  The holder is killed just after it, before the waiter sleeps.
 * The waiter is granted the key, and soon: the mark that came meanwhile ends
 * its sleep.
 *
 * Otherwise a takeover would take longer by the time of looking up the holder's
 * files; or a death in that moment would be noticed 20 ms later.
 */
#include <errno.h>
#include "replay.h"
#include "support/actor.h"

#define PREPARED_MS 400		/* half a millisecond is enough */
#define PROMPT_MS 9

static struct lh *lh;

static bool
is_prompt(void *arg)
{
	const char *table = arg;
	struct t_actor *holder = t_actor(table);
	struct replay_call call = REPLAY_CALL(lh, "k", REPLAY_LONG_MS,
	    REPLAY_LONG_MS);
	int64_t went_on_ns;

	is(t_do_acquire(holder, "k", REPLAY_LONG_MS, 0), 0, "held");
	replay_hold("waiter", "session.prepared");
	replay_go("waiter", replay_acquire, &call);
	if (!replay_comes("waiter"))
		bail_out("the waiter prepares nothing");
	t_actor_kill(holder);
	t_actor_free(holder);
	went_on_ns = t_now_ns();
	is(replay_finish("waiter"), 0, "granted");
	is(call.lease.notes, LH_NOTE_PREVIOUS_DIED, "by the holder's death");
	is(lh_release(lh, &call.lease), 0, "released");
	return call.ended_ns - went_on_ns < PROMPT_MS * T_NS_PER_MS;
}

int
main(void)
{
	const char *table = replay_begin();
	struct replay_call call;
	struct t_actor *holder;

	lh = replay_open(table, 0);
	call = (struct replay_call)REPLAY_CALL(lh, "k", REPLAY_LONG_MS,
	    PREPARED_MS);
	holder = t_actor(table);
	is(t_do_acquire(holder, "k", REPLAY_LONG_MS, 0), 0, "held");
	replay_hold("waiter", "session.prepared");
	replay_go("waiter", replay_acquire, &call);
	ok(replay_comes("waiter"), "the waiter prepares the proof");
	if (replay_running("waiter"))
		is(replay_finish("waiter"), -ETIMEDOUT, "nothing is proved");
	is(t_do_release(holder), 0, "the holder lives, and releases");
	t_actor_end(holder);
	ok(t_tries(8, is_prompt, (void *)(uintptr_t)table), "soon");
	t_close(lh);
	return done();
}
