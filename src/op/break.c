/* SPDX-License-Identifier: MIT */
/*
 * Ending other people's leases: lh_break().
 *
 * A lease ends when its claim, in the use that the lease is of, is swapped from
 * HELD to BROKEN; from then on it is like one that has expired: whoever looks
 * frees the word (shm/lock.c) or takes the reader out (shm/chain.c), its owner
 * is refused by everything and takes the claim back when it wants it.
 *
 * That no other use is hit: the holder's claim is known from the word.  The
 * word is loaded, then the state, then the word again; the same value twice
 * means that the state is of this grant (lock.c, I1, I2), and the swap is of
 * exactly that state, whose seq does not come again.  A reader's claim says
 * itself, in the same use, which key it is for: `home` is written before the
 * use is announced.
 *
 * A crash or stop after the swap leaves BROKEN in a word or chain, which
 * everyone else completes; before it, nothing.
 */
#include <errno.h>
#include <stddef.h>
#include "base/error.h"
#include "op/name.h"
#include "proc/magazine.h"
#include "shm/bell.h"
#include "shm/chain.h"
#include "shm/event.h"
#include "shm/lock.h"
#include "shm/slot.h"
#include "shm/stat.h"

#define TRIES 100000		/* each time somebody else was quicker */

struct breaking {
	struct shm_slot *slot;
	uint64_t home;
	const uint64_t *id;	/* this lease only; NULL: every one */
	uint64_t with;		/* only with that token; 0: any */
	uint64_t token;		/* of who holds it exclusively; else 0 */
	int broken;
};

/*
 * Is claim ci, in state st, the lease that is meant?  Ids come again; the token
 * of a use is constant while its seq is.  In the midst of a conversion, when
 * the claim says what it is to be and the word what it was, the token is the
 * old one still, and the lease goes by either id.
 */
static bool
is_meant(struct lhi_view *v, uint32_t ci, uint64_t st, const struct breaking *b)
{
	struct shm_claim *c = &v->claims[ci];
	bool exclusive = b->token != 0;
	uint64_t token = exclusive ? b->token : lhi_reader_token(b->slot, c);
	uint64_t seq = state_seq(st), was = seq;

	if (exclusive == (state_kind(st) == ST_READ))
		was = (seq - CONVERT_STEP) & MASK(SEQ_BITS);
	if (b->with != 0 && b->with != token)
		return false;
	return b->id == NULL || (lhi_claim_owner(v, ci) == b->id[0] &&
	    (lid_make(ci, lhi_claim_epoch(c), seq) == b->id[1] ||
	    lid_make(ci, lhi_claim_epoch(c), was) == b->id[1]));
}

/* Claim ci in state st, if it still is that: is it meant, and ended? */
static bool
end_use(struct lhi_view *v, uint32_t ci, uint64_t st, struct breaking *b)
{
	struct shm_claim *c = &v->claims[ci];

	if (!is_meant(v, ci, st, b))
		return false;
	lhi_point("break.seen");
	if (!sh64_cas(&c->state, st, state_make(ST_BROKEN, state_seq(st),
	    state_deadline(st))))				/* 18 */
		return false;
	lhi_point("break.broken");
	lhi_stat_ended(v, lhi_claim_owner(v, ci), CAUSE_BROKEN);
	lhi_event_ended(v, CAUSE_BROKEN, ci, b->token);
	lhi_bell_ring_claim(v, ci, BELL_LEASE);
	b->broken++;
	return true;
}

static bool
end_reader(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct shm_claim *c = &v->claims[ci];
	struct breaking *b = arg;
	uint64_t st;

	/* again if it was extended, or converted, meanwhile */
	for (int i = 0; i < TRIES; i++) {
		st = sh64_load(&c->state);
		if (!state_held(st) || sh64_load(&c->home) != b->home ||
		    end_use(v, ci, st, b) || sh64_load(&c->state) == st)
			break;
	}
	return true;
}

static int
end_readers(struct lhi_view *v, struct breaking *b)
{
	int error = -EAGAIN;

	b->token = 0;
	for (int i = 0; error == -EAGAIN && i < TRIES; i++)
		error = lhi_chain_walk(v, b->slot, end_reader, b);
	if (error == -EUCLEAN)
		return lhi_damaged(v, "the readers of a key cannot be walked",
		    lhi_slot_idx(v, b->slot), 0);
	return error != 0 ? error :
	    lhi_chain_purge(v, b->slot, lhi_now_ns(v), false, 0);
}

/* Whatever holds the slot: 0; -EAGAIN; -EUCLEAN. */
static int
end_all(struct lhi_view *v, struct breaking *b)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t w, st;
		int error = lhi_lock_settle(v, b->slot, lhi_now_ns(v),
		    SETTLE_PROBE, &w);

		if (error != 0 || (word_mode(w) != WORD_X &&
		    word_mode(w) != WORD_S))
			return error;
		if (sh32_load(&b->slot->gen) != b->home >> 32)
			return 0;	/* another key's by now */
		if (word_mode(w) == WORD_S)
			return end_readers(v, b);
		b->token = lhi_lock_token(b->slot, w);
		st = sh64_load(&v->claims[word_idx(w)].state);
		if (sh64_load_sc(&b->slot->word) != w)
			continue;
		if (!state_held(st))
			continue;	/* it has ended: settle it */
		if (end_use(v, word_idx(w), st, b))
			return lhi_lock_settle(v, b->slot, lhi_now_ns(v), 0,
			    &w);
		if (sh64_load(&v->claims[word_idx(w)].state) == st)
			return 0;	/* not the one that is meant */
	}
	return -EAGAIN;
}

int
lh_break(struct lh *lh, const char *key, const uint64_t id[2], uint64_t token)
{
	struct breaking b = { .id = id, .with = token };
	struct lhi_name n;
	struct lhi_ref ref;
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error == 0)
		error = lhi_slot_find(&lh->v, &n, &ref);
	else
		return error;
	if (error == 0)
		return lhi_fail(-ENOENT, "there is no key '%.64s' in table %s",
		    key, lh->name);
	if (error < 0)
		return error;
	b.slot = ref.slot;
	b.home = ref.home;
	error = end_all(&lh->v, &b);
	if (error == -EAGAIN)
		return lhi_fail(error, "key '%.64s' does not hold still: try "
		    "again", key);
	if (error == 0 && (id != NULL || token != 0) && b.broken == 0)
		return lhi_fail(-ESTALE, "that lease does not hold '%.64s'",
		    key);
	return error != 0 ? error : b.broken;
}
