/* SPDX-License-Identifier: MIT */
/*
 * Ending another's lease, lh_break(); asking for its release, lh_ask_release().
 *
 * A lease ends when its claim, in the use that the lease is of, is swapped from
 * HELD to BROKEN. From then on it is like an expired one.  The next process
 * that checks it frees the word (shm/lock_word.c) or takes the reader out
 * (shm/readers.c). Every call refuses its owner, which recovers the claim when
 * it needs it.
 *
 * Why no other use is affected: the holder's claim is known from the word.  The
 * word is loaded, then the state, then the word again.  The same value twice
 * means that the state is of this grant (live_lock.c, I1, I2), and the swap is
 * of exactly that state, whose seq does not return.  A reader's claim itself
 * names its key in the same use: `slot_ref` is written before the use is
 * announced.
 *
 * Asking goes the same way, but instead of the state it swaps the claim's park,
 * on which no thread sleeps while it is held: PARK_ASKED and the use that is
 * asked for.  The holder's process clears that when it has seen it, so that the
 * next request is noticed as well.  If the claim has become a waiter's
 * meanwhile, a mark means to it only that it is awake; it does not replace a
 * sleep.  (A use is known by 22 bits: a mark that was never cleared is seen
 * again after 4 million uses, once.)
 *
 * The shim's own lease on a cluster key (shim/agent/local_hold.c) is not ended:
 * the host that has the key would not notice, and the waiters here would each
 * be granted it and give it back.
 *
 * A crash or stop after the swap leaves BROKEN in a word or chain, which all
 * others complete; before it, nothing.  A mark without a ring is seen at the
 * holder's next check.
 */
#include <errno.h>
#include <stddef.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "op/lease_check.h"
#include "op/acquire_target.h"
#include "proc/claim_cache.h"
#include "shm/doorbell.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/cluster_right.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/key_slot.h"
#include "shm/counters.h"

#define TRIES 10000		/* each time another process was quicker */

struct breaking {
	struct shm_slot *slot;
	uint64_t slot_ref;
	const uint64_t *id;	/* this lease only; NULL: every one */
	uint64_t with;		/* only with that token; 0: any */
	uint64_t token;		/* of the exclusive holder; else 0 */
	bool ask;		/* only ask for it */
	bool by_shim;		/* the shim has it, for the cluster */
	int broken;		/* or asked */
};

/*
 * True if claim ci, in state st, is the lease in question.  Ids repeat; the
 * token of a use is constant while its seq is.  In the middle of a conversion,
 * when the claim has the new mode and the word the old one, the token is still
 * the old one, and the lease has either id.  In the middle of a hand-off the
 * claim does not show it: then the token decides, which no other lease has.
 */
static bool
is_meant(struct lhi_view *v, uint32_t ci, uint64_t st, const struct breaking *b)
{
	struct shm_claim *c = &v->claims[ci];
	bool exclusive = b->token != 0;
	uint64_t token = exclusive ? b->token : lhi_reader_token(b->slot, c);
	uint64_t seq = state_seq(st), was = seq;

	if (b->with != 0 || exclusive == (state_kind(st) == ST_READ))
		was = (seq - CONVERT_STEP) & MASK(SEQ_BITS);
	/* not in motion: revived, or at rest */
	if (!exclusive && !lhi_reader_may_move(c, was))
		was = seq;
	if (b->with != 0 && b->with != token)
		return false;
	return b->id == NULL || (lhi_claim_owner(v, ci) ==
	    lhi_view_session_of(v, b->id[0]) &&
	    (lid_make(ci, lhi_claim_epoch(c), seq) == b->id[1] ||
	    lid_make(ci, lhi_claim_epoch(c), was) == b->id[1]));
}

/* Sets the mark in the park of claim ci, if it is still in state st. */
static bool
ask_claim(struct lhi_view *v, uint32_t ci, uint64_t st, struct breaking *b)
{
	struct shm_claim *c = &v->claims[ci];
	uint32_t was = sh32_load(&c->park);
	uint32_t mark = PARK_ASKED | (uint32_t)state_seq(st);

	/* a waiter's park is its own: it may be one's by now, but not asleep */
	if (sh64_load(&c->state) != st || was == PARK_ASLEEP ||
	    was == PARK_QUIET)
		return false;
	lhi_point("ask.seen");
	if (was != mark && !sh32_cas(&c->park, was, mark))
		return false;
	lhi_point("ask.marked");
	lhi_doorbell_ring_claim(v, ci, BELL_LEASE);
	b->broken++;
	return true;
}

