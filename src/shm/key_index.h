/* SPDX-License-Identifier: MIT */
/* The list of all keys, and the short cuts into it: see key_index.c. */
#ifndef LHI_KEY_INDEX_H
#define LHI_KEY_INDEX_H

#include "shm/key_bytes.h"

/*
 * 1 found, and *ref says where; 0 no such key; -EAGAIN: ref->slot may be it,
 * and is no key now: complete its eviction, and try again (lhi_slot_find()
 * does); -EUCLEAN.
 */
int lhi_index_find(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref);

/*
 * Publishes slot s, which holds the key n, and links it.  0; 1: another process
 * has made that key, *ref says where; -EAGAIN: as above; -EUCLEAN.
 */
int lhi_index_insert(struct lhi_view *v, struct shm_slot *s,
    const struct lhi_key_name *n, struct lhi_ref *ref);

/*
 * Is the slot in the list, as a key of that hash?  If its link is marked, it is
 * unlinked first.  1, 0, -EUCLEAN.
 */
int lhi_index_linked(struct lhi_view *v, struct shm_slot *s, uint64_t hash);

/*
 * For the checker: fn gets each linked slot between bucket b and the next one,
 * and returns false to stop.  0; -EAGAIN: the list moved; -ENOENT: b has not
 * been made; -EUCLEAN.
 */
int lhi_index_walk(struct lhi_view *v, uint32_t b,
    bool (*fn)(struct lhi_view *v, uint32_t idx, void *arg), void *arg);

#endif
