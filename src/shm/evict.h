/* SPDX-License-Identifier: MIT */
/* Removal of unused keys, to make room: see evict.c. */
#ifndef LHI_EVICT_H
#define LHI_EVICT_H

#include "shm/view.h"

/* Evicts slot s if its word still is w, FREE, and it has no waiter and is not
 * kept.  Returns 1: it is gone; 0: it stays; -EUCLEAN. */
int lhi_evict_slot(struct lhi_view *v, struct shm_slot *s, uint64_t w);

/* Evicts slot idx if it is idle; with `spare`, only if it was not used since an
 * earlier such call.  Returns 1: it is empty now; 0: it is in use; -EUCLEAN. */
int lhi_evict_idle(struct lhi_view *v, uint32_t idx, int64_t now_ns,
    bool spare);

/* How many keys are spared in that way before any idle one is taken. */
#define LHI_SPARES 1024u

/* Reads the word, into *w.  A holder past its deadline, or an idle reader, does
 * not count.  Returns 0; -EUCLEAN. */
int lhi_evict_revoke(struct lhi_view *v, struct shm_slot *s, uint64_t *w);

/* Completes an eviction that was begun, as far as the slot is in one.  Returns
 * 1: a waiter arrived, and it is a key again; else 0; -EUCLEAN. */
int lhi_evict_finish(struct lhi_view *v, struct shm_slot *s);

/*
 * Returns for how long, in ms, this word has been free (or held by readers),
 * with claim `first` (or none) the first in its queue.  The state at an earlier
 * call is kept in the slot, so that short uses in between are noticed as well:
 * {low bits of ver: 9, free: 1, claim: 22, ms: 32}. (The last reader to leave
 * does not change ver.) A hint: any value is safe.  0 at the first call.
 */
uint32_t lhi_idle_ms(struct shm_slot *s, uint64_t w, uint32_t first,
    int64_t now_ns);

#endif
