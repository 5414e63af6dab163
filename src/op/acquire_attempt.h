/* SPDX-License-Identifier: MIT */
/*
 * One attempt to acquire on the slow path: acquire_wait.c waits, acquire_slow.c
 * takes.  Tickets and upgrades use it, too.
 */
#ifndef LHI_ACQUIRE_ATTEMPT_H
#define LHI_ACQUIRE_ATTEMPT_H

#include "op/acquire.h"
#include "op/deadlock.h"
#include "op/death_hint.h"
#include "op/wait_watch.h"
#include "shm/session_named.h"

enum {				/* besides 0 and -errno */
	WAITING = 1,
	READER_DEFERRED = 4		/* a reader must wait as a writer while
					 * others hold the key */
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
	bool lost;		/* was woken, and another process was faster */
	bool starving;
	bool spun;		/* has spun since the last sleep */
	bool probed;		/* has probed since the last sleep */
	bool threadless;	/* the session's doorbell announces its turn */
	bool reader_deferred;	/* a reader that waits as a writer */
	uint64_t deferred_in;	/* token range in which the other readers are */
	uint64_t token;		/* token of the grant that is attempted */
	uint32_t notes;		/* LH_NOTE_... of that grant */
	int64_t front_since_ns;	/* since when it is the first; 0: it is not */
	int64_t probed_ns;	/* when it last probed the holder */
	int64_t queued_ns;	/* when it began to wait */
	int64_t stale_check_ns;	/* when to check that the table exists */
	int64_t wake_ns;	/* parked: when to look again at the latest */
	uint64_t w;		/* the word at the last look */
	struct lhi_wait_watch watch; /* its part, when it last went to sleep */
	struct lhi_deadlock dead;
	struct lhi_death_hint hint; /* of the holder, while it is the first */
};

/* Begins an attempt with a claim of that claim cache, which it keeps until it
 * is granted or withdrawn.  Keeps the pointers ref, ask and lease.  Returns 0;
 * -ENOMEM (also if m is NULL), -ENOSPC or -EUCLEAN. */
int lhi_attempt_begin(struct lhi_attempt *a, struct lh *lh,
    struct lhi_claim_cache *m, const struct lhi_ref *ref,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Withdraws an attempt that failed with `error`, and leaves no trace (guarantee
 * G8). */
void lhi_attempt_withdraw(struct lhi_attempt *a, int error);

/*
 * acquire_wait.c in steps, for a wait without a thread to sleep in:
 *
 * 1. A round: 0 if granted; WAITING if queued; -errno or KEY_GONE: withdraw.
 * 2. Park.  If it returns true, nothing is to be done until claim.park is
 *    neither ASLEEP nor QUIET, or until wake_ns.
 * 3. Unpark, and the next round.
 */
int lhi_attempt_round(struct lhi_attempt *a);
bool lhi_attempt_park(struct lhi_attempt *a);
void lhi_attempt_unpark(struct lhi_attempt *a);

/* Returns the named session into which it acquires, or 0.  The wait shows it in
 * claim.grant (inspect/waits_for.c). */
uint64_t lhi_attempt_session(const struct lhi_attempt *a);

/* Announces the claim in a new use, in that state. */
void lhi_attempt_announce(struct lhi_attempt *a, unsigned st,
    uint64_t deadline);

/* acquire_left.c: notes that the thread is about to wait, with its cancel state
 * before; and that it has returned from the wait. */
void lhi_attempt_note_wait(struct lhi_attempt *a, int cancel_state);
void lhi_attempt_note_return(struct lhi_attempt *a);

/* Leaves the queue, if it is in it, and wakes the new first waiter. */
void lhi_attempt_leave_queue(struct lhi_attempt *a);

/* acquire_spin.c: spins for a moment, until the word is not w or somebody has
 * queued before us. */
void lhi_attempt_spin(struct lhi_attempt *a, uint64_t w);

/* Tries to take the lock, whose word w allows it.  Returns 0 if granted;
 * WAITING; READER_DEFERRED; -errno. */
int lhi_attempt_take(struct lhi_attempt *a, uint64_t w);

#endif
