/* SPDX-License-Identifier: MIT */
/*
 * The demonstration's processes, and what they share.
 *
 *	worker.c		takes a key, works on its file, gives it back
 *	gate.c			the files; the check that refuses stale tokens
 *	fault_injector.c	starts workers, kills and stops holders
 *	journal_report.c	reads the journal and tells what happened
 *	report_line.c		lines, colours, numbers
 *	demo.c			beginning and end
 */
#ifndef DEMO_WORKER_H
#define DEMO_WORKER_H

#include <sys/types.h>

#include <leasehold.h>
#include "stress/history/history.h"

#define N_WORKERS	8
#define N_FILES		3
#define TTL_MS		400
#define MAX_LIVES	2000
#define MAX_STOPS	2000

extern const char *const file_names[N_FILES];

/* For OP_WRITE records: which side of the gate. */
enum { GATE_READ, GATE_WRITE };

struct worker {
	pid_t pid;
	uint32_t life;
	uint32_t stop;		/* index into stops, while stopped */
	bool stopped;
	bool in_time;		/* was resumed before its lease ended */
	const struct op *held;	/* what it held when it was stopped */
	int64_t resume_ns;
	uint32_t told;		/* records that the story has been through */
};

/* The holder whose successor is waited for. */
struct watch {
	bool on;
	bool killed;		/* else: stopped */
	uint64_t token;
	int64_t since_ns;	/* of the kill, or of the lease's end */
};

struct demo {
	struct journal *j;
	pid_t director;
	char table[65];
	char dir[64];
	int64_t began_ns;
	uint64_t dice;
	struct worker w[N_WORKERS];
	struct life lives[MAX_LIVES];
	struct stop stops[MAX_STOPS];
	uint32_t n_lives, n_stops;
	struct watch watch[N_FILES];
	/* what was seen */
	uint64_t grants[N_FILES], top[N_FILES];
	unsigned kills, long_stops, short_stops, refused, resumed_in_time;
	unsigned crashed;
	int64_t after_kill_ns, after_end_ns;	/* slowest takeover */
};

/* worker.c: never returns */
void crew_main(const struct demo *d, uint32_t slot, uint32_t life)
    __attribute__((noreturn));

/* fault_injector.c */
void director_start(struct demo *d);
void director_kill(struct demo *d, uint32_t file);
void director_stop(struct demo *d, uint32_t file, bool in_time);
void director_attend(struct demo *d);	/* resume whoever is due */
void director_finish(struct demo *d);	/* send everybody home */

/* journal_report.c */
void story_go_on(struct demo *d);
void story_so_far(const struct demo *d);

#endif
