/* SPDX-License-Identifier: MIT */
/* The list of all keys, and the short cuts into it: see key_index.c. */
#ifndef LHI_KEY_INDEX_H
#define LHI_KEY_INDEX_H

#include "shm/key_bytes.h"

/*
 * Returns 1: found, *ref is its place; 0: no such key; -EAGAIN: ref->slot may
 * be it, and has no key now: complete its eviction, and try again
 * (lhi_slot_find() does); -EUCLEAN.
 */
int lhi_index_find(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref);

/* Publishes slot s, which holds the key n, and links it.  Returns 0; 1: another
 * process has made that key, *ref is its place; -EAGAIN: as above; -EUCLEAN. */
int lhi_index_insert(struct lhi_view *v, struct shm_slot *s,
    const struct lhi_key_name *n, struct lhi_ref *ref);

/* True if the slot is in the list, as a key of that hash.  If its link is
 * marked, it is unlinked first.  Returns 1, 0, -EUCLEAN. */
int lhi_index_linked(struct lhi_view *v, struct shm_slot *s, uint64_t hash);

/*
 * For the checker: calls fn with each linked slot between bucket b and the next
 * one, until it returns false.  Returns 0; -EAGAIN: the list changed; -ENOENT:
 * b has not been made; -EUCLEAN.
 */
int lhi_index_walk(struct lhi_view *v, uint32_t b,
    bool (*fn)(struct lhi_view *v, uint32_t idx, void *arg), void *arg);

#endif
