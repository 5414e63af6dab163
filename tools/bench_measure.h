/* SPDX-License-Identifier: MIT */
/* The measurements of `leasehold bench`.  See bench_measure.c. */
#ifndef TOOLS_BENCH_MEASURE_H
#define TOOLS_BENCH_MEASURE_H

#include <stdatomic.h>
#include <stdint.h>
#include "bench_relay.h"

enum bench_metric {
	BENCH_PAIR,		/* of an opened key */
	BENCH_LOCK,		/* lh_key_lock(), lh_key_unlock() */
	BENCH_NAME,		/* by name */
	BENCH_HANDOVER,
	BENCH_WAKEUP,
	BENCH_TAKEOVER,
	N_BENCH_METRICS
};

/* In ns. */
struct bench_figure {
	double median, best;
	double p99;		/* 0: the samples are averages themselves */
};

/* In memory that the processes share. */
struct bench_results {
	_Atomic unsigned int phase;	/* of bench_phase_name() */
	unsigned int samples[N_BENCH_METRICS];	/* of each lock */
	struct bench_figure of[N_BENCH_METRICS][N_RELAY_LOCKS];
};

/* Where the keys are; two, and place.key is of the processes that alternate. */
struct bench_task {
	struct relay_place place;
	const char *pair_key;
	double seconds;		/* in all */
};

const char *bench_phase_name(unsigned int phase);

/* Measures, in a process that bench_fork() made.  Ends it if that fails. */
void bench_measure(const struct bench_task *task,
    struct bench_results *results);

#endif
