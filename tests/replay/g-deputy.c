/* SPDX-License-Identifier: MIT */
/*
 * Timing T3 of guarantee G6, crash rows Q6 and Q7: of many waiters only the
 * first and the last look often by themselves.  The four at the front are
 * killed, and nobody asks for them.
 *
 * Others have come and given up, so that the key's tickets promise a long
 * queue: else the sleep that these allow would be the shortest.
 *
 * 1. The key is released.  The fifth and last waiter, the deputy, gets it.
 * 2. The same; but first six waiters behind it have given up, the last one
 *    first.  The fifth had chosen to sleep for 2,560 ms (40 ms x 2^6), and is
 *    the deputy now.  (One behind it would cost 80 ms, too little to see.)
 * 3. The key stays held.  The deputy removes the dead, and wakes the fifth
 *    waiter, which is the first now and sleeps as far back.
 *
 * Otherwise a free key would wait for the end of a sleep of seconds, since all
 * but two waiters sleep that long.
 */
#include <errno.h>
#include "replay.h"

#define DEAD 4
#define BEHIND 6
#define GONE 300

struct victim {
	const char *table;
	struct replay_call call;
};

static struct lh *lh;
static struct lh_lease held;
static struct lh *own[1 + BEHIND];
static struct replay_call call[1 + BEHIND];
static struct lh_cancel off[BEHIND + 1];

static int
wait_in_child(void *arg)
{
	struct victim *v = arg;

	v->call.lh = replay_open(v->table, 0);
	return replay_acquire(&v->call);
}

static const char *
name(const char *kind, int i)
{
	static const char *const dead[DEAD] = { "dead0", "dead1", "dead2",
	    "dead3" };
	static const char *const live[] = { "fifth", "behind1", "behind2",
	    "behind3", "behind4", "behind5", "behind6" };

	return kind[0] == 'd' ? dead[i] : live[i];
}

/* Queues the four that will be dead, the fifth, and so many behind it.  The
 * fifth chooses its sleep when all are there; a search for deadlocks, 40 ms
 * after it began to wait, has ended then, too. */
static void
set_up(const char *table, int behind)
{
	struct victim *v = t_shared(DEAD * sizeof(*v));
	struct lh_lease none;

	lh = replay_open(table, 0);
	held = t_hold(lh, "k");
	for (int i = 0; i < DEAD; i++) {
		v[i] = (struct victim){ table, REPLAY_CALL(NULL, "k",
		    REPLAY_LONG_MS, REPLAY_LONG_MS) };
		replay_fork(name("dead", i), wait_in_child, &v[i]);
		ok(t_await_waiters(lh, "k", i + 1), "%s is queued",
		    name("dead", i));
	}
	for (int i = 0; i < GONE; i++)
		if (t_acquire(lh, "k", 1000, 1, &none) != -ETIMEDOUT)
			fail("one gives up after a millisecond");
	for (int i = 0; i <= behind; i++) {
		own[i] = replay_open(table, 0);
		off[i] = (struct lh_cancel)LH_CANCEL_INIT;
		call[i] = (struct replay_call)REPLAY_CALL(own[i], "k",
		    REPLAY_LONG_MS, REPLAY_LONG_MS);
		call[i].cancel = &off[i];
		if (i == 0)
			replay_hold("fifth", "wait.parked");
		replay_go(name("live", i), replay_acquire, &call[i]);
		ok(t_await_waiters(lh, "k", DEAD + 1 + i), "%s is queued",
		    name("live", i));
	}
	replay_wait_held("fifth");
	t_sleep_ms(50);
	replay_release("fifth");
	t_sleep_ms(100);
}

static void
kill_the_first(void)
{
	for (int i = 0; i < DEAD; i++)
		replay_kill(name("dead", i));
}

/* Releases the key, which the fifth is to get in time. */
static void
release_to_the_fifth(void)
{
	int64_t began_ns = t_now_ns();

	kill_the_first();
	is(lh_release(lh, &held), 0, "the holder releases");
	is(replay_result("fifth"), 0, "the fifth is granted the key");
	cmp((call[0].ended_ns - began_ns) / T_NS_PER_MS, <, T3_DEAD_MS,
	    "within T3");
	is(lh_release(own[0], &call[0].lease), 0, "release");
}

static void
give_up(int from, int to)
{
	for (int i = from; i >= to; i--) {
		is(lh_cancel(&off[i]), 0, "%s is cancelled", name("live", i));
		is(replay_result(name("live", i)), -ECANCELED, "it leaves");
	}
}

static void
tear_down(int behind)
{
	for (int i = 0; i <= behind; i++)
		t_close(own[i]);
	t_close(lh);
}

static void
play_last(void)
{
	set_up(replay_begin(), 0);
	release_to_the_fifth();
	tear_down(0);
}

static void
play_left(void)
{
	set_up(replay_begin(), BEHIND);
	give_up(BEHIND, 1);
	release_to_the_fifth();
	tear_down(BEHIND);
}

static void
play_new_first(void)
{
	int64_t began_ns;

	set_up(replay_begin(), BEHIND);
	replay_hold("fifth", "wait.looked");
	began_ns = t_now_ns();
	kill_the_first();
	replay_wait_held("fifth");
	cmp(t_since_ms(began_ns), <, T3_DEAD_MS,
	    "the fifth looks at the key within T3");
	replay_release("fifth");
	give_up(BEHIND, 0);
	is(lh_release(lh, &held), 0, "the holder releases");
	tear_down(BEHIND);
}

int
main(void)
{
	t_part(play_last, 200, "last");
	t_part(play_left, 200, "left");
	t_part(play_new_first, 200, "new first");
	return done();
}
