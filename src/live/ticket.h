/* SPDX-License-Identifier: MIT */
/* Tickets, inside: see ticket.c.  All with lhi_live_lock() held. */
#ifndef LHI_TICKET_H
#define LHI_TICKET_H

#include <leasehold/ticket.h>
#include "live/live.h"
#include "op/attempt.h"

enum lhi_ticket_state { T_WAITS, T_GRANTED, T_FAILED };

struct lh_ticket {
	RB_ENTRY(lh_ticket) timer;	/* while it is `timed` */
	TAILQ_ENTRY(lh_ticket) all;
	struct lh *lh;		/* NULL: closed */
	uint32_t epoch;
	enum lhi_ticket_state state;
	bool timed;
	bool parked;
	bool keep;
	int error;		/* T_FAILED: why */
	int64_t due_ns;		/* CLOCK_MONOTONIC */
	struct lhi_ask ask;	/* .more is this: */
	struct lh_acquire_more more;
	char info[LH_INFO_MAX + 1];
	struct lhi_attempt a;
	struct lh_lease lease;
	struct lhi_readable fd;	/* fd -1: nobody wants one */
	shm_u32 *park;		/* of who waits for several; or NULL */
	struct lhi_name name;
	char detail[200];	/* T_FAILED: in words */
	char key[];
};

/* A new ticket, which waits from now on; one that is free()d. */
void lhi_ticket_add(struct lh_ticket *t);
void lhi_ticket_discard(struct lh_ticket *t);

/* Its attempt begins, or (its key is another slot's now) anew.  0; -errno. */
int lhi_ticket_begin(struct lh_ticket *t, const struct lhi_ref *ref);

/* One round of one that waits: then it is parked, or has come to an end. */
void lhi_ticket_look(struct lh_ticket *t);

/* It waits or holds no more. */
void lhi_ticket_end(struct lh_ticket *t);

/* Can that be asked for by a ticket?  0; -EOPNOTSUPP. */
int lhi_ticket_may_ask(const struct lh_acquire_more *m);

/* As lh_acquire_start(), the lock not held.  `park` (or NULL) is of somebody
 * who sleeps until one of several tickets comes to an end: it is AWAKE then. */
int lhi_ticket_start(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, shm_u32 *park,
    struct lh_ticket **out);

/* Look at one ticket that is due; false: none is.  When will one be?
 * (CLOCK_MONOTONIC; INT64_MAX: none waits.)  Are there any? */
bool lhi_ticket_serve(void);
int64_t lhi_ticket_next_ns(void);
bool lhi_ticket_any(void);

/* That attachment was rung at. */
void lhi_ticket_rung(struct lh *lh);

/* The attachment is about to go. */
void lhi_ticket_closing(struct lh *lh);

/* Has it come to an end?  (The lock not held.) */
bool lhi_ticket_settled(struct lh_ticket *t);

/* In a forked child. */
void lhi_ticket_forget(void);

#endif
