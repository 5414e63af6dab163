/* SPDX-License-Identifier: MIT */
/*
 * Takes a claim of a named session.  It answers the question: which process may
 * take one now?  handoff.c and live/ticket_options.c call it.
 *
 * No process owns a named session, and many use it.  So no claim cache has its
 * claims.  A claim may be taken from FREE only by a process that is alone in
 * doing so (amendment C2).  Therefore each chunk of the session has a keeper:
 *
 *	chunk.keeper	0: nobody takes claims from the chunk now; else the
 *			session id of an attachment, one thread of which does
 *
 * A process that wants a claim takes these steps:
 *
 * 1. Find a chunk of the session whose keeper is 0 or provably dead, and swap
 *    exactly that for itself.
 * 2. Check that the session lives and that the chunk still belongs to it.
 * 3. Take the claim, and hand the lease over to it.
 * 4. Set the keeper to 0.
 *
 * If there is no such chunk, or none has a free claim, the session gets another
 * chunk.  So nobody waits.  A stopped keeper blocks the free claims of one
 * chunk of 64, until it runs or dies.
 *
 * The end of a session.  A process that takes a claim becomes keeper, and then
 * checks whether the session has ended.  A process that reclaims the session
 * ends it, and then looks at the keepers (shm/session_named.c, I4).  A keeper
 * that was stopped before its swap may become keeper of a chunk that belongs to
 * another session by then.  It sees that, and leaves.
 *
 * Leases are released, extended, converted and handed on by exact swaps of the
 * claim's state, in any process, without the keeper.
 *
 * A crash of a keeper before it announced the claim leaves nothing.  After
 * that, the claim holds a lease, or is HELD, named by no word, and marked as
 * moving (shm/session_named_end.c).  The next keeper reclaims it, whatever its
 * deadline.
 */
#include <errno.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/claim_chunk.h"
#include "shm/session_liveness.h"
#include "op/handoff.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"

static int
fail_session_ended(struct lhi_view *v)
{
	return lhi_damaged_or(v, lhi_fail(-ESTALE, "the named session has "
	    "ended: open it anew"));
}

/*
 * Recovers a claim to or from which a killed process was handing over, or whose
 * lease it was releasing.  Then no word names it, and no chain has it, although
 * it is held; and none will, in this use: only the chunk's keeper, this
 * process, hands over to a claim of the chunk.
 */
static bool
reclaim_moving(struct lhi_view *v, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state), w;
	struct shm_slot *s;

	if (!state_held(st) || !lhi_named_moving(v, ci, st) ||
	    lhi_mutant_on(moving_stays))
		return false;
	s = lhi_slot(v, lhi_claim_slot(c));
	w = s == NULL ? 0 : sh64_load_sc(&s->word);
	lhi_point("tenant.judged");
	if (word_mode(w) == WORD_X && word_idx(w) == ci)
		return false;
	if (word_mode(w) == WORD_S && (lhi_readers_has(v, s, ci) != 0 ||
	    sh64_load(&s->word) != w))
		return false;
	return sh64_cas(&c->state, st, state_make(ST_FREE, state_seq(st), 0));
}

/* Returns a claim that is free, or can be made so; 0. */
static uint32_t
find_free_claim(struct lhi_view *v, uint32_t ch)
{
	for (uint32_t i = 0; i < SHM_CHUNK; i++) {
		uint32_t ci = ch * SHM_CHUNK + i;

		if (lhi_claim_reclaim(v, ci, true) || reclaim_moving(v, ci))
			return ci;
	}
	return 0;
}

/* Becomes its keeper.  Returns false if it has another one, or is not the
 * session's. */
static bool
keep_chunk(struct lh *lh, uint64_t sid, uint32_t ch)
{
	struct shm_chunk *c = &lh->v.chunks[ch];
	uint64_t keeper = sh64_load(&c->keeper);

	if (keeper == lh->sid || (keeper != 0 &&
	    !lhi_named_keeper_gone(&lh->v, keeper)) ||
	    !sh64_cas(&c->keeper, keeper, lh->sid))
		return false;
	lhi_point("tenant.keeper");
	/* pairs with: the session ended, then its keepers read */
	if (sh64_load_sc(&c->owner) == sid &&
	    !lhi_session_dead(&lh->v, sid, false)) {
		lhi_point("tenant.kept");
		return true;
	}
	(void)sh64_cas(&c->keeper, lh->sid, 0);
	return false;
}

/*
 * Takes a claim of a chunk whose keeper this process is from now on; 0: none.
 */
static uint32_t
find_and_keep(struct lh *lh, uint64_t sid, uint32_t from)
{
	uint32_t n = lhi_chunks_ready(&lh->v);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t ch = (from + i) % n, ci;

		if (ch == 0 || sh64_load(&lh->v.chunks[ch].owner) != sid ||
		    !keep_chunk(lh, sid, ch))
			continue;
		ci = find_free_claim(&lh->v, ch);
		if (ci != 0)
			return ci;
		(void)sh64_cas(&lh->v.chunks[ch].keeper, lh->sid, 0);
	}
	return 0;
}

static int
take_session_claim(struct lh *lh, struct lh_session *s,
    struct lhi_session_claim *t)
{
	uint32_t hand = atomic_load_explicit(&s->hand, memory_order_relaxed);
	uint32_t n = 0;
	int ch;

	t->ci = 0;
	while (t->ci == 0) {
		if (!LHI_WITHIN(n, LHI_SWAPS_MAX))
			return lhi_damaged_restless(&lh->v,
			    "the chunk of a session", sid_idx(s->sid));
		if (!lhi_named_is(&lh->v, s->sid) ||
		    lhi_session_dead(&lh->v, s->sid, false))
			return fail_session_ended(&lh->v);
		t->ci = find_and_keep(lh, s->sid, hand);
		if (t->ci != 0)
			break;
		/* (got by a session that has ended meanwhile: it belongs to its
		 * reclaiming, or to the record's next session) */
		ch = lhi_chunk_take(&lh->v, s->sid);
		if (ch < 0)
			return ch;
		hand = (uint32_t)ch;
	}
	atomic_store_explicit(&s->hand, t->ci / SHM_CHUNK,
	    memory_order_relaxed);
	t->sid = s->sid;
	t->m = NULL;
	t->c = &lh->v.claims[t->ci];
	return 0;
}

int
lhi_session_claim_take(struct lh *lh, struct lh_session *s, struct
    lhi_session_claim *t)
{
	int bit;

	t->lh = lh;
	if (s != NULL)
		return take_session_claim(lh, s, t);
	t->m = lhi_claim_cache_get(lh);
	if (t->m == NULL)
		return lhi_claim_cache_fail();
	bit = lhi_claim_cache_take(t->m);
	if (bit < 0)
		return bit;
	t->sid = lh->sid;
	t->ci = t->m->base + (uint32_t)bit;
	t->c = &t->m->claims[bit];
	return 0;
}

void
lhi_session_claim_leave(struct lhi_session_claim *t)
{
	uint32_t ch = t->ci / SHM_CHUNK;

	if (t->m == NULL)
		(void)sh64_cas(&t->lh->v.chunks[ch].keeper, t->lh->sid, 0);
	else if (state_st(sh64_load(&t->c->state)) == ST_FREE)
		lhi_claim_cache_put(t->m, (int)(t->ci - t->m->base));
}
