/* SPDX-License-Identifier: MIT */
/* Named sessions: see session_named.c. */
#ifndef LHI_SESSION_NAMED_H
#define LHI_SESSION_NAMED_H

#include "shm/session_bound.h"
#include "shm/session_facts.h"
#include "shm/session_liveness.h"

/* The properties of a new session. */
struct lhi_named_wish {
	const char *name;	/* 1 .. 31 bytes */
	uint64_t maker;		/* ends with that session; or 0 */
	uint32_t ttl_ms;	/* 0: bound.pid is set */
	struct lhi_bound bound;	/* all 0: to no process */
	uint32_t lock_delay_ms;
	uint32_t on_end;	/* NAMED_DELETE, or 0 */
};

#define NAMED_DELAY_MAX_MS 600000u

/* Finds the living session of that name. Returns 1, *sid; or 0. */
int lhi_named_find(struct lhi_view *v, const char *name, uint64_t *sid);

/* Makes it.  Returns 0; -EEXIST: *sid is the existing one; -ENOSPC; -EAGAIN:
 * others keep making and ending it; -EUCLEAN; -errno. */
int lhi_named_make(struct lhi_view *v, const struct lhi_named_wish *wish,
    uint64_t *sid);

/* Renews it for its ttl, from now on at least. Returns 0; -ESTALE. */
int lhi_named_renew(struct lhi_view *v, uint64_t sid);

/* Ends it. True if this call did. */
bool lhi_named_end(struct lhi_view *v, uint64_t sid);

/* The same for all that end with that session, which closes. */
void lhi_named_end_made_by(struct lhi_view *v, uint64_t maker);

/*
 * Returns its name, and its end, in table time; for people.  False: it is gone.
 */
bool lhi_named_describe(const struct lhi_view *v, uint64_t sid,
    char name[NAMED_NAME_MAX + 1], int64_t *until_ns);

/* True if a NAMED record, or one that was, fits its sum, and its end is its own
 * and a possible one, as far as its clock can be asked. */
bool lhi_named_sound(const struct lhi_view *v, uint32_t idx);

/* True if the slot's delay is one that somebody has set, or none. */
bool lhi_named_delay_sound(const struct shm_slot *s);

/* Returns the cause of a FREE word that was freed for that dead session. */
enum lhi_cause lhi_named_cause(const struct lhi_view *v, uint64_t sid);

/* Before a word that a claim of the dead session holds exclusively is freed:
 * sets the key's delay, if the session has a lock-delay. */
void lhi_named_delay(struct lhi_view *v, struct shm_slot *s, uint64_t sid);

/* Returns the lock-delay of that named session, in ms; 0: it has none. */
uint32_t lhi_named_delay_of(const struct lhi_view *v, uint64_t sid);

/*
 * As lhi_named_delay(), for a caller that had read the delay before the session
 * ended.  If its record is another's by now, it may have been destroyed or not.
 */
void lhi_named_delay_late(struct lhi_view *v, struct shm_slot *s, uint64_t sid,
    uint32_t ms);

/* The same where a reader of the dead session, in state st, is taken out, if it
 * was being downgraded: the session may have ended before the outcome. */
void lhi_named_delay_moved(struct lhi_view *v, uint32_t ci, uint64_t st);

/* The same for claim ci, whose session has ended, perhaps without a mark, and
 * which is about to be repaired, if it held a key. */
void lhi_named_delay_for_repair(struct lhi_view *v, uint32_t ci);

/* Returns the flags of a claim in state st that is moving in that use. */
static inline uint32_t
lhi_named_mark(uint64_t st)
{
	return CLAIM_MOVING | (uint32_t)(state_seq(st) &
	    MASK(MOVING_USE_BITS)) << MOVING_USE_SHIFT;
}

/* True if in state st it is being handed over, or downgraded, or freed; or was
 * so when its process was killed. */
static inline bool
lhi_named_moving(const struct lhi_view *v, uint32_t ci, uint64_t st)
{
	return (sh32_load(&v->claims[ci].wflags) & MOVING_MASK) ==
	    lhi_named_mark(st);
}

/* Returns for how long, in ns, the key of that FREE word is delayed; 0: it is
 * not. */
int64_t lhi_named_delayed(const struct lhi_view *v, const struct shm_slot *s,
    uint64_t w);

/* True if that is a named session that is dead, and its keys are removed with
 * it. */
bool lhi_named_deletes(const struct lhi_view *v, uint64_t sid);

/* True if a chunk's keeper, that session, certainly takes no claim any more. */
bool lhi_named_keeper_gone(struct lhi_view *v, uint64_t keeper);

/* True if the dead session's chunk may not be reclaimed now. */
bool lhi_named_kept(struct lhi_view *v, uint32_t ch);

#endif
