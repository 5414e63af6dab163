/* SPDX-License-Identifier: MIT */
/*
 * The stepper: see trace.c.
 */
#ifndef CRASH_TRACE_H
#define CRASH_TRACE_H

#include "crash/late_sleep.h"
#include "crash/trial.h"

/* Why a point is worth a try. */
#define AT_BEGIN	0x1u	/* before the first instruction */
#define AT_CHANGE	0x2u	/* the shared memory has just changed */
#define AT_VERGE	0x4u	/* the next instruction changes it */
#define AT_ENTER	0x8u	/* the next instruction is a system call */
#define AT_RETURN	0x10u	/* the last one was */
#define AT_END		0x20u	/* the operation is done */
#define AT_LOOK		0x40u	/* on either side of a system call that only
				 * looks: nobody else can tell these apart */
#define AT_BETWEEN	0x80u	/* of a sample of what lies between */

/* A place in a run: before the occ-th time that the instruction at rip is
 * executed with the stack that deep. */
struct point {
	uint64_t rip;
	uint32_t depth;
	uint32_t occ;		/* 1: the first */
	uint32_t index;		/* instructions before it, when recorded */
	uint32_t why;		/* 0: nothing happens here */
	const struct late_sleep *late;	/* in the run that it was recorded in */
};

struct trace {
	struct point *at;	/* every instruction of the first recording, */
	size_t n, room;		/* then what was new in later ones */
	uint32_t instructions;	/* in the first recording */
	uint32_t states;	/* distinct states in it, one after the other */
	bool hides;		/* a change may be further on than it seems:
				 * to be recorded again */
	bool sparse;		/* only places are in it (places.c) ... */
	bool again;		/* ... and some were not known before */
	struct late_sleep *late;	/* of each recording */
};

/* How to go about an operation. */
enum pace {
	PACE_QUICK,		/* to its point at full speed */
	PACE_TICK,		/* ... but the clock ticks on the way */
	PACE_LATE,		/* ... but late at the same sleeps */
	PACE_SLOW,		/* step by step */
	PACE_RECORD		/* ... with a hash at each */
};

/* How to get to a point.  With PACE_TICK the process waits for the next tick
 * of the clock at another point, `via` (NULL: the beginning).  The point has
 * been met `met` times before that. */
struct approach {
	enum pace pace;
	const struct point *via;
	uint32_t met;
};

typedef void trial_fn(struct trial *p);

enum trace_end {
	TRACE_AT,		/* stopped at the point */
	TRACE_EARLY,		/* the operation ended, and never met it */
	TRACE_DIED		/* it did not survive; a finding says how */
};

/* Record sleeps as late as stepping makes them (late_sleep.c). */
void trace_be_late(bool late);

/*
 * Fork a process that runs prepare, then act, then finish, and stop it where
 * act begins.  Its pid, or -1 with a finding.
 */
pid_t trace_start(struct trial *p, trial_fn *prepare, trial_fn *act,
    trial_fn *finish);

/* Take it to the end of act and write down what is seen on the way.  *t is
 * empty.  (t->again: the same once more, from trace_start().) */
bool trace_record(struct trial *p, pid_t pid, struct trace *t);

/* Put another recording of the same operation to t; it is gone then. */
void trace_merge(struct trace *t, struct trace *now);

/* True if that point, or one for a better reason, is in the first n of t. */
bool trace_has(const struct trace *t, size_t n, const struct point *at);

/*
 * Add to t what is new in the first n points of another recording of the same
 * operation, which is to be there as long as t.
 */
void trace_add(struct trace *t, const struct trace *other, size_t n);

/* Where an operation ends. */
uint64_t trace_end_rip(void);

/* Run it on to a point, at any pace but the last. */
enum trace_end trace_run_to(struct trial *p, pid_t pid, const struct point *at,
    struct approach how);

/* To t->at[i] by way of t->at[via], with a tick there. */
struct approach trace_by_way(const struct trace *t, size_t via, size_t i);

/* Let it run freely; it goes on where it was stopped. */
void trace_let_go(pid_t pid);

void trace_free(struct trace *t);

/* Where a point is, in words: symbol+offset. */
const char *trace_place(const struct point *at, char *buf, size_t size);

#endif
