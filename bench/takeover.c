/* SPDX-License-Identifier: MIT */
/*
 * Measures how soon a waiter gets what a dead process held.
 *
 * tools/bench_relay.c takes the samples, of ours and of the robust mutex in
 * turn, and says how.
 *
 * There are three kinds of holders.  One has one thread.  Another has eight, of
 * which seven compute, so they need a processor to die on.  The third has one
 * thread and 1 GiB of memory, torn down after the kernel has marked the mutex.
 */
#include "bench.h"
#include "tools/bench_relay.h"

#define THREADS		8
#define BIG_BYTES	((size_t)1 << 30)
#define BIG_SAMPLES	7

/* Takes n samples of each side, in turn. */
static void measure(struct relay *const relays[2],
    const struct relay_holder *kind, double ns[2][MAX_ROUNDS], unsigned int n)
{
	unsigned int i, side;

	for (i = 0; i < n; i++)
		for (side = 0; side < 2; side++)
			ns[side][i] = bench_relay_takeover(relays[side], kind);
}

size_t bench_takeover(struct row **out)
{
	static struct row rows[] = {
		{ "takeover", "robust-mutex",
		    "kill -9 of the holder to the waiter's grant, p99",
		    ROW_METRIC, 3, { 0, 0 }, { 0, 0 }, NULL },
		{ "takeover_p50", "robust-mutex", "the same, median",
		    ROW_METRIC, 2, { 0, 0 }, { 0, 0 }, NULL },
		{ "takeover_8", "robust-mutex",
		    "of a holder of 8 threads, 7 of which compute; median",
		    ROW_METRIC, 5, { 0, 0 }, { 0, 0 }, NULL },
		{ "takeover_1g", "robust-mutex",
		    "of a holder with 1 GiB resident; median of 7",
		    ROW_METRIC, 3, { 0, 0 }, { 0, 0 }, NULL },
	};
	static const struct relay_holder kinds[] = { { 1, 0 }, { THREADS, 0 },
	    { 1, BIG_BYTES } };
	static double ns[2][MAX_ROUNDS];
	const unsigned int samples[] = { bench.quick ? 120 : 500,
	    bench.quick ? 60 : 200, BIG_SAMPLES };
	struct figures *to;
	const struct relay_place place = { bench.table, 0, "bench/takeover" };
	struct relay *relays[2];
	unsigned int side, i;

	relays[0] = bench_relay_start(RELAY_OURS, &place);
	relays[1] = bench_relay_start(RELAY_MUTEX, &place);
	for (i = 0; i < 3; i++) {
		measure(relays, &kinds[i], ns, samples[i]);
		for (side = 0; side < 2; side++) {
			to = side == 0 ? &rows[i + 1].ours :
			    &rows[i + 1].theirs;
			*to = bench_summarise(ns[side], samples[i]);
			if (i != 0)
				continue;
			to = side == 0 ? &rows[0].ours : &rows[0].theirs;
			to->mid_ns = bench_percentile(ns[side], samples[i], 99);
			to->min_ns = rows[1].ours.min_ns;
			if (side == 1)
				to->min_ns = rows[1].theirs.min_ns;
		}
	}
	for (side = 0; side < 2; side++)
		bench_relay_stop(relays[side]);
	*out = rows;
	return sizeof(rows) / sizeof(rows[0]);
}
