/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: one operation in one situation each.
 *
 * roles	who is on stage before the subject comes, in that order
 * prepare, act, finish		the subject's, see trace.h; finish is for runs
 *		that go on after a stop, and says whether what act reported fits
 *		what the server saw meanwhile
 * check, serve, recover	who looks at the result; NULL: the usual ones
 */
#ifndef CRASH_SCENARIO_H
#define CRASH_SCENARIO_H

#include "crash/play.h"
#include "crash/trace.h"

struct role {
	void (*enter)(struct play *p, void *part);	/* in its process */
	uint32_t until;		/* PART_...: it has taken its place */
	bool asleep;		/* ... and sleeps in a wait */
	bool dies;		/* then it is killed */
	bool halfway;		/* not enter: killed in the middle of making
				 * a key, under the stepper */
};

#define SC_TIGHT	0x1u	/* every session record is the cast's */
#define SC_LATE		0x2u	/* no table before the operation */

struct scenario {
	const char *name;
	const char *what;
	struct role roles[PLAY_PARTS];
	unsigned flags;
	uint32_t max_leases;	/* 0: 512 */
	int64_t stop_ttl_ms;	/* of the subject's leases in stop; 0: 40 */
	play_fn *prepare, *act, *finish;
	play_fn *check, *serve, *recover;
	const int *allowed;	/* results besides 0, 0-terminated */
	bool toy;		/* the shared memory is play.toy */
};

extern const struct scenario scenarios[];
extern const int n_scenarios;

/* The one whose middle makes a role `halfway`. */
extern const struct scenario *const scenario_halfway;

/* By name; NULL. */
const struct scenario *scenario_find(const char *name);

/* Parts (cast.c), for roles. */
void part_founder(struct play *p, void *part);	/* makes table and keys */
void part_holder(struct play *p, void *part);	/* holds KEY until told */
void part_yielder(struct play *p, void *part);	/* ... or the subject sleeps */
void part_waiter(struct play *p, void *part);	/* waits for KEY */
void part_follower(struct play *p, void *part);	/* ... when cued */
void part_taker(struct play *p, void *part);	/* holds KEY when cued */
void part_lapsed(struct play *p, void *part);	/* its lease on KEY is over */
void part_third(struct play *p, void *part);	/* holds THIRD */
void part_tangled(struct play *p, void *part);	/* holds THIRD, waits for KEY */
void part_chunk(struct play *p, void *part);	/* holds a key of its own */

/* Attach, or blame and end; with the keys in place unless SC_LATE. */
struct lh *cast_open(struct play *p);

/* Options for acquiring with that ttl and wait. */
struct lh_acquire_opts cast_opts(int64_t ttl_ms, int64_t wait_ms);

/* After a kill (checker.c): the usual check and the usual recoverer. */
void checker_check(struct play *p);
void checker_recover(struct play *p);

/* Beside a stop (server.c). */
void server_serve(struct play *p);

/* 0 findings, or blame with the first one. */
void check_findings(struct play *p, struct lh *lh, const char *when);

#endif
