/* SPDX-License-Identifier: MIT */
/* The lock word of a key: what it says, and freeing it for who is gone. */
#ifndef LHI_LOCK_H
#define LHI_LOCK_H

#include "shm/view.h"

/*
 * Bring the word up to date at time now_ns (precise clock): while its holder is
 * past its deadline, ended or dead, free it and wake who is next.  With
 * `probe`, asks the kernel whether a holder that looks alive is.  *word is what
 * it then was.  0; -EUCLEAN.
 */
int lhi_lock_settle(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    bool probe, uint64_t *word);

/*
 * Free the word of the slot that claim ci last announced, if that names it.
 * Only for a claim that is terminal or its session's, dead, and that nobody can
 * use again meanwhile: its owner's own, or one that is being buried.  (Anybody
 * else would have to load the word before seeing the claim terminal, C3.)
 */
void lhi_lock_free_for(struct lhi_view *v, uint32_t ci, enum lhi_cause cause);

/* The token of the word's version. */
uint64_t lhi_lock_token(struct shm_slot *s, uint64_t word);

#endif
