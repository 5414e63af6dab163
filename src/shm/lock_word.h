/* SPDX-License-Identifier: MIT */
/* The lock word of a key: what it says, and freeing it for who is gone. */
#ifndef LHI_LOCK_WORD_H
#define LHI_LOCK_WORD_H

#include "shm/view.h"

/* What lhi_lock_settle() is to do beside expiring and helping. */
#define SETTLE_PROBE	0x1u	/* ask the kernel whether who looks alive is */
#define SETTLE_READERS	0x2u	/* readers too: idle ones are in the way */

/*
 * Bring the word up to date at time now_ns (precise clock): while its holder is
 * past its deadline, ended or dead, free it and wake who is next.  Of readers
 * only as many are looked at as stand before the first live one.  *word is what
 * it then was.  0; -EUCLEAN.
 */
int lhi_lock_settle(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    unsigned how, uint64_t *word);

/*
 * The same for a word S that was just loaded, at its head only: 1 it was taken
 * out; 0 it lives, or the word has another mode; -EINTR somebody else was
 * quicker, look again; -EAGAIN the same, or claim and word do not fit;
 * -EUCLEAN.  now_ns INT64_MIN: nobody is made to expire.
 */
int lhi_lock_settle_head(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns, unsigned how);

/*
 * How did claim ci's hold end, which a word or a chain names?  1: *cause says;
 * 2: the same, by somebody who has not finished; 0: it did not, the claim
 * lives; -EINTR: somebody else was quicker to change its state, look again;
 * -EAGAIN: claim and word do not fit, look again.  Past its deadline it is made
 * EXPIRED here, idle (with SETTLE_READERS) REVOKED.
 */
int lhi_lock_judge(struct lhi_view *v, uint32_t ci, int64_t now_ns,
    unsigned how, enum lhi_cause *cause);

/* Counts and records the end of claim ci's hold, which was judged so and which
 * the caller has freed or marked.  token: 0 of a reader. */
void lhi_lock_report_end(struct lhi_view *v, uint32_t ci, int judged,
    enum lhi_cause cause, uint64_t token);

/* The word that is left when reader ci has gone: S(next), or FREE. */
uint64_t lhi_lock_without(struct lhi_view *v, const struct shm_slot *s,
    uint64_t w, uint32_t ci, uint32_t next);

/*
 * Free the word of the slot that claim ci last announced, if that names it as
 * exclusive holder.  Only for a claim that is terminal or its session's, dead,
 * and that nobody can use again meanwhile: its owner's own, or one that is
 * being buried.  (Anybody else would have to load the word before seeing the
 * claim terminal, C3.)
 */
bool lhi_lock_free_for(struct lhi_view *v, uint32_t ci, enum lhi_cause cause);

/* The token of the word's version. */
uint64_t lhi_lock_token(struct shm_slot *s, uint64_t word);

#endif
