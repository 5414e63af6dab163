/* SPDX-License-Identifier: MIT */
/*
 * The measurements of `leasehold bench`: ours, a robust mutex and flock, in
 * interleaved rounds of one run, so that a neighbour's load hits all alike.
 *
 *   pair	one thread, pinned, acquires and releases a key that no other
 *		process wants.  Timed in slices by the thread's processor time
 *		(bench_rounds.c).  Ours has three forms.
 *   hand-over	between two processes, one of which sleeps (bench_relay.c)
 *   takeover	after kill -9 of the holder (bench_relay.c)
 *
 * Each part takes its share of the time, and at least SAMPLES_MIN samples.
 */
#include <stdbool.h>
#include <string.h>
#include <leasehold.h>
#include "bench_clock.h"
#include "bench_measure.h"
#include "bench_peers.h"
#include "bench_process.h"
#include "bench_rounds.h"

#define PAIR_SHARE	0.35
#define HANDOVER_SHARE	0.25
#define TAKEOVER_SHARE	0.4
#define SAMPLES_MIN	5
#define NS_PER_S	1e9

enum { HANDLE, LOCK, NAME, MUTEX, FLOCK, N_SIDES };

static struct lh *lh;
static struct lh_key *key;
static const char *key_name;

const char *
bench_phase_name(unsigned int phase)
{
	static const char *const names[] = { "the pair", "the hand-over",
	    "the takeover" };

	return names[phase < 3 ? phase : 2];
}

static void
run_handle(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_key_acquire(key, NULL, &lease),
		    "lh_key_acquire");
		bench_need(lh_release(lh, &lease), "lh_release");
	}
}

static void
run_lock(uint64_t n)
{
	for (; n > 0; n--) {
		bench_need(lh_key_lock(key, NULL), "lh_key_lock");
		bench_need(lh_key_unlock(key), "lh_key_unlock");
	}
}

static void
run_name(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_acquire(lh, key_name, NULL, &lease),
		    "lh_acquire");
		bench_need(lh_release(lh, &lease), "lh_release");
	}
}

static struct bench_figure
figure_of_side(const struct side *side)
{
	return (struct bench_figure){ .median = side->figures.mid_ns,
	    .best = side->figures.min_ns };
}

static void
measure_pair(const struct bench_task *task, struct bench_results *results)
{
	static struct side sides[N_SIDES] = {
		[HANDLE] = { .name = "handle", .run = run_handle },
		[LOCK] = { .name = "lock", .run = run_lock },
		[NAME] = { .name = "name", .run = run_name },
	};
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	double ns = task->seconds * PAIR_SHARE * NS_PER_S / N_SIDES;
	double slice = ns < 0.2 * NS_PER_S ? 2e6 : 4e6;
	uint64_t end = bench_clock_ns() + (uint64_t)(ns * N_SIDES);
	unsigned int rounds;

	opts.flags = task->place.flags;
	bench_need(lh_open(&lh, task->place.table, &opts), "lh_open");
	key_name = task->pair_key;
	bench_need(lh_key_open(lh, key_name, 0, &key), "lh_key_open");
	sides[MUTEX] = bench_peer_mutex;
	sides[FLOCK] = bench_peer_flock;
	for (unsigned int i = MUTEX; i <= FLOCK; i++)
		sides[i].missing = sides[i].set_up();
	if (ns / slice > MAX_ROUNDS)
		slice = ns / MAX_ROUNDS;
	rounds = (unsigned int)(ns / slice);
	rounds = rounds < SAMPLES_MIN ? SAMPLES_MIN : rounds > MAX_ROUNDS ?
	    MAX_ROUNDS : rounds;
	bench_pin();
	/* on a busy machine a slice of processor time takes longer */
	rounds = bench_circus_until(sides, N_SIDES, rounds, SAMPLES_MIN,
	    (uint64_t)slice, end);
	bench_unpin();
	for (unsigned int i = HANDLE; i <= NAME; i++) {
		struct bench_figure *of = results->of[BENCH_PAIR + i];

		of[RELAY_OURS] = figure_of_side(&sides[i]);
		of[RELAY_MUTEX] = figure_of_side(&sides[MUTEX]);
		of[RELAY_FLOCK] = figure_of_side(&sides[FLOCK]);
		results->samples[BENCH_PAIR + i] = rounds;
	}
	sides[FLOCK].tear_down();
	bench_need(lh_key_close(key), "lh_key_close");
	bench_need(lh_close(lh), "lh_close");
}

/* Sorts the values. */
static struct bench_figure
figure_of_samples(double *ns, unsigned int n)
{
	struct bench_figure figure;

	figure.median = bench_percentile(ns, n, 50);
	figure.p99 = bench_percentile(ns, n, 99);
	figure.best = ns[0];
	return figure;
}

static double latency[N_RELAY_LOCKS][MAX_ROUNDS];
static double spent[N_RELAY_LOCKS][MAX_ROUNDS];

static void
take_sample(struct relay *relay, bool death, unsigned int lock, unsigned int n)
{
	static const struct relay_holder plain = { .threads = 1 };
	struct relay_handover sample;

	if (death) {
		latency[lock][n] = bench_relay_takeover(relay, &plain);
		return;
	}
	sample = bench_relay_handover(relay);
	latency[lock][n] = sample.latency_ns;
	spent[lock][n] = sample.spent_ns;
}

static void
measure_relays(const struct bench_task *task, struct bench_results *results,
    bool death)
{
	enum bench_metric metric = death ? BENCH_TAKEOVER : BENCH_HANDOVER;
	double share = death ? TAKEOVER_SHARE : HANDOVER_SHARE;
	struct relay *relays[N_RELAY_LOCKS];
	unsigned int n, i;
	uint64_t end;

	for (i = 0; i < N_RELAY_LOCKS; i++)
		relays[i] = bench_relay_start((enum relay_lock)i,
		    &task->place);
	end = bench_clock_ns() + (uint64_t)(task->seconds * share * NS_PER_S);
	for (n = 0; n < MAX_ROUNDS && (n < SAMPLES_MIN ||
	    bench_clock_ns() < end); n++)
		for (i = 0; i < N_RELAY_LOCKS; i++)
			take_sample(relays[i], death, i, n);
	for (i = 0; i < N_RELAY_LOCKS; i++) {
		results->of[metric][i] = figure_of_samples(latency[i], n);
		if (!death)
			results->of[BENCH_WAKEUP][i] =
			    figure_of_samples(spent[i], n);
		bench_relay_stop(relays[i]);
	}
	results->samples[metric] = n;
	if (!death)
		results->samples[BENCH_WAKEUP] = n;
}

void
bench_measure(const struct bench_task *task, struct bench_results *results)
{
	measure_pair(task, results);
	atomic_store(&results->phase, 1);
	measure_relays(task, results, false);
	atomic_store(&results->phase, 2);
	measure_relays(task, results, true);
}
