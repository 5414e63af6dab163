/* SPDX-License-Identifier: MIT */
/* The flight recorder: writing and reading events.  See events.c. */
#ifndef LHI_EVENTS_H
#define LHI_EVENTS_H

#include <leasehold/log.h>
#include "shm/view.h"

/* An event without its time. */
struct lhi_event {
	unsigned kind;		/* enum lh_log_kind */
	unsigned mode;		/* 0 exclusive, 1 shared */
	unsigned cause;		/* enum lhi_cause */
	bool visitor;		/* read: of who has no session */
	uint32_t other;		/* 1 + a session's record; 0: none */
	uint32_t claim;		/* or, with other, lhi_event_tag() of that */
	uint64_t hash;
	uint64_t token;
};

/* Give the viewer a ring to write to.  Without memory for one it does without.
 * fd is a descriptor of the object. */
void lhi_event_open(struct lhi_view *v, int fd);

/* Records an event about the slot's key, with that token, or 0. */
void lhi_event_key(struct lhi_view *v, unsigned kind, const struct shm_slot *s,
    uint64_t token);

/* Records an event about a lease or wait of the viewer's own. */
void lhi_event_lease(struct lhi_view *v, unsigned kind, bool shared,
    const struct shm_slot *s, uint32_t ci, uint64_t token, unsigned cause);

/* Returns an event's mark of the session that it is about. */
static inline uint32_t
lhi_event_tag(uint64_t sid, bool named)
{
	return (uint32_t)(sid_inc(sid) & MASK(CLAIM_BITS - 1)) << 1 | named;
}

/* Records that the viewer has handed a lease over to that session; the token is
 * the new one. */
void lhi_event_handed_over(struct lhi_view *v, bool shared,
    const struct shm_slot *s, uint64_t to, uint64_t token);

/* Records that the viewer ended the hold of claim ci, of any session.  (By
 * CAUSE_RELEASED: because its session was destroyed.) */
void lhi_event_ended(struct lhi_view *v, unsigned cause, uint32_t ci,
    uint64_t token);

/* Records the identity of the viewer's new session, in two events. */
void lhi_event_begin(struct lhi_view *v, uint64_t sid);

/* Records an event about a session, perhaps the viewer's own. */
void lhi_event_session(struct lhi_view *v, unsigned kind, uint64_t sid);

/* Reads slot i of a copied ring: its event, its time, and its number among all
 * that were ever written there.  False: there is none, or it is torn. */
bool lhi_event_read(const struct shm_ring *r, uint32_t i, struct lhi_event *e,
    int64_t *time_ns, uint64_t *number);

#endif
