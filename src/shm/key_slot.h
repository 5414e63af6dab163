/* SPDX-License-Identifier: MIT */
/* Keys: from name to slot.  See key_slot.c. */
#ifndef LHI_KEY_SLOT_H
#define LHI_KEY_SLOT_H

#include "shm/key_bytes.h"

struct lhi_ref {
	struct shm_slot *slot;
	uint64_t slot_ref;	/* its index, and which life of it */
};

/* The slot of a home, which lhi_slot() has seen to be in range before. */
static inline struct lhi_ref
lhi_ref_at(const struct lhi_view *v, uint64_t slot_ref)
{
	return (struct lhi_ref){ &v->slots[(uint32_t)slot_ref], slot_ref };
}

/* 1 found, 0 no such key, -EUCLEAN. */
int lhi_slot_find(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref);

/*
 * Find, or make.  `ci` is a free claim of the caller's own claim cache: what is
 * being made is announced in it, and it is free again afterwards.
 * 0; -ENOSPC; -EUCLEAN.
 */
int lhi_slot_make(struct lhi_view *v, const struct lhi_key_name *n, uint32_t ci,
    struct lhi_ref *ref);

/*
 * Of a slot that is being made: bring hint and word up to the floor of its key,
 * and make the word FREE.  Before each attempt to link it.  0; -EUCLEAN.
 */
int lhi_slot_publish(struct lhi_view *v, struct shm_slot *s);

/*
 * An ordinary slot is to have that token, though nobody is granted it: the
 * ceiling goes before it, as for a grant (op/token_ceiling.c).  Not at the very
 * end of all tokens, where nothing is granted, nor in a table that was removed.
 */
void lhi_slot_cover(struct lhi_view *v, uint64_t token);

/* Give the key a flag (KEY_KEPT, KEY_LOCAL).  False: it is gone already. */
bool lhi_slot_flag(const struct lhi_ref *ref, uint32_t flag);

/* Take KEY_KEPT from the key again, if it is there still: it was. */
bool lhi_slot_unkeep(const struct lhi_ref *ref);

/* Has the key, in that life, been granted in scope local? */
static inline bool
lhi_slot_local(const struct lhi_ref *ref)
{
	uint32_t info = sh32_load(&ref->slot->key_info);

	return (info & KEY_LOCAL) &&
	       ((info ^ KEY_LIFE((uint32_t)(ref->slot_ref >> 32))) &
		   ~KEY_SAID) == 0;
}

/* Finish or undo what a dead session's INSERT claim announced. */
int lhi_slot_settle_insert(struct lhi_view *v, uint32_t ci);

#endif
