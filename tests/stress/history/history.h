/* SPDX-License-Identifier: MIT */
/*
 * Did this history of a table keep the guarantees?
 *
 * Tokens give the order of the grants, so no search for a linearisation is
 * needed: every rule is a comparison of intervals.  The verdict can be relied
 * on because each interval errs to one side only:
 *
 *   grant window	[lo, hi].  The grant happened after the call and after
 *			acquired_ns (which is never late), before the return was
 *			stamped (which is never early).
 *   certain hold	[hi, end].  end is the earliest of: release or close
 *			called, the deadline, the killer's stamp taken before
 *			it sent SIGKILL.  In it nobody else may hold.
 *   possible hold	[lo, gone].  gone is the earliest of: release or close
 *			returned, the latest deadline the lease may have had,
 *			the killer's stamp taken after it had reaped the body.
 *			Outside of every such interval the key was grantable;
 *			outside of the exclusive ones, to readers.
 *   sure wait		from call (or, for order, from the moment a census saw
 *			it in the queue) to the earliest moment at which it may
 *			have been served or given up, less the time in which
 *			its process was stopped or the machine stood still.
 *
 * A stopped process stamps late.  That makes its certain hold begin later and
 * its possible hold end later: both harmless.  It never stamps a release call
 * late: the stamp is taken before the call, by the caller itself.
 *
 * A lease that is converted is a chain of grants, each with a token of its own.
 * Downgraded, it is certainly shared from the call on; upgraded, it certainly
 * is until the return, and exclusive from then on.
 *
 * Rules, each with the letter of the guarantee that it tests:
 *
 *   overlap G1	certain holds of a key are disjoint unless both are shared,
 *		and no grant window lies within another's certain hold
 *   token G2	an exclusive grant's token is larger than that of every grant
 *		before it, a shared one's not smaller than that of any
 *		exclusive grant before it, a conversion's larger than the
 *		lease had
 *   expiry G3	no extend, convert, verify or release succeeds that was called
 *		after the deadline and, for release, after a successor was
 *		served; none says "lost" before the deadline; no wait fails
 *		early (T4)
 *   result	no call returns what it has no reason to; an upgrade is busy
 *		only if there may have been another reader
 *   note	a grant says how the one before it ended
 *   idle G6	while somebody surely waits, the key is not free for long;
 *		while a reader does, not free of writers, those who hold it
 *		and those who may be before it in the queue
 *   order G7	nobody is served before one who was seen earlier in the
 *		queue, unless both are readers; no newcomer before a sure
 *		waiter of a higher priority; no new reader before a sure
 *		writer of the same or a higher one (but for LH_ORDER_BARGE);
 *		under LH_ORDER_FIFO nobody before a sure waiter of the same
 *		or a higher priority, and no writer between two readers who
 *		were seen in the queue in a row
 *   write	the gate lets no token in after a larger one
 *
 * A waiter that does not take a free key within a few milliseconds may be
 * passed over (suspected of being stopped), and on a busy machine a waiter can
 * be that slow without being stopped.  So the order rule excuses an overtaking
 * if the key may have been free for SUSPECT_NS at a stretch during the wait;
 * how often it did is reported.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal.h"

#define SUSPECT_NS	2000000

/* One incarnation of a participant. */
struct life {
	uint64_t session;	/* 0: unknown */
	int64_t kill_ns;	/* before SIGKILL was sent; NEVER */
	int64_t gone_ns;	/* after it was reaped; NEVER */
};

/* A time in which a participant may not have been running. */
struct stop {
	uint32_t life;
	int64_t before_ns;	/* before SIGSTOP was sent */
	int64_t stopped_ns;	/* known to be stopped */
	int64_t after_ns;	/* after SIGCONT was sent; NEVER: killed */
};

/* A census saw `session` in the queue of `key`, between the two times. */
struct sighting {
	uint64_t session;
	uint64_t before;	/* who was right before it; 0: nobody */
	int64_t from_ns, to_ns;
	uint32_t key;
};

/* The machine ran nobody, as far as a sleeper with a metronome could tell. */
struct gap {
	int64_t from_ns, to_ns;
};

struct history {
	const struct op *ops;
	uint32_t n_logs, cap;
	const uint32_t *counts;	/* records in log l, at ops[l * cap ..] */
	const struct life *lives;
	size_t n_lives;
	const struct stop *stops;
	size_t n_stops;
	const struct sighting *sightings;
	size_t n_sightings;
	const struct gap *gaps;
	size_t n_gaps;
	uint32_t n_keys;
	bool fifo, barge;	/* the table's order; neither: bounded */
	uint32_t around;	/* tell each violation with so many events */
	int64_t idle_limit_ns;	/* of the idle rule; 200 ms */
};

enum rule {
	RULE_OVERLAP, RULE_TOKEN, RULE_EXPIRY, RULE_RESULT, RULE_NOTE,
	RULE_IDLE, RULE_ORDER, RULE_WRITE, N_RULES
};

struct verdict {
	uint64_t broken[N_RULES];
	/* what there was to judge */
	uint64_t calls, grants, refusals, unknown; /* of acquire */
	uint64_t shared;	/* grants that were */
	uint64_t upgrades, upgrades_busy, downgrades;
	uint64_t evictions;	/* keys evicted by those who asked for it */
	uint64_t old;		/* outdated copies presented */
	uint64_t extends, verifies, releases, writes, writes_refused;
	uint64_t lost;		/* leases found lost, rightly */
	uint64_t posthumous;	/* attempts on leases that were released */
	uint64_t noted;		/* grants whose note was checked */
	uint64_t waits;		/* judged by the idle rule */
	uint64_t pairs;		/* judged by the order rule */
	uint64_t excused;	/* overtakings excused */
	uint64_t overtaken_most; /* how often one wait was overtaken */
	int64_t idle_longest_ns;
	int64_t wait_longest_ns; /* of a participant that was not stopped */
	int64_t cancel_longest_ns; /* from cancel to return */
	int64_t early_most_ns;	/* a deadline before call + ttl */
};

/* text: a line on the violation, then one for each event around it. */
typedef void violation_fn(enum rule rule, const char *text, void *arg);

/* The number of violations, each told to fn (may be NULL); -ENOMEM. */
int64_t history_check(const struct history *h, struct verdict *v,
    violation_fn *fn, void *arg);

const char *rule_name(enum rule rule);

#endif
