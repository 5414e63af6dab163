/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: one operation in one situation each.
 *
 * roles	who is on stage before the subject comes, in that order
 * prepare, act, finish		the subject's, see trace.h; finish is for runs
 *		that go on after a stop, and says whether what act reported fits
 *		what the server saw meanwhile
 * check, serve, recover	who looks at the result; NULL: the usual ones
 *
 * They are in scenario_NAME.c, by subject.  Each file adds its own (SCENARIOS),
 * in the order in which the files are linked.
 */
#ifndef CRASH_SCENARIO_H
#define CRASH_SCENARIO_H

#include "crash/trial.h"
#include "crash/trace.h"

struct role {
	void (*enter)(struct trial *p, void *part);	/* in its process */
	uint32_t until;		/* PART_...: it has taken its place */
	bool shared;		/* KEY in shared mode */
	bool asleep;		/* it has, and sleeps in a wait */
	bool dies;		/* then it is killed */
	bool mortal;		/* a yielder: is killed, and does not yield */
	int kills;		/* then part kills - 1 is killed */
	const struct scenario *halfway;	/* not enter: this one's subject, under
				 * the stepper, killed after ... */
	unsigned nth;		/* ... that change; 0: half of them */
};

#define QUEUED_STATES	12u	/* who has waited has made so many */

#define SC_TIGHT	0x1u	/* every session record is the participants' */
#define SC_LATE		0x2u	/* no table before the operation */
#define SC_FIFO		0x4u	/* nobody overtakes: a first sleep is a long
				 * one, and the runs resemble each other */
#define SC_EMPTY	0x8u	/* no keys before the operation */
#define SC_LOOSE	0x10u	/* keys may be evicted */
#define SC_DURABLE	0x20u	/* the table has a fence file */
#define SC_NAMED	0x40u	/* one session more, which is a named one */
#define SC_CLUSTER	0x80u	/* KEY is a cluster's */
#define SC_GLOBAL	0x100u	/* tokens rise over all keys */
#define SC_PASSED_ON	0x200u	/* everybody has a second sign of life */

struct scenario {
	const char *name;
	const char *what;
	struct role roles[TRIAL_PARTS];
	unsigned flags;
	uint32_t max_leases;	/* 0: 512 */
	uint32_t max_keys;	/* 0: 16 */
	uint32_t min_states;	/* a recording with fewer is of no use */
	int64_t stop_ttl_ms;	/* of the subject's leases in stop; 0: 40 */
	trial_fn *prepare, *act, *finish;
	trial_fn *check, *serve, *recover;
	const int *allowed;	/* results besides 0, 0-terminated */
	bool toy;		/* the shared memory is trial.toy */
};

/* At the end of a file: its array is among the scenarios. */
#define SCENARIOS(array) \
	__attribute__((constructor)) static void add_scenarios(void) \
	{ \
		scenario_add(array, sizeof(array) / sizeof((array)[0])); \
	}

void scenario_add(const struct scenario *some, size_t n);
int scenario_count(void);
const struct scenario *scenario_at(int i);

/* For .halfway, which is of no use to anyone else: short, without roles. */
extern const struct scenario scenario_making, scenario_evicting;

/* By name; NULL. */
const struct scenario *scenario_find(const char *name);

/* For .allowed. */
extern const int says_stale[], says_busy[], says_late[], says_cancelled[],
    says_busy_or_stale[];

/* Parts (participants.c), for roles.  One that is cued waits for p->cue to
 * be its number, counted from 1. */
void part_founder(struct trial *p, void *part);	/* makes table and keys */
void part_holder(struct trial *p, void *part);	/* holds KEY until told */
void part_yielder(struct trial *p, void *part);	/* ... or the subject sleeps */
void part_crowd(struct trial *p, void *part);	/* ... and all others wait */
void part_waiter(struct trial *p, void *part);	/* waits for KEY */
void part_follower(struct trial *p, void *part);	/* ... when cued */
void part_ticket(struct trial *p, void *part);	/* ... by a ticket */
void part_behind(struct trial *p, void *part);	/* ... when the subject does */
void part_upgrader(struct trial *p, void *part); /* reads; cued, upgrades */
void part_left(struct trial *p, void *part);	/* gave up waiting for KEY */
void part_taker(struct trial *p, void *part);	/* holds KEY when cued */
void part_lapsed(struct trial *p, void *part);	/* its lease on KEY is over */
void part_idler(struct trial *p, void *part);	/* read KEY twice at once */
void part_knot(struct trial *p, void *part);	/* reads, has read, has left */
void part_cuer(struct trial *p, void *part);	/* cues the knot */
void part_third(struct trial *p, void *part);	/* holds THIRD */
void part_entangled(struct trial *p, void *part); /* the same, when cued, in one
						 * thread */
