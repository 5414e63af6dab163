/* SPDX-License-Identifier: MIT */
/* Tickets, inside: see ticket.c.  All with lhi_live_lock() held. */
#ifndef LHI_TICKET_H
#define LHI_TICKET_H

#include <leasehold/ticket.h>
#include "live/live_set.h"
#include "op/acquire_attempt.h"
#include "op/handoff.h"
#include "op/shim_request.h"
#include "op/idempotency.h"

enum lhi_ticket_state { T_WAITS, T_GRANTED, T_FAILED };

/* The step of a ticket in T_WAITS. */
enum lhi_ticket_phase {
	T_ASKS,	  /* does its request, or holder, have the key already?
		   * ticket_options.c */
	T_ASKS_SHIM, /* the right to a cluster key: ticket_cluster.c */
	T_QUEUES, /* the key */
	T_HAS	  /* to be handed over to its session */
};

struct lh_ticket {
	RB_ENTRY(lh_ticket) timer;	/* while it is `timed` */
	TAILQ_ENTRY(lh_ticket) all;
	struct lh *lh;		/* NULL: closed */
	uint32_t epoch;
	enum lhi_ticket_state state;
	enum lhi_ticket_phase phase;
	bool timed;
	bool parked;
	bool listens;		/* to its attachment's doorbell */
	bool keep;
	bool bare;		/* a permit's: semaphore.c handles the
				 * options */
	bool answers;		/* its request, or holder, waits for its
				 * result */
	bool repeats;		/* granted to the same request before: it is
				 * not ours to release */
	int error;		/* T_FAILED: why */
	int64_t due_ns;		/* CLOCK_MONOTONIC */
	struct lhi_acquire_request ask;	/* .more is this: */
	struct lh_acquire_more more;
	struct lh_session session;	/* more.session: our own handle */
	struct lhi_request request;
	char info[LH_INFO_MAX + 1];
	struct lhi_shim_request *shim_request;	/* with the shim; or NULL */
	uint32_t shim_looks;	/* how often it was checked, */
	uint32_t shim_losses;	/* and how often the right was lost before */
	bool bad_place;		/* the token did not belong to the right */
	struct lhi_attempt a;
	struct lh_lease lease;
	struct lhi_readable fd;	/* fd -1: not requested */
	shm_u32 *park;		/* of a waiter for several tickets; or NULL */
	struct lhi_key_name name;
	struct lhi_ref ref;	/* the key's place when it was looked up */
	char detail[200];	/* T_FAILED: in words */
	char key[];		/* then the holder id and the value */
};

/* Returns a new ticket, which waits from now on; free() ends it. */
void lhi_ticket_add(struct lh_ticket *t);
void lhi_ticket_discard(struct lh_ticket *t);

/* Does one round of one that waits: then it is parked, or has ended. */
void lhi_ticket_advance(struct lh_ticket *t);

/* Ends its wait or its lease. */
void lhi_ticket_end(struct lh_ticket *t);

/*
 * As lh_acquire_start(), the lock not held, with checked options.  `park`
 * belongs to a thread that sleeps until one of several tickets ends, and is set
 * to AWAKE then; that thread handles the rarer options.
 */
int lhi_ticket_start(struct lh *lh, const char *key,
    const struct lhi_acquire_request *ask, bool keep, shm_u32 *park,
    struct lh_ticket **out);

/* Checks one ticket that is due; false: there is none.  Returns when one will
 * be due (CLOCK_MONOTONIC; INT64_MAX: none will). True if one will. */
bool lhi_ticket_serve(void);
int64_t lhi_ticket_next_ns(void);
bool lhi_ticket_has_due(void);

/* Handles a ring of that attachment's doorbell. */
void lhi_ticket_wake_rung(struct lh *lh);

/* Ends the tickets of an attachment that closes. */
void lhi_ticket_closing(struct lh *lh);

/* True if it has ended. (The lock not held.) */
bool lhi_ticket_is_settled(struct lh_ticket *t);

/* Clears the list in a forked child. */
void lhi_ticket_forget(void);

/* ticket_options.c.  Returns how many bytes behind the key a copy of these
 * options takes.  Makes that copy, which the ticket uses from now on. */
size_t lhi_ticket_options_size(const struct lh_acquire_more *more);
void lhi_ticket_options_copy(struct lh_ticket *t,
    const struct lh_acquire_more *more);

enum { TICKET_QUEUE = 2 };	/* in addition to 0, WAITING and -errno */

/* Does T_ASKS. Returns TICKET_QUEUE: it is to queue for the key; 0: t->lease is
 * the lease that its request or holder has; WAITING; -errno. */
int lhi_ticket_options_ask(struct lh_ticket *t);

/* After the grant: hands the lease over and sets its value.  Returns 0;
 * WAITING; -errno: the lease was released. */
int lhi_ticket_options_grant(struct lh_ticket *t);

/* Reports the ticket's outcome, 0 or -errno, to its request or holder. */
void lhi_ticket_options_finish(struct lh_ticket *t, int error);

/*
 * ticket_cluster.c.  Asks the shim for the right to a cluster key.
 * TICKET_QUEUE: it is to queue for the key; WAITING: call again in
 * lhi_ticket_cluster_retry_ns(); -errno.
 */
int lhi_ticket_cluster_advance(struct lh_ticket *t);
int64_t lhi_ticket_cluster_retry_ns(const struct lh_ticket *t);

/* After the grant in the table: checks the right.  Returns 0; WAITING: the
 * lease was released and the shim is asked again; -errno. */
int lhi_ticket_cluster_confirm(struct lh_ticket *t);

/* Ends the request to the shim, if there is one. */
void lhi_ticket_cluster_end(struct lh_ticket *t);

#endif
