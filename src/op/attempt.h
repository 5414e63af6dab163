/* SPDX-License-Identifier: MIT */
/* One attempt to acquire by the slow way: wait.c waits, grant.c takes. */
#ifndef LHI_ATTEMPT_H
#define LHI_ATTEMPT_H

#include "op/acquire.h"
#include "op/turn.h"

enum {				/* beside 0 and -errno */
	WAITING = 1,
	BARRED = 4		/* as long as others hold it */
};

struct lhi_attempt {
	struct lh *lh;
	struct lhi_mag *m;
	const struct lhi_ask *ask;
	struct lh_lease *lease;
	struct lhi_turn t;
	struct shm_claim *c;
	int bit;
	uint64_t home;
	bool timed_out;		/* the last sleep ended by itself */
	bool lost;		/* was woken, and somebody else was faster */
	bool starving;
	bool spun;		/* since the last sleep */
	bool barred;		/* a reader that has to wait like a writer */
	uint64_t barred_in;	/* as long as others read in that range */
	int64_t front_since_ns;	/* 0: not the first */
	int64_t probed_ns;	/* when it last asked after the living */
	int64_t queued_ns;	/* when it began to wait */
};

/* Announce the claim in a new use, in that state. */
void lhi_attempt_announce(struct lhi_attempt *a, unsigned st,
    uint64_t deadline);

/* Out of the queue, if in; whoever is first now is woken. */
void lhi_attempt_leave_queue(struct lhi_attempt *a);

/* spin.c: wait a moment for the word to be another one than w, or for somebody
 * to queue before us. */
void lhi_attempt_spin(struct lhi_attempt *a, uint64_t w);

/* The word w allows it and it is our turn.  0 granted; WAITING;
 * BARRED; -errno. */
int lhi_attempt_take(struct lhi_attempt *a, uint64_t w);

#endif
