/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G2, timing T3: a writer waits until the last of the readers
 * has gone, in whatever order they go, and then acquires soon, without a note
 * and with a token larger than all of theirs.
 *
 * Otherwise a writer would come in beside a reader, or sleep on beside a free
 * key.
 */
#include <errno.h>
#include "readers.h"

#define READERS 3

static struct lh *lh;
static struct t_actor *r[READERS], *w;

static bool
last_one_frees(void *arg)
{
	const int *order = arg;
	int64_t released_ns = 0, took;
	uint64_t largest = 0;

	for (int i = 0; i < READERS; i++) {
		is(t_do_read(r[i], "k", HOUR_MS, 0), 0, "reader %d", i);
		if (r[i]->lease.token > largest)
			largest = r[i]->lease.token;
	}
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	for (int i = 0; i < READERS; i++) {
		t_sleep_ms(t_ms(10));
		ok(!t_answered(w), "with %d readers the writer waits",
		    READERS - i);
		is(t_holders(lh, "k"), READERS - i, "they are counted");
		is(t_do_verify(r[order[i]]), 0, "each holds it");
		released_ns = t_now_ns();
		is(t_do_release(r[order[i]]), 0, "reader %d releases",
		    order[i]);
	}
	is(t_result(w), 0, "the last gone, the writer gets it");
	took = t_after_ms(w, released_ns);
	is(w->lease.notes, 0, "without a note");
	cmp(w->lease.token, >, largest, "with a larger token");
	is(t_holders(lh, "k"), 1, "alone");
	is(t_do_release(w), 0, "and releases");
	diag("after %lld ms", (long long)took);
	return took <= T3_MS;
}

/* Threads of the writer's own process are readers like any other. */
static void
own_process(void)
{
	struct lh_lease one = t_read_hold(lh, "k"), two = t_read_hold(lh, "k");
	struct lh_lease l;

	is(t_acquire(lh, "k", HOUR_MS, 15, &l), -ETIMEDOUT,
	    "a reader's wait for itself times out");
	is(lh_release(lh, &two), 0, "releases one");
	is(t_acquire(lh, "k", HOUR_MS, 15, &l), -ETIMEDOUT,
	    "it still times out");
	is(lh_release(lh, &one), 0, "and the other");
	is(t_acquire(lh, "k", HOUR_MS, 0, &l), 0, "and has it");
	is(lh_release(lh, &l), 0, "released");
}

int
main(void)
{
	static int orders[][READERS] = { { 0, 1, 2 }, { 2, 1, 0 },
		{ 1, 2, 0 }, { 1, 0, 2 } };
	const char *table = t_table();

	for (int i = 0; i < READERS; i++)
		r[i] = t_actor(table);
	w = t_actor(table);
	lh = t_open(table);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		ok(t_tries(3, last_one_frees, orders[i]),
		    "within %lld ms", (long long)T3_MS);
	own_process();
	for (int i = 0; i < READERS; i++)
		t_actor_end(r[i]);
	t_actor_end(w);
	t_close(lh);
	return done();
}
