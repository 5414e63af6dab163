/* SPDX-License-Identifier: MIT */
/*
 * The readers of a key: the chain of its shared leases.
 *
 * Layout.  While the lock word is S(h, ver), claims are linked from h on
 * through their rnext {mark, idx, tag}, the latest first.  There is no counter:
 * a dead reader would leave it wrong by an unknown amount.
 *
 *	push	rnext = head, state READ, then the word's swap to S(c, ver + 1)
 *	idle	a release next to other readers, or by one that was alone often
 *		(op/release_shared.c), only makes the state IDLE: the claim
 *		stays in the chain, and its owner's next acquire is one swap of
 *		its own line, IDLE -> READ (revive)
 *	revoke	a writer, or a process acting for one, makes IDLE REVOKED
 *	leave	terminal (REVOKED, EXPIRED, BROKEN), or its session dead; then
 *		rnext is marked, then it is unlinked: from the head by a swap of
 *		the word (lhi_lock_settle_head()), from within by a swap of the
 *		predecessor's rnext
 *
 * Invariants.
 *  I1	ver grows with every push; taking out the head does not change it.  For
 *	one ver the head only moves down the chain, so no word returns.
 *  I2	A claim is marked only when it is terminal or its session dead, and the
 *	link was read before that was seen (amendment C12): a READ reader that
 *	lives is never marked, so the word cannot become FREE over it.
 *  I3	IDLE is in the chain and not marked: reviving it holds the key.
 *  I4	A claim is used again only when no link leads to it: the word's swap
 *	took it out; or it was marked, and then the word had another mode, or a
 *	whole validated walk ended.
 *  I5	Claims join at the head only, so there are only ever fewer behind one.
 *
 * Cost.  A claim is unlinked once.  A release at the head takes out the ended
 * claims behind it; one further down only marks itself, then checks whether it
 * has become the head (pairs with: the word's swap, then the look at the next
 * claim's mark). A writer checks the head until it finds a live reader, and
 * need not look behind it.  Whole walks are for owners that need a claim back,
 * for reclaiming, upgrades and listings; each cleans all ended claims on its
 * way.
 *
 * A crash or stop of
 *	push, before the swap	a READ claim that nothing names
 *	push, after it		a complete lease
 *	leave, anywhere		terminal, marked or not: finished by the writer
 *				or reader that finds it at the head
 *	revive			one swap
 *	revoke			REVOKED: as leave
 */
#include <errno.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/readers.h"
#include "shm/lock_word.h"
#include "shm/wait_queue.h"

#define PASSES_MAX 100000u	/* as in the wait queue */
#define BAD_MAX 3
#define UNCLEAR_MAX 1000
#define WALKS 100000		/* over a chain that moves */

/* A place in the chain: the word or link that leads to claim cur. */
struct spot {
	shm_u64 *link;		/* NULL: the word */
	uint64_t value;
	uint32_t cur;		/* 0: the end */
};

/* Takes out ended claims at the head.  A claim that cannot be judged is left to
 * the next process. */
static int
take_out_head(struct lhi_view *v, struct shm_slot *s, unsigned how)
{
	const uint32_t most = PASSES_MAX + lhi_hop_limit(v);
	uint32_t n = 0;

	for (int unclear = 0; unclear < UNCLEAR_MAX && LHI_WITHIN(n, most);) {
		/* (a release expires nobody, and asks the kernel about
		 * nobody: the writer does, within 20 ms) */
		int out = lhi_lock_settle_head(v, s, sh64_load_sc(&s->word),
		    INT64_MIN, how);

		if (out == 0 || out == -EUCLEAN)
			return out;
		unclear += out < 0;
	}
	return !LHI_REACHED(n, most) ? 0 : lhi_damaged_restless(v,
	    "the head of a chain of readers", lhi_slot_idx(v, s));
}

