/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7: in a table of LH_ORDER_BARGE newcomers may overtake
 * waiters for as long as they come.  When they stop, the waiters are granted
 * the key in their own order.
 *
 * Otherwise a waiter that was overtaken once would be forgotten.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 3
#define ROUNDS 60

static struct t_actor *queue[WAITERS], *idle[WAITERS];
static int n_queue, n_idle;

/* With the key held: those who have nothing to do wait for it again. */
static void
queue_up(struct lh *lh)
{
	while (n_idle > 0) {
		struct t_actor *w = idle[--n_idle];

		t_begin_acquire(w, "k", 3600000, 3600000);
		queue[n_queue++] = w;
		if (!t_await_waiters(lh, "k", n_queue))
			bail_out("a waiter is missing");
	}
}

/* The one who is due has it, and gives it back. */
static bool
take_turn(void)
{
	struct t_actor *w = queue[0];

	memmove(queue, queue + 1, sizeof(queue[0]) * (size_t)--n_queue);
	idle[n_idle++] = w;
	return t_result(w) == 0 && t_do_release(w) == 0;
}

static void
play(void)
{
	struct lh_acquire_opts try = t_opts(3600000, 0);
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	int overtook = 0, turns = 0, in_order = 0;
	struct lh_key *key;
	struct lh_lease l;
	struct lh *lh;

	o.order = LH_ORDER_BARGE;
	is(lh_open(&lh, table, &o), 0, "a table of that order");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.order, LH_ORDER_BARGE, "tell it");
	is(lh_key_open(lh, "k", 0, &key), 0, "opened");
	while (n_idle < WAITERS)
		idle[n_idle++] = t_actor(table);
	l = t_hold(lh, "k");
	queue_up(lh);
	t_sleep_ms(t_long(30));
	for (int i = 0; i < ROUNDS; i++) {
		/* release, and ask at once */
		if (lh_release(lh, &l) != 0)
			fail("released in round %d", i);
		while (lh_key_acquire(key, &try, &l) != 0) {
			/* a waiter was quicker: the next in order */
			turns++;
			in_order += take_turn();
		}
		overtook += n_queue > 0;
		queue_up(lh);
	}
	diag("overtook %d times of %d, %d turns", overtook, ROUNDS, turns);
	cmp(overtook, >, 0, "newcomers overtake those who wait");
	is(in_order, turns, "and who is not overtaken is the next in order");
	is(n_queue, WAITERS, "all of them wait");
	is(lh_release(lh, &l), 0, "released for good");
	while (n_queue > 0)
		ok(take_turn(), "a waiter is granted, in order");
	is(t_waiters(lh, "k"), 0, "nobody is left");
	for (int i = 0; i < WAITERS; i++)
		t_actor_end(idle[i]);
	is(lh_key_close(key), 0, "closed");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "barge");
	return done();
}
