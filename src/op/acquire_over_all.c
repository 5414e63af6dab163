/* SPDX-License-Identifier: MIT */
/*
 * The straight path of an exclusive acquire where tokens rise over all keys
 * (LH_TOKENS_GLOBAL) and no fence file has ranges for them.
 *
 * It takes the steps of the slow path (token_next.c, acquire_slow.c) in the
 * same order, with the word that claim 0 remembers instead of one that it
 * loads:
 *
 *	1 load last_token; the token is the larger of that and the key's last
 *	  one, plus one
 *	2 swap last_token from the loaded value to the token
 *	3 announce the claim (claim #1)
 *	4 look at the wait queue, then swap the word
 *
 * The remembered word is the one that claim 0's last release wrote, so its
 * token is known exactly.  If step 4 succeeds, the key has not changed since
 * then: no version returns (live_lock.c, I1).
 *
 * Invariants.
 *  I1	Those of token_next.c ("Tokens that rise over all keys"): the draw is
 *	the same swap of the same word.
 *  I2	The token is below the ceiling: m->over_all is the last one below a
 *	ceiling that was read earlier, and that only rises.  A last_token at or
 *	beyond it takes the slow path, which raises the ceiling or reports
 *	damage.
 *  I3	The slot's hint is at most TOKEN_LAG_MAX behind the token, so the pair
 *	of version and hint gives it (amendment C6), and the jump is short.  The
 *	hint is loaded after the word was remembered.  It may be another life's;
 *	then step 4 fails.  A key that lags takes the slow path, which moves the
 *	hint.
 *  I4	No grant of a removed table (table_revoke.c, I1): as in
 *	lhi_swap_usual().
 *
 * A crash (K) or stop (Z) after step 2: crash row L1; after step 3: A1; after
 * step 4: A2.  A draw that another process's draw has overtaken is not repeated
 * here; the slow path draws again.
 *
 * Model: token_global.pml, with -DKEEPS.
 */
#include "op/acquire_straight.h"
#include "op/token_ceiling.h"

enum lhi_how
lhi_swap_over_all(struct lhi_claim_cache *m)
{
	struct lhi_cached_claim *r = &m->rec[0];
	struct shm_header *hdr = m->lh->v.hdr;
	struct shm_slot *s = r->slot;
	uint64_t w = r->word, id = r->id + 1, last, token, held;

	if ((w & WORD_LOW) != word_make(WORD_FREE, CAUSE_RELEASED, 0) ||
	    lid_seq(id) == 0 || lhi_mutant_on(use_number))
		return UNTOUCHED;
	last = sh64_load(&hdr->last_token);
	token = last > r->token && !lhi_mutant_on(over_one) ? last : r->token;
	if (token >= m->over_all && !lhi_mutant_on(over_ceiling))
		return UNTOUCHED;
	token++;
	if (token - sh64_load_rlx(&s->hint) > TOKEN_LAG_MAX &&
	    !lhi_mutant_on(over_lag))
		return UNTOUCHED;
	lhi_point("fence.drawing");
	if (lhi_mutant_on(over_stored))
		sh64_store(&hdr->last_token, token);
	else if (!sh64_cas(&hdr->last_token, last, token))
		return UNTOUCHED;
	lhi_point("fence.drawn");
	sh64_store(&m->claims->state, (r->id << SEQ_SHIFT) +
	    m->announce);					/* claim #1 */
	lhi_point("acquire.announced");
	if (lhi_queue_stops(sh64_load(&s->waitq)) && !lhi_mutant_on(over_queue))
		return OUTDONE;
	lhi_point("acquire.looked");
	held = token << VER_SHIFT | r->held_low;
	if (!sh64_cas(&s->word, w, held))
		return OUTDONE;
	lhi_point("acquire.granted");
	r->word = held;
	r->id = id;
	r->token = token;
	return GRANTED;
}

enum lhi_how
lhi_acquire_over_all(struct lhi_claim_cache *m, const struct lh *now,
    const struct lh *lh, uint64_t slot_ref, struct lh_lease *l)
{
	enum lhi_how how;

	if (m->over_all == 0 || now != lh || slot_ref != m->rec[0].slot_ref ||
	    m->rec[0].use != CACHED_FREE)
		return UNTOUCHED;
	how = lhi_swap_over_all(m);
	return unlikely(how != GRANTED) ? how : lhi_fill_straight(m, l);
}
