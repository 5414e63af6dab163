/* SPDX-License-Identifier: MIT */
/* The lock word of a key: reads it, and frees it if its holder is gone. */
#ifndef LHI_LOCK_WORD_H
#define LHI_LOCK_WORD_H

#include "shm/view.h"

/* Additional actions of lhi_lock_settle(), besides expiring and completing. */
#define SETTLE_PROBE	0x1u	/* ask the kernel whether sessions that seem
				 * alive are */
#define SETTLE_READERS	0x2u	/* readers too: idle ones count as ended */

/*
 * Brings the word up to date at time now_ns (precise clock): if its holder is
 * past its deadline, ended or dead, frees it and wakes the next waiter.  Of
 * readers it judges only those before the first live one.  *word is the
 * resulting word.  Returns 0; -EUCLEAN.
 */
int lhi_lock_settle(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    unsigned how, uint64_t *word);

/*
 * The same for a word S that was just loaded, at its head only.  Returns 1: it
 * was taken out; 0: it lives, or the word has another mode; -EINTR: another
 * process was quicker, look again; -EAGAIN: the same, or claim and word do not
 * fit; -EUCLEAN. now_ns INT64_MIN: no claim is made to expire.
 */
int lhi_lock_settle_head(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns, unsigned how);

/*
 * Judges how the hold of claim ci, which a word or a chain names, ended.
 * A claim past its deadline is made EXPIRED here, an idle one (with
 * SETTLE_READERS) REVOKED.  Returns
 *	1	*cause says
 *	2	the same, by a process that has not finished
 *	0	it did not end, the claim lives
 *	-EINTR	another process was quicker to change its state: look again
 *	-EAGAIN	claim and word do not fit: look again
 */
int lhi_lock_judge(struct lhi_view *v, uint32_t ci, int64_t now_ns,
    unsigned how, enum lhi_cause *cause);

/* Counts and records the end of claim ci's hold, which was judged so and which
 * the caller has freed or marked.  token: 0 for a reader. */
void lhi_lock_report_end(struct lhi_view *v, uint32_t ci, int judged,
    enum lhi_cause cause, uint64_t token);

/* Returns the word after reader ci has left: S(next), or FREE. */
uint64_t lhi_lock_without(struct lhi_view *v, const struct shm_slot *s,
    uint64_t w, uint32_t ci, uint32_t next);

/*
 * Frees the word of the slot that claim ci last announced, if that names it as
 * exclusive holder.  Only for a claim that is terminal or its session dead, and
 * that cannot be used again meanwhile: the caller's own, or one that is being
 * reclaimed.  (Any other caller would have to load the word before seeing the
 * claim terminal, amendment C3.)
 */
bool lhi_lock_free_for(struct lhi_view *v, uint32_t ci, enum lhi_cause cause);

/* The token of the word's version. */
uint64_t lhi_lock_token(struct shm_slot *s, uint64_t word);

#endif
