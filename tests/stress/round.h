/* SPDX-License-Identifier: MIT */
/*
 * One round of chaos: a table, its participants, and what they leave behind.
 *
 *	worker.c		what a participant does, as a process or as a
 *				thread
 *	evictor.c		what the last one does: makes keys that nobody
 *				needs, and evicts them and the others
 *	reaper.c		one more, in some rounds: ends leases and
 *				buries sessions that nobody else deals with
 *	observers.c		two bystanders: one asks the table all the time
 *				who waits, one notices when the machine stands
 *				still
 *	fault_injector.c	starts the participants, kills and stops them,
 *				buries them, and knows when each of that
 *				happened
 *	chaos.c			rounds, verdicts, TAP
 */
#ifndef ROUND_H
#define ROUND_H

#include <pthread.h>
#include <stdbool.h>

#include <leasehold.h>
#include "history/history.h"

#define N_KEYS		4
#define MAX_WORKERS	64	/* an evictor, a reaper */
#define NOBODY		UINT32_MAX
#define MAX_LIVES	20000
#define MAX_STOPS	20000
#define MAX_SIGHTS	400000
#define MAX_GAPS	4096

/* Shared by all processes of the round; one mapping from before the forks. */
struct round {
	/* set before the first fork */
	char table[65];
	struct lh_open_opts open;
	uint64_t seed;
	int64_t began_ns;
	double slow;		/* LH_TEST_SLOW */
	bool exclusive;		/* nobody asks for a shared lease */
	uint32_t evictor;	/* the slot of one; NOBODY */
	uint32_t reaper;	/* likewise */
	uint32_t weeds;		/* how many names of weeds there are */
	struct journal *j;
	/* each cell by the life that it belongs to */
	_Atomic uint64_t session[MAX_LIVES];
	/* by the census */
	_Atomic uint32_t n_sights;
	struct sighting sights[MAX_SIGHTS];
	_Atomic uint32_t looks, checks, findings, misordered, failures;
	_Atomic uint32_t readers_most; /* at once, on one key */
	uint32_t keys_most;
	char finding[256];	/* the first */
	/* by the metronome */
	_Atomic uint32_t n_gaps;
	struct gap gaps[MAX_GAPS];
};

extern const char *const round_keys[N_KEYS];

/* NULL with errno set.  quit it through r->j->quit. */
struct round *round_new(uint32_t n_logs, uint32_t cap);
void round_free(struct round *r);

/* worker.c: a participant, until told to quit or its log is full.  Closes
 * nothing.  0, or the first unexpected -errno of the library. */
int worker_run(struct round *r, struct lh *lh, uint32_t slot, uint32_t life);

/* evictor.c: likewise */
int evictor_run(struct round *r, struct lh *lh, uint32_t slot, uint32_t life);

/* reaper.c: likewise */
int reaper_run(struct round *r);

/* One of them from attaching to detaching, if lh is NULL. */
int participate(struct round *r, struct lh *lh, uint32_t slot, uint32_t life);

/* observers.c: until told to quit */
void observers_run(struct round *r, struct lh *lh);
void metronome_run(struct round *r);

/* fault_injector.c: what was done to the participants */
struct fault_injector {
	struct life *lives;
	uint32_t n_lives;
	struct stop *stops;
	uint32_t n_stops;
	uint32_t kills, kills_holding, kills_waiting, kills_inside;
	uint32_t kills_stopped;
	uint32_t crashed;	/* ended in a way nobody asked for */
	uint32_t hung;		/* did not come home */
	uint32_t full;		/* came home early: log full */
};

int fault_injector_new(struct fault_injector *h);
void fault_injector_free(struct fault_injector *h);
void fault_injector_processes(struct fault_injector *h, struct round *r,
    double seconds);

/* threads.c: the same participants as threads, with nobody harmed */
void fault_injector_threads(struct fault_injector *h, struct round *r,
    double seconds, bool shared);

#endif
