/* SPDX-License-Identifier: MIT */
/* Keys: from name to slot.  See key_slot.c. */
#ifndef LHI_KEY_SLOT_H
#define LHI_KEY_SLOT_H

#include <errno.h>
#include "shm/key_index.h"

/* lhi_slot_find(), after it found a slot without a key: ref->slot. */
int lhi_slot_find_again(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref);

/* Finds a key by name. Returns 1: found, 0: no such key, -EUCLEAN. */
static inline int
lhi_slot_find(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref)
{
	int found = lhi_index_find(v, n, ref);

	return found != -EAGAIN ? found : lhi_slot_find_again(v, n, ref);
}

/* Publishes slot s, which holds the key n, and links it.  Returns 0; 1: another
 * process has made that key, *ref is its place; -EUCLEAN. */
int lhi_slot_insert(struct lhi_view *v, struct shm_slot *s,
    const struct lhi_key_name *n, struct lhi_ref *ref);

/* Gives the key a flag (KEY_KEPT, KEY_LOCAL). Returns false if it is gone. */
bool lhi_slot_flag(struct lhi_view *v, const struct lhi_ref *ref,
    uint32_t flag);

/* Clears KEY_KEPT, if the key still exists. True if it was set. */
bool lhi_slot_unkeep(struct lhi_view *v, const struct lhi_ref *ref);

/* True if the key, in that life, was granted in scope local. */
static inline bool
lhi_slot_local(const struct lhi_ref *ref)
{
	uint32_t info = sh32_load(&ref->slot->key_info);

	return (info & KEY_LOCAL) &&
	       ((info ^ KEY_LIFE((uint32_t)(ref->slot_ref >> 32))) &
		   ~KEY_SAID) == 0;
}

/* Makes slot s UNUSED again, if claim ci is making it and it is not linked.
 * 0; -EUCLEAN. */
int lhi_slot_undo(struct lhi_view *v, struct shm_slot *s, uint32_t ci);

/* Finishes or undoes the key that a dead session's INSERT claim announced. */
int lhi_slot_settle_insert(struct lhi_view *v, uint32_t ci);

#endif