/* 1 marked, 0 it was; -EUCLEAN. */
static int
mark_reader(struct lhi_view *v, struct shm_claim *c)
{
	uint32_t n = 0;
	uint64_t l;

	do {
		l = sh64_load(&c->rnext);
	} while (!link_marked(l) && !sh64_cas(&c->rnext, l,
	    link_make(true, link_idx(l), link_tag(l) + 1)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return lhi_damaged_restless(v, "the link of a reader",
		    (uint64_t)(c - v->claims));
	lhi_point("chain.marked");
	return !link_marked(l);
}

bool
lhi_readers_mark(struct lhi_view *v, struct shm_claim *c)
{
	return mark_reader(v, c) > 0;
}

static bool
has_ended(uint64_t st)
{
	return state_st(st) == ST_REVOKED || state_st(st) == ST_EXPIRED ||
	    state_st(st) == ST_BROKEN;
}

int
lhi_readers_leave(struct lhi_view *v, struct shm_slot *s, uint32_t ci,
    uint64_t seq, bool revoke)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t l, st;
	uint32_t n = 0;
	int error;

	/* its owner may have taken it back and used it again: so the link
	 * first, then the proof (C12) */
	do {
		l = sh64_load(&c->rnext);
		lhi_point("chain.leaving");
		st = sh64_load(&c->state);
	} while (!link_marked(l) && has_ended(st) && state_seq(st) == seq &&
	    !sh64_cas(&c->rnext, l,
	    link_make(true, link_idx(l), link_tag(l) + 1)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return lhi_damaged_restless(v, "the link of a reader", ci);
	lhi_point("chain.marked");
	error = take_out_head(v, s, revoke ? SETTLE_READERS : 0);
	lhi_queue_wake_upgrade(v, s);
	return error;
}

static bool
is_unchanged(struct shm_slot *s, const struct spot *at)
{
	return sh64_load(at->link != NULL ? at->link : &s->word) == at->value;
}

/* Swaps the link to the marked claim past it. Returns false: look again. */
static bool
unlink_marked(struct lhi_view *v, struct shm_slot *s, struct spot *at,
    uint64_t marked)
{
	struct shm_claim *c = &v->claims[at->cur];
	uint64_t past;

	if (at->link == NULL) {
		past = lhi_lock_without(v, s, at->value, at->cur,
		    link_idx(marked));
		if (!sh64_cas(&s->word, at->value, past))
			return false;
		lhi_point("chain.head_out");
		if (word_mode(past) == WORD_FREE)
			lhi_queue_wake_first(v, s);
	} else {
		past = link_make(false, link_idx(marked),
		    link_tag(at->value) + 1);
		if (!sh64_cas(at->link, at->value, past))
			return false;
		lhi_point("chain.inner_out");
	}
	lhi_readers_out(c, marked);
	at->value = past;
	at->cur = link_idx(marked);
	return true;
}

struct sweep {
	uint32_t want;		/* enough when this one is out; 0: all */
	bool judge;		/* mark who has ended, too */
	unsigned how;
	int64_t now_ns;
	uint32_t besides;	/* not 0: only to the first other living one */
};

/* Makes one pass: unlinks marked claims.  Returns 1: done; 0: the chain
 * changed, look again; -EUCLEAN: it led out of bounds. */
static int
sweep_chain_once(struct lhi_view *v, struct shm_slot *s, const struct sweep *sw)
{
	struct spot at = { NULL, sh64_load_sc(&s->word), 0 };

	if (word_mode(at.value) != WORD_S)
		return 1;
	at.cur = word_idx(at.value);
	for (uint32_t hops = 0; hops < lhi_hop_limit(v); hops++) {
		struct shm_claim *c = lhi_claim(v, at.cur);
		uint32_t was = at.cur;
		enum lhi_cause cause;
		uint64_t l;
		int judged;

		if (at.cur == 0)
			return 1;
		if (c == NULL)
			return is_unchanged(s, &at) ? -EUCLEAN : 0;
		l = sh64_load(&c->rnext);
		lhi_point("chain.link_loaded");
		if (!is_unchanged(s, &at))
			return 0;
		judged = link_marked(l) || !sw->judge ? 0 : lhi_lock_judge(v,
		    at.cur, sw->now_ns, sw->how, &cause);
		if (judged > 0) {
			uint64_t marked = link_make(true, link_idx(l),
			    link_tag(l) + 1);

			if (!sh64_cas(&c->rnext, l, marked))
				return 0;
			lhi_lock_report_end(v, at.cur, judged, cause, 0);
			l = marked;
		}
		if (link_marked(l)) {
			if (!unlink_marked(v, s, &at, l))
				return 0;
			if (was == sw->want)
				return 1;
		} else {
			if (sw->besides != 0 && at.cur != sw->besides)
				return 1;
			at = (struct spot){ &c->rnext, l, link_idx(l) };
		}
	}
	return -EUCLEAN;
}

static int
sweep_chain(struct lhi_view *v, struct shm_slot *s, const struct sweep *sw)
{
	for (uint32_t pass = 0, bad = 0; pass < PASSES_MAX && bad < BAD_MAX;
	    pass++) {
		int done = sweep_chain_once(v, s, sw);

		if (done == 1)
			return 0;
		bad += done < 0;
	}
	return lhi_damaged(v, "the readers of a key cannot be walked",
	    lhi_slot_idx(v, s), sh64_load(&s->word));
}

int
lhi_readers_remove(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	const struct sweep sw = { .want = ci };
	int error;

	/* not pushed again by any process: so this one look is enough */
	if (word_mode(sh64_load_sc(&s->word)) != WORD_S)
		return 0;
	error = mark_reader(v, &v->claims[ci]);
	if (error < 0)
		return error;
	/* the process that took it out has said so, if it got that far */
	if (link_idx(sh64_load(&v->claims[ci].rnext)) == LINK_OUT)
		return 0;
	return sweep_chain(v, s, &sw);
}

int
lhi_readers_purge(struct lhi_view *v, struct shm_slot *s, int64_t now_ns,
    bool probe, uint32_t besides)
{
	const struct sweep sw = { .judge = true, .now_ns = now_ns,
	    .besides = besides,
	    .how = SETTLE_READERS | (probe ? SETTLE_PROBE : 0) };

	return sweep_chain(v, s, &sw);
}

int
lhi_readers_walk(struct lhi_view *v, struct shm_slot *s,
    bool (*fn)(struct lhi_view *v, uint32_t ci, void *arg), void *arg)
{
	const uint32_t limit = lhi_hop_limit(v);
	struct spot at = { NULL, sh64_load_sc(&s->word), 0 }, from = at;
	uint32_t hops = 0;

	if (word_mode(at.value) != WORD_S)
		return 0;
	at.cur = word_idx(at.value);
	while (at.cur != 0) {
		struct shm_claim *c = lhi_claim(v, at.cur);
		uint64_t l;

		/* a marked link is the same still when its claim is out, and
		 * what it leads to is another's: so the last one that is not
		 * marked, too, from which it is led to */
		if (c == NULL || !LHI_WITHIN(hops, limit))
			return is_unchanged(s, &at) &&
			    is_unchanged(s, &from) ? -EUCLEAN : -EAGAIN;
		l = sh64_load(&c->rnext);
		lhi_point("chain.walking");
		if (!is_unchanged(s, &at) || (!is_unchanged(s, &from) &&
		    !lhi_mutant_on(walks_from_marked)))
			return -EAGAIN;
		if (!link_marked(l) && !fn(v, at.cur, arg))
			return 0;
		at = (struct spot){ &c->rnext, l, link_idx(l) };
		if (!link_marked(l))
			from = at;
	}
	return 0;
}

struct sought {
	uint32_t ci;
	bool found;
};

static bool
is_not_sought(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct sought *x = arg;

	(void)v;
	x->found = ci == x->ci;
	return !x->found;
}

int
lhi_readers_has(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	struct sought x = { ci, false };
	int error = -EAGAIN;

	for (int i = 0; i < WALKS && error == -EAGAIN; i++)
		error = lhi_readers_walk(v, s, is_not_sought, &x);
	return x.found ? 1 : error;
}
