/* SPDX-License-Identifier: MIT */
/* Notes of holders that did not release a key: see consistency.c. */
#ifndef LHI_CONSISTENCY_H
#define LHI_CONSISTENCY_H

#include "shm/view.h"

/* slot.consistency: kind:2, version of the grant that wrote it:30; 0: none */
enum lhi_consistency {
	CONSISTENCY_NONE = 0,
	CONSISTENCY_IN_USE = 1,	/* a robust holder is at work, or did not
				 * release it */
	CONSISTENCY_LOST = 2,	/* the note stands; the holder found it */
	CONSISTENCY_LOST_ROBUST = 3	/* the same, and the holder is robust */
};

#define CONSISTENCY_VER_BITS 30

static inline uint32_t
consistency_make(enum lhi_consistency kind, uint64_t ver)
{
	return (uint32_t)kind << CONSISTENCY_VER_BITS |
	    (uint32_t)(ver & MASK(CONSISTENCY_VER_BITS));
}

static inline enum lhi_consistency
consistency_kind(uint32_t c)
{
	return (enum lhi_consistency)(c >> CONSISTENCY_VER_BITS);
}

/* True if the key has a note: of a robust holder, or of an inconsistency. */
static inline bool
lhi_consistency_noted(const struct shm_slot *s)
{
	return sh32_load(&s->consistency) != 0;
}

/* True if the note says "inconsistent": also if its grant has ended without a
 * release, the lock word being w. */
bool lhi_consistency_lost(const struct shm_slot *s, uint64_t w);

/* The caller has been granted the key exclusively with that token.  Writes
 * that, and returns whether the note says "inconsistent". */
bool lhi_consistency_grant(struct lhi_view *v, struct shm_slot *s,
    uint64_t token, bool robust);

/* Removes the note of the caller, which is about to release that grant. */
void lhi_consistency_release(struct shm_slot *s, uint64_t token);

/* Moves the note to the grant's new token: it was handed over. */
void lhi_consistency_follow(struct shm_slot *s, uint64_t from, uint64_t to);

/*
 * Sets *to to the note after the holder of that grant has declared the resource
 * consistent, the note being `is`. Returns false if there is nothing to
 * declare.
 */
bool lhi_consistency_marked(uint32_t is, uint64_t token, uint32_t *to);

#endif