void part_tangled(struct trial *p, void *part);	/* holds THIRD, waits for KEY */
void part_chunk(struct trial *p, void *part);	/* holds a key of its own */

#define ROLE(fn, state, ...) \
	{ .enter = (fn), .until = (state), ##__VA_ARGS__ }
#define FOUNDER		ROLE(part_founder, PART_ATTACHED)
#define HOLDER		ROLE(part_holder, PART_HOLDS)
#define DEAD_HOLDER	ROLE(part_holder, PART_HOLDS, .dies = true)
#define YIELDER		ROLE(part_yielder, PART_HOLDS)
#define MORTAL		ROLE(part_yielder, PART_HOLDS, .mortal = true)
#define CROWD_YIELDER	ROLE(part_crowd, PART_HOLDS)
#define WAITER		ROLE(part_waiter, PART_WAITS, .asleep = true)
#define DEAD_WAITER	ROLE(part_waiter, PART_WAITS, .asleep = true, \
			    .dies = true)
#define TICKET		ROLE(part_ticket, PART_ATTACHED)
#define DEAD_TICKET	ROLE(part_ticket, PART_WAITS, .asleep = true, \
			    .dies = true)
#define FOLLOWER	ROLE(part_follower, PART_ATTACHED)
#define LEFT_WAITER	ROLE(part_left, PART_ATTACHED)
#define TAKER		ROLE(part_taker, PART_ATTACHED)
#define LAPSED		ROLE(part_lapsed, PART_ATTACHED)
#define DEAD_TANGLED	ROLE(part_tangled, PART_WAITS, .asleep = true, \
			    .dies = true)
#define ENTANGLED	ROLE(part_entangled, PART_ATTACHED)
#define DEAD_HALFWAY	{ .dies = true, .halfway = &scenario_making }
#define DEAD_EVICTOR(n)	{ .dies = true, .halfway = &scenario_evicting, \
			    .nth = (n) }
#define DEAD_CHUNK	ROLE(part_chunk, PART_ATTACHED, .dies = true)
#define READER		ROLE(part_holder, PART_HOLDS, .shared = true)
#define DEAD_READER	ROLE(part_holder, PART_HOLDS, .shared = true, \
			    .dies = true)
#define BEHIND		ROLE(part_behind, PART_ATTACHED)
#define READER_CROWD	ROLE(part_crowd, PART_HOLDS, .shared = true)
#define READER_YIELDER	ROLE(part_yielder, PART_HOLDS, .shared = true)
#define READER_WAITER	ROLE(part_waiter, PART_WAITS, .shared = true, \
			    .asleep = true)
#define READER_FOLLOWER	ROLE(part_follower, PART_ATTACHED, .shared = true)
#define READER_BEHIND	ROLE(part_behind, PART_ATTACHED, .shared = true)
#define READER_LATER	ROLE(part_taker, PART_ATTACHED, .shared = true)
#define READER_LAPSED	ROLE(part_lapsed, PART_ATTACHED, .shared = true)
#define IDLER		ROLE(part_idler, PART_ATTACHED, .shared = true)
#define DEAD_IDLER	ROLE(part_idler, PART_ATTACHED, .shared = true, \
			    .dies = true)
#define UPGRADER	ROLE(part_upgrader, PART_ATTACHED)
#define KNOT		ROLE(part_knot, PART_ATTACHED, .shared = true)
#define CUER_KILLS(n)	ROLE(part_cuer, PART_ATTACHED, .kills = (n))

/* Attach, or blame and end; with the keys in place if they are to be. */
struct lh *participant_open(struct trial *p);

/* If KEY is a cluster's: to that attachment it is a key like others. */
void participant_serve(struct trial *p, struct lh *lh);

/* Options for acquiring with that ttl and wait. */
struct lh_acquire_opts participant_opts(int64_t ttl_ms, int64_t wait_ms);
struct lh_acquire_opts participant_read_opts(int64_t ttl_ms, int64_t wait_ms);

/*
 * Everybody alive who holds KEY or waits for it gets its turn and leaves
 * (survivors.c): by end_ns, or, if that is 0, each as soon as the one before
 * has left.  Nobody else gets the key meanwhile.
 */
void survivors_check(struct trial *p, struct lh *lh, int64_t end_ns);

/* After a kill (checker.c): the usual check and the usual recoverer. */
void checker_check(struct trial *p);
void checker_recover(struct trial *p);

/* Beside a stop (server.c). */
void server_serve(struct trial *p);

/* 0 findings, or blame with the first one. */
void check_findings(struct trial *p, struct lh *lh, const char *when);

#endif
