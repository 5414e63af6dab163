/* SPDX-License-Identifier: MIT */
/*
 * Contests: n processes do the same thing in a loop for a fixed wall time, ours
 * and the peer in turn, round after round.  contest.c says how.
 */
#ifndef CONTEST_H
#define CONTEST_H

#include <stdalign.h>
#include <stdatomic.h>

#include "bench.h"

#define MAX_WORKERS 100

/*
 * Shared by the processes of a contest.  The parent writes `stop` while they
 * run.  Every worker reads it before each turn, so no worker writes to its
 * line; each worker's result has its own line.
 */
struct ground {
	alignas(64) _Atomic uint32_t ready;
	_Atomic uint32_t go;			/* futex */
	alignas(64) _Atomic uint32_t stop;
	alignas(64) _Atomic uint32_t turn;	/* the contest's own use */
	struct {
		alignas(64) _Atomic uint32_t full;	/* futex; likewise */
		alignas(64) _Atomic uint32_t coming;	/* likewise */
	} seat[MAX_WORKERS];
	struct {
		alignas(64) uint64_t n;
	} done[MAX_WORKERS];
};

extern struct ground *ground;

enum place {
	PLACE_ANY,		/* where the scheduler puts them */
	PLACE_APART,		/* each on a CPU of its own, if there are */
	PLACE_TOGETHER		/* all on one CPU */
};

/*
 * A worker prepares, calls contest_meet(), loops until contest_stopped(), and
 * leaves how often it succeeded in ground->done[me].n.
 */
struct contest {
	unsigned int n_workers;
	enum place place;
	bool each;		/* the time is one process's, not of all */
	void (*ours)(unsigned int me);
	void (*theirs)(unsigned int me);
	struct row row;
};

static inline bool contest_stopped(void)
{
	return atomic_load_explicit(&ground->stop, memory_order_relaxed);
}

void contest_set_up(void);
void contest_meet(void);
long contest_futex(_Atomic uint32_t *word, int op, uint32_t value);

/* One round of one worker: wall time a success. */
double contest_sample(const struct contest *contest,
    void (*worker)(unsigned int), uint64_t wall_ns);

/* A round of one side takes wall_ns and some milliseconds. */
struct row contest_run(const struct contest *contest, unsigned int rounds,
    uint64_t wall_ns);

/* All of n, as many rounds as befits each; in a quick run those of a metric
 * take quick_ns. */
void contest_run_all(const struct contest *contests, size_t n, struct row *rows,
    uint64_t quick_ns);

#endif
