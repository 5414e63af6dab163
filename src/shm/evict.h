/* SPDX-License-Identifier: MIT */
/* Keys that go, to make room: see evict.c. */
#ifndef LHI_EVICT_H
#define LHI_EVICT_H

#include "shm/view.h"

/*
 * Evict slot s if its word still is w, FREE, nobody waits for it and it is not
 * kept.  1: it is gone; 0: it stays; -EUCLEAN.
 */
int lhi_evict_slot(struct lhi_view *v, struct shm_slot *s, uint64_t w);

/*
 * Whoever makes room: evict slot idx if it is idle; with `spare`, only if
 * nobody has used it since an earlier such look.  1 there is nothing in it now,
 * 0 it is in use, -EUCLEAN.
 */
int lhi_evict_idle(struct lhi_view *v, uint32_t idx, int64_t now_ns,
    bool spare);

/* How many keys are spared in that way before anything idle is taken. */
#define LHI_SPARES 1024u

/*
 * The word, into *w; whoever is past the deadline, or idle, is no hindrance.
 * 0; -EUCLEAN.
 */
int lhi_evict_revoke(struct lhi_view *v, struct shm_slot *s, uint64_t *w);

/*
 * Complete an eviction that somebody began, as far as the slot is in one.
 * 1: somebody came to wait, and it is a key again; else 0; -EUCLEAN.
 */
int lhi_evict_finish(struct lhi_view *v, struct shm_slot *s);

/*
 * For how long, in ms, has this word been free (or held by readers), with claim
 * `first` (or nobody) the first in its queue?  What it was at an earlier look
 * is kept in the slot, so that whoever comes and goes notices as well: {low
 * bits of ver: 9, free: 1, claim: 22, ms: 32}.  (The last reader to leave does
 * not change ver.)  A hint: any value is safe.  0 at the first look.
 */
uint32_t lhi_idle_ms(struct shm_slot *s, uint64_t w, uint32_t first,
    int64_t now_ns);

#endif
