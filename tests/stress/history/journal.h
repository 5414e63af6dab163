/* SPDX-License-Identifier: MIT */
/*
 * Records the calls of every participant and their times.  Records are only
 * appended, and survive the death of the process that writes them.
 *
 * A journal is one anonymous shared mapping, made before the first fork: there
 * is no file to clean up, and nothing of a killed writer is lost.  It is cut
 * into logs; a log has one writer at a time (a worker, and after its death its
 * replacement).  An operation is one record:
 *
 *   begin	the record is filled in, call_ns is read last, and then the
 *		log's count covers it.  Only then is the library called.
 *   end	the outcome is filled in, ret_ns is stored last.
 *
 * So a record below the count has a call_ns from before the call, and either a
 * ret_ns from after it and a whole outcome, or ret_ns 0: never came back, or
 * killed before it could say so.  A writer that is preempted or stopped between
 * clock and call only stamps call_ns too early or ret_ns too late, which is the
 * side that the checker (history.h) is safe on.
 *
 * Each participant has a life: a number that no other incarnation has.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NEVER	INT64_MAX

enum op_kind {
	OP_ACQUIRE = 1,
	OP_EXTEND,
	OP_VERIFY,
	OP_RELEASE,
	OP_AGAIN,		/* release of a struct that was released */
	OP_CONVERT,		/* to `mode`; gives a new token */
	OP_OLD,			/* an outdated copy of a lease is presented */
	OP_WRITE,		/* to the guarded file, through its gate */
	OP_EVICT,		/* of idle keys; result: how many */
	OP_CLOSE		/* of the attachment: ends all that it holds */
};

enum op_how {			/* mostly of OP_ACQUIRE */
	HOW_TRY,
	HOW_TIMED,
	HOW_FOREVER,
	HOW_CANCEL,		/* for ever, but somebody will cancel it */
	HOW_TOKEN		/* of OP_VERIFY: by key and token alone */
};

struct op {
	int64_t call_ns;
	_Atomic int64_t ret_ns;	/* 0: never came back */
	int64_t limit_ns;	/* a wait cannot rightly fail before this */
	int64_t acquired_ns;	/* as the library reported it */
	int64_t deadline_ns;	/* likewise, of acquire and extend */
	uint64_t token;		/* acquired, converted to, or presented */
	uint64_t seen;		/* OP_WRITE refused: the token it met */
	int32_t result;
	uint32_t ttl_ms;	/* asked for */
	uint32_t of;		/* index of the acquire that this is about */
	uint32_t life;
	uint32_t priority;
	uint32_t notes;
	uint16_t key;
	uint8_t kind;		/* enum op_kind */
	uint8_t how;		/* enum op_how; OP_OLD: an op_kind */
	uint8_t mode;		/* enum lh_mode, asked for */
};

struct log {
	_Atomic uint32_t n;	/* records begun */
	uint32_t base;		/* index of the first one */
};

struct journal {
	_Atomic int quit;	/* tells every worker to finish */
	uint32_t n_logs;
	uint32_t cap;		/* records a log */
	struct log *logs;
	struct op *ops;		/* log l: ops[l * cap ..] */
	size_t bytes;
};

/* NULL with errno set. */
struct journal *journal_new(uint32_t n_logs, uint32_t cap);
void journal_free(struct journal *j);

/* Reserve the next record; NULL when the log is full.  Not yet visible. */
struct op *journal_next(struct journal *j, struct log *log);

/* Stamp the call and make the record visible. */
void journal_call(struct log *log, struct op *op);

/* Stamp the return; `at` was read right after the call. */
void journal_ret(struct op *op, int64_t at, int result);

/* Index of a record. */
static inline uint32_t
journal_index(const struct journal *j, const struct op *op)
{
	return (uint32_t)(op - j->ops);
}

static inline int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void sleep_until_ns(int64_t at);

/* A small generator: splitmix64.  Every life gets a state of its own. */
static inline uint64_t
dice(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* lo .. hi, both included. */
static inline int64_t
between(uint64_t *state, int64_t lo, int64_t hi)
{
	return lo + (int64_t)(dice(state) % (uint64_t)(hi - lo + 1));
}

static inline bool
percent(uint64_t *state, unsigned p)
{
	return dice(state) % 100 < p;
}

#endif