/* Ends claim ci, if it is still in state st and is the lease in question. */
static bool
end_claim(struct lhi_view *v, uint32_t ci, uint64_t st, struct breaking *b)
{
	struct shm_claim *c = &v->claims[ci];

	if (!is_meant(v, ci, st, b))
		return false;
	if (b->ask)
		return ask_claim(v, ci, st, b);
	lhi_point("break.seen");
	if (lhi_claim_mark(v, c, lhi_claim_owner(v, ci), st, ST_BROKEN,
	    state_deadline(st)) != 0)
		return false;
	lhi_point("break.broken");
	lhi_counters_ended(v, lhi_claim_owner(v, ci), CAUSE_BROKEN);
	lhi_event_ended(v, CAUSE_BROKEN, ci, b->token);
	lhi_doorbell_ring_claim(v, ci, BELL_LEASE);
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
	for (int i = lhi_mutant_on(breaks_once) ? TRIES - 1 : 0; i < TRIES;
	    i++) {
		st = sh64_load(&c->state);
		if (!state_held(st) || sh64_load(&c->slot_ref) != b->slot_ref ||
		    end_claim(v, ci, st, b) || sh64_load(&c->state) == st)
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
		error = lhi_readers_walk(v, b->slot, end_reader, b);
	if (error == -EUCLEAN)
		return lhi_damaged(v, "the readers of a key cannot be walked",
		    lhi_slot_idx(v, b->slot), 0);
	return error != 0 ? error :
	    lhi_readers_purge(v, b->slot, lhi_now_ns(v), false, 0);
}

/* Ends or asks all holders of the slot. Returns 0; -EAGAIN; -EUCLEAN. */
static int
end_holders(struct lhi_view *v, struct breaking *b)
{
	for (int i = lhi_mutant_on(breaks_once) ? TRIES - 1 : 0; i < TRIES;
	    i++) {
		uint64_t w, st;
		int error = lhi_lock_settle(v, b->slot, lhi_now_ns(v),
		    SETTLE_PROBE, &w);

		if (error != 0 || (word_mode(w) != WORD_X &&
		    word_mode(w) != WORD_S))
			return error;
		if (sh32_load(&b->slot->gen) != b->slot_ref >> 32)
			return 0;	/* another key's by now */
		if (word_mode(w) == WORD_S)
			return end_readers(v, b);
		b->token = lhi_lock_token(b->slot, w);
		st = sh64_load(&v->claims[word_idx(w)].state);
		if (sh64_load_sc(&b->slot->word) != w)
			continue;
		if (!state_held(st))
			continue;	/* it has ended: settle it */
		/* not a holder: it keeps processes from the key of others */
		if (lhi_cluster_serves(v, lhi_claim_owner(v, word_idx(w)))) {
			b->by_shim = true;
			return 0;
		}
		if (end_claim(v, word_idx(w), st, b))
			return lhi_lock_settle(v, b->slot, lhi_now_ns(v), 0,
			    &w);
		if (sh64_load(&v->claims[word_idx(w)].state) == st)
			return 0;	/* not the lease in question */
	}
	return -EAGAIN;
}

static int
break_key(struct lh *lh, const char *key, struct breaking *b)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	int error = lhi_own_to_look(lh);

	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error == 0 && b->id != NULL)
		error = lhi_lease_check_table(lh, b->id);
	if (error == 0)
		error = lhi_slot_find(&lh->v, &n, &ref);
	else
		return error;
	if (error == 0)
		return lhi_fail(-ENOENT, "there is no key '%.64s' in table %s",
		    key, lh->name);
	if (error < 0)
		return error;
	b->slot = ref.slot;
	b->slot_ref = ref.slot_ref;
	error = end_holders(&lh->v, b);
	if (error == -EAGAIN)
		return lhi_fail(error, "key '%.64s' kept changing while it was "
		    "read: try again", key);
	if (error == 0 && b->by_shim)
		return lhi_damaged_or(&lh->v, lhi_fail(-EBUSY, "no process of "
		    "this host holds '%.64s': leasehold-shimd keeps it here, "
		    "because another host has it or it is just being asked "
		    "for; end the lease on the host that has it", key));
	if (error == 0 && (b->id != NULL || b->with != 0) && b->broken == 0)
		return lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "that lease "
		    "does not hold '%.64s'", key));
	return error != 0 ? error : lhi_damaged_or(&lh->v, b->broken);
}

int
lh_break(struct lh *lh, const char *key, const uint64_t id[2], uint64_t token)
{
	struct breaking b = { .id = id, .with = token };

	return break_key(lh, key, &b);
}

int
lh_ask_release(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token)
{
	struct breaking b = { .id = id, .with = token, .ask = true };

	return break_key(lh, key, &b);
}

int
lhi_lease_was_asked(struct lh *lh, const struct lh_lease *l)
{
	struct lhi_held h;
	uint32_t mark;
	int error = lhi_lease_check(lh, l, &h);

	if (error != 0)
		return error == -EALREADY ? lhi_fail(-ESTALE, "this lease was "
		    "released") : error;
	/* the mark itself names its use */
	mark = PARK_ASKED | (uint32_t)lid_seq(h.id);
	return sh32_load(&h.claim->park) == mark &&
	    sh32_cas(&h.claim->park, mark, PARK_AWAKE);
}

int
lh_lease_asked(struct lh *lh, const struct lh_lease *l)
{
	int error = lh_verify(lh, l);

	return error != 0 ? error : lhi_lease_was_asked(lh, l);
}
