/* SPDX-License-Identifier: MIT */
/*
 * Timing T2, op/death_hint.c: a process that holds three keys is killed.  Just
 * before, a waiter of two of them has begun to sleep for 20 ms, and another one
 * waits until the third is free.  All return before the 20 ms are over: the
 * kernel wakes one of them, which wakes the others.
 *
 * Otherwise the keys of a dead process would be handed over 20 ms later, all
 * but one, or all of them.
 */
#include "replay.h"
#include "support/actor.h"

#define BEGUN_MS 5		/* the first look is at 1 ms, the next at 21 */
#define PROMPT_MS 9

static struct lh *lh;

static int
wait_free(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, REPLAY_LONG_MS);
	int error = lh_wait_free(a->lh, "c", &o);

	(void)arg;
	a->ended_ns = t_now_ns();
	return error;
}

static bool
is_prompt(void *arg)
{
	const char *table = arg;
	struct t_actor *holder = t_actor(table), *w[2], *third = t_actor(table);
	int64_t killed_ns;
	bool prompt = true;

	w[0] = t_actor(table);
	w[1] = t_actor(table);
	is(t_do_acquire(holder, "a", REPLAY_LONG_MS, 0), 0, "one key");
	is(t_do_acquire(holder, "b", REPLAY_LONG_MS, 0), 0, "two keys");
	is(t_do_acquire(holder, "c", REPLAY_LONG_MS, 0), 0, "three keys");
	t_begin(third, wait_free, NULL);
	for (int i = 0; i < 2; i++)
		t_begin_acquire(w[i], i == 0 ? "a" : "b", REPLAY_LONG_MS,
		    REPLAY_LONG_MS);
	ok(t_await_waiters(lh, "a", 1) && t_await_waiters(lh, "b", 1),
	    "a waiter for each");
	t_sleep_ms(BEGUN_MS);
	killed_ns = t_now_ns();
	t_actor_kill(holder);
	for (int i = 0; i < 2; i++) {
		is(t_result(w[i]), 0, "granted");
		prompt = prompt &&
		    w[i]->ended_ns - killed_ns < PROMPT_MS * T_NS_PER_MS;
		is(t_do_release(w[i]), 0, "released");
		t_actor_end(w[i]);
	}
	t_actor_free(holder);
	is(t_result(third), 0, "the third key is free");
	prompt = prompt &&
	    third->ended_ns - killed_ns < PROMPT_MS * T_NS_PER_MS;
	t_actor_end(third);
	return prompt;
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	ok(t_tries(8, is_prompt, (void *)(uintptr_t)table), "all at once");
	t_close(lh);
	return done();
}
