/* SPDX-License-Identifier: MIT */
/* One attempt to acquire by the slow way: acquire_wait.c waits,
 * acquire_slow.c takes. */
#ifndef LHI_ACQUIRE_ATTEMPT_H
#define LHI_ACQUIRE_ATTEMPT_H

#include "op/acquire.h"
#include "op/deadlock.h"
#include "op/admission.h"
#include "shm/session_named.h"

enum {				/* beside 0 and -errno */
	WAITING = 1,
	READER_DEFERRED = 4		/* as long as others hold it */
};

struct lhi_attempt {
	struct lh *lh;
	struct lhi_claim_cache *m;
	const struct lhi_acquire_request *ask;
	struct lh_lease *lease;
	struct lhi_admission t;
	struct shm_claim *c;
	uint64_t slot_ref;
	bool timed_out;		/* the last sleep ended by itself */
	bool lost;		/* was woken, and somebody else was faster */
	bool starving;
	bool spun;		/* since the last sleep */
	bool threadless;	/* its turn is told by the session's doorbell */
	bool reader_deferred;	/* a reader that has to wait like a writer */
	uint64_t deferred_in;	/* as long as others read in that range */
	uint64_t token;		/* of the grant that is tried for */
	uint32_t notes;		/* LH_NOTE_..., likewise */
	int64_t front_since_ns;	/* 0: not the first */
	int64_t probed_ns;	/* when it last asked after the living */
	int64_t queued_ns;	/* when it began to wait */
	int64_t stale_check_ns;	/* when to see whether the table is there */
	int64_t wake_ns;	/* parked: when to look at the latest */
	uint64_t w;		/* the word at the last look */
	struct lhi_deadlock dead;
};

/*
 * A claim of that claim cache for it; until it is granted or withdrawn.  ref,
 * ask and lease are kept.  0; -ENOMEM (also if m is NULL), -ENOSPC, -EUCLEAN.
 */
int lhi_attempt_begin(struct lhi_attempt *a, struct lh *lh,
    struct lhi_claim_cache *m, const struct lhi_ref *ref,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Not granted, for that reason: leave no trace (G8). */
void lhi_attempt_withdraw(struct lhi_attempt *a, int error);

/*
 * acquire_wait.c, step by step, for who has no thread to sleep in: a round (0
 * granted; WAITING, in the queue; -errno and KEY_GONE: withdraw it), then park;
 * if that says true, nothing is to be done until its park is not ASLEEP or
 * QUIET any more, or until wake_ns.  Then unpark, and the next round.
 */
int lhi_attempt_round(struct lhi_attempt *a);
bool lhi_attempt_park(struct lhi_attempt *a);
void lhi_attempt_unpark(struct lhi_attempt *a);

/* Announce the claim in a new use, in that state. */
/* The named session that it acquires into, which its wait says (claim.grant:
 * inspect/waits_for.c); or 0. */
uint64_t lhi_attempt_session(const struct lhi_attempt *a);

void lhi_attempt_announce(struct lhi_attempt *a, unsigned st,
    uint64_t deadline);

/* acquire_left.c: the thread is about to wait, not cancellable, and was in that
 * state before; and it has returned from it. */
void lhi_attempt_note_wait(struct lhi_attempt *a, int cancel_state);
void lhi_attempt_note_return(struct lhi_attempt *a);

/* Out of the queue, if in; whoever is first now is woken. */
void lhi_attempt_leave_queue(struct lhi_attempt *a);

/* acquire_spin.c: wait a moment for the word to be another one than w, or
 * for somebody to queue before us. */
void lhi_attempt_spin(struct lhi_attempt *a, uint64_t w);

/* The word w allows it and it is our turn.  0 granted; WAITING;
 * READER_DEFERRED; -errno. */
int lhi_attempt_take(struct lhi_attempt *a, uint64_t w);

#endif
