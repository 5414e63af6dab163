/* SPDX-License-Identifier: MIT */
/*
 * The wait queue: says which waiter is next.
 *
 * It decides order and wake-ups only.  A grant is a swap of the lock word, so
 * no state of this list, however torn, can let two holders in.  Its transitions
 * are QU1 to QU5 in doc/protocol.md ("Queue").
 *
 * Layout.  A singly linked list of waiting claims, headed by slot.waitq.  It is
 * sorted by rank (readers that wait for an upgrade first, then by priority,
 * higher first) and ticket (earlier first). A link is {mark, idx, tag}. The
 * mark in a claim's own link says that the claim is out.  Every write of a link
 * increments its tag, which is never reset, also when the claim is used again
 * elsewhere.  (Harris 2001, Michael 2002; instead of safe memory reclamation:
 * claims are type-stable and tags never repeat in practice.)
 *
 * Invariants.
 *  I1	An unmarked link is changed only by a swap of its exact value, so a
 *	process that swaps successfully has seen the present neighbour.
 *  I2	A claim's order fields are constant from its insertion until no link
 *	leads to it.
 *  I3	A claim is used for something else only after its owner (or the process
 *	that reclaims it) has marked it and searched the queue past its place:
 *	then no link leads to it.
 *  I4	Each hop is validated: after a claim's fields are read, the link that
 *	led to it must still have its exact value.  A marked link has it also
 *	when its claim is out: so a walk that follows one, and does not unlink
 *	its claim, checks the last one before it that was not marked.
 *
 * The mark in slot.waitq has another meaning: the table was removed by force
 * (shm/table_revoke.c). It is never cleared, so a process that writes that link
 * keeps it.
 *
 * A claim may be marked by its owner, and by any process that read its link,
 * then proved that it does not wait here, and swaps exactly that link
 * (amendment C12). With the link read after the proof, the proof could be about
 * an earlier use of the claim, and a live waiter of another key would be thrown
 * out.  "Does not wait here" is: another slot or generation; a state that is
 * neither WAIT nor HELD; HELD and named by the lock word (granted, not yet
 * taken out); a dead session.  If a waiter is thrown out all the same, it
 * notices its mark and returns with its old ticket.
 *
 * A crash or stop of
 *	insert, before the last swap	the claim is not linked
 *	insert, after it		a dead waiter: removed on proof; a
 *					stopped one: made suspect
 *	remove, marked not unlinked	the next walker unlinks it
 *	waking, anywhere		the first waiter checks again by itself
 *					within 20 ms; if it is dead or stopped,
 *					the deputy does, within 60 ms (T3)
 *
 * Not guaranteed: that a walk sees a waiter that is being inserted.
 */
#include <errno.h>
#include "base/error.h"
#include "prim/futex.h"
#include "shm/damaged.h"
#include "shm/doorbell.h"
#include "shm/session_liveness.h"
#include "shm/wait_queue.h"

/* Passes over one queue before it is declared damaged: passes that end only
 * because the queue changes, and passes that find a bad index or no end. */
#define PASSES_MAX 100000u
#define BAD_MAX 3

struct spot {
	shm_u64 *pred;		/* link that leads to cur */
	uint64_t pred_link;	/* its value */
	uint32_t cur;		/* 0: end */
};

/* True if a goes before b. */
static bool
stands_before(uint64_t a_rank, uint32_t a_ticket, uint64_t b_rank,
    uint32_t b_ticket)
{
	if (a_rank != b_rank)
		return a_rank > b_rank;
	return (int32_t)(a_ticket - b_ticket) < 0;
}

/* Swaps the link at the spot past a marked claim. Returns false: look again. */
static bool
unlink_marked(struct spot *at, uint64_t marked)
{
	uint64_t past = link_make(link_marked(at->pred_link), link_idx(marked),
	    link_tag(at->pred_link) + 1);

	if (!sh64_cas(at->pred, at->pred_link, past))
		return false;
	at->pred_link = past;
	at->cur = link_idx(past);
	return true;
}

static void
start_at_head(struct shm_slot *s, struct spot *at)
{
	at->pred = &s->waitq;
	at->pred_link = sh64_load_sc(at->pred);
	at->cur = link_idx(at->pred_link);
}

static void
advance_past(struct shm_claim *c, uint64_t next, struct spot *at)
{
	at->pred = &c->wnext;
	at->pred_link = next;
	at->cur = link_idx(next);
}

/*
 * Starts behind the claim that was queued last, if it certainly is still linked
 * and goes before (rank, ticket). The hint is that claim and the tag that its
 * link, to none, had when it was linked.  The next write of that link makes it
 * lead to a successor, or marks it; so if it is not marked and at most one tag
 * on, it has never been marked (amendment C12).
 */
static bool
start_at_tail(struct lhi_view *v, struct shm_slot *s, uint64_t rank,
    uint32_t ticket, struct spot *at)
{
	uint64_t hint = sh64_load(&s->tail), l;
	struct shm_claim *c = lhi_claim(v, link_idx(hint));

	if (c == NULL)
		return false;
	l = sh64_load_sc(&c->wnext);
	if (link_marked(l) ||
	    ((link_tag(l) - link_tag(hint)) & MASK(LINK_TAG_BITS)) > 1 ||
	    !stands_before(lhi_queue_rank(c), sh32_load(&c->ticket), rank,
		ticket) ||
	    sh64_load(&c->wnext) != l)
		return false;
	advance_past(c, l, at);
	return true;
}

/* Finds the spot before the first claim that does not go before (rank, ticket).
 * Unlinks marked claims up to there (from the tail hint on, with `tail`). */
static int
find_place(struct lhi_view *v, struct shm_slot *s, uint64_t rank,
    uint32_t ticket, bool tail, struct spot *at)
{
	for (uint32_t pass = 0, bad = 0; pass < PASSES_MAX && bad < BAD_MAX;
	    pass++) {
		uint32_t hops = 0;

		if (!tail || pass > 0 || !start_at_tail(v, s, rank, ticket, at))
			start_at_head(s, at);
		for (; hops < lhi_hop_limit(v); hops++) {
			struct shm_claim *c;
			uint64_t next;
			bool mine_after;

			if (at->cur == 0)
				return 0;
			c = lhi_claim(v, at->cur);
			if (c == NULL) {
				bad++;
				break;
			}
			next = sh64_load(&c->wnext);
			mine_after = stands_before(lhi_queue_rank(c),
			    sh32_load(&c->ticket), rank, ticket);
			if (sh64_load(at->pred) != at->pred_link)
				break;				/* I4 */
			if (link_marked(next)) {
				if (!unlink_marked(at, next))
					break;
			} else if (mine_after) {
				advance_past(c, next, at);
			} else {
				return 0;
			}
		}
		bad += hops >= lhi_hop_limit(v);
	}
	return lhi_damaged(v, "wait queue cannot be walked", lhi_slot_idx(v, s),
	    at->cur);
}

int
lhi_queue_insert(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];
	struct spot at;
	uint32_t n = 0;

	while (LHI_WITHIN(n, PASSES_MAX)) {
		uint64_t mine, prepared;
		int error = find_place(v, s, lhi_queue_rank(c),
		    sh32_load_rlx(&c->ticket), true, &at);

		if (error != 0)
			return error;
		if (at.cur == ci)
			return 0;	/* it is in */
		mine = sh64_load(&c->wnext);
		prepared = link_make(false, at.cur, link_tag(mine) + 1);
		if (!sh64_cas(&c->wnext, mine, prepared))
			continue;
		lhi_point("queue.prepared");
		/* pairs with: release's load of waitq after W2 */
		if (!sh64_cas(at.pred, at.pred_link,
		    link_make(link_marked(at.pred_link), ci,
			link_tag(at.pred_link) + 1)))
			continue;
		lhi_point("queue.linked");
		if (at.cur == 0)
			sh64_store(&s->tail, link_make(false, ci,
			    link_tag(prepared)));
		return 0;
	}
	return lhi_damaged_restless(v, "the place of a waiter", ci);
}

/* Wakes the waiter whose link leads to none.  It is the deputy now, but chose
 * its sleep for its old place (op/wait_watch.c). */
static void
wake_deputy(struct lhi_view *v, shm_u64 *link)
{
	struct shm_claim *c = (struct shm_claim *)((char *)link -
	    offsetof(struct shm_claim, wnext));

	lhi_point("queue.last_left");
	if (!lhi_mutant_on(deputy_not_woken))
		lhi_queue_wake(v, c);
}

int
lhi_queue_remove(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];
	struct spot at;
	uint64_t mine;
	uint32_t n = 0;
	int error;

	do {
		mine = sh64_load(&c->wnext);
	} while (!link_marked(mine) && !sh64_cas(&c->wnext, mine,
	    link_make(true, link_idx(mine), link_tag(mine) + 1)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return lhi_damaged_restless(v, "the link of a waiter", ci);
	lhi_point("queue.marked");
	error = find_place(v, s, lhi_queue_rank(c), sh32_load_rlx(&c->ticket),
	    false, &at);
	if (error == 0 && at.cur == 0 && at.pred != &s->waitq)
		wake_deputy(v, at.pred);
	return error;
}

bool
lhi_queue_is_out(struct lhi_view *v, uint32_t ci)
{
	return link_marked(sh64_load(&v->claims[ci].wnext));
}

/* True if claim ci, in state st, certainly does not wait in this queue. */
static bool
is_not_waiting(struct lhi_view *v, struct shm_slot *s, uint32_t ci, uint64_t st,
    bool probe)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t w;

	if (sh64_load(&c->slot_ref) != lhi_slot_ref(lhi_slot_idx(v, s),
	    sh32_load_rlx(&s->gen)))
		return true;
	if ((lhi_mutant_on(waiter_unproved) && state_kind(st) == ST_WAIT) ||
	    (lhi_mutant_on(trier_unproved) && state_kind(st) == ST_HELD) ||
	    (lhi_mutant_on(upgrader_unproved) && sh32_load(&c->wflags) &
	    WAITER_UPGRADE))
		return false;
	switch (state_kind(st)) {
	case ST_HELD:
		w = sh64_load_sc(&s->word);
		if (word_mode(w) == WORD_X && word_idx(w) == ci)
			return true;
		/* it is trying for the word */
		/* fallthrough */
	case ST_READ:
	case ST_WAIT:
		return lhi_session_dead(v, lhi_claim_owner(v, ci), probe);
	default:
		return true;
	}
}

/*
 * True if the waiter is passed over.  A waiter for an upgrade blocks others
 * only while its key is shared: a free key is not for it, because its lease is
 * over.
 */
static bool
is_passed_over(struct shm_slot *s, uint32_t flags, uint32_t others)
{
	return (flags & others) || ((flags & WAITER_UPGRADE) &&
	    !lhi_mutant_on(upgrader_unproved) &&
	    word_mode(sh64_load(&s->word)) != WORD_S);
}

int
lhi_queue_first(struct lhi_view *v, struct shm_slot *s, uint32_t self,
    bool reader, bool probe, uint32_t *first)
{
	uint32_t pass_over = WAITER_SUSPECT | (reader ? WAITER_SHARED : 0);
	struct spot at;

	for (uint32_t pass = 0, bad = 0; pass < PASSES_MAX && bad < BAD_MAX;
	    pass++) {
		uint32_t hops = 0;

		for (start_at_head(s, &at); hops < lhi_hop_limit(v); hops++) {
			struct shm_claim *c;
			uint64_t next, st;
			bool out;

			if (at.cur == 0 || at.cur == self) {
				*first = at.cur;
				return 0;
			}
			c = lhi_claim(v, at.cur);
			if (c == NULL) {
				bad++;
				break;
			}
			next = sh64_load(&c->wnext);
			lhi_point("queue.link_read");
			st = sh64_load(&c->state);
			out = !link_marked(next) &&
			    is_not_waiting(v, s, at.cur, st, probe);
			if (sh64_load(at.pred) != at.pred_link)
				break;				/* I4 */
			lhi_point("queue.proved");
			if (lhi_mutant_on(link_reloaded))
				next = sh64_load(&c->wnext);
			if (out) {
				uint64_t marked = link_make(true,
				    link_idx(next), link_tag(next) + 1);

				if (!sh64_cas(&c->wnext, next, marked))
					break;
				next = marked;
			}
			if (link_marked(next) && !lhi_mutant_on(left_stays)) {
				if (!unlink_marked(&at, next))
					break;
				continue;
			}
			if (is_passed_over(s, sh32_load(&c->wflags),
				pass_over)) {
				advance_past(c, next, &at);
				continue;
			}
			*first = at.cur;
			return 0;
		}
		bad += hops >= lhi_hop_limit(v);
	}
	return lhi_damaged(v, "wait queue cannot be walked", lhi_slot_idx(v, s),
	    at.cur);
}

int
lhi_queue_walk(struct lhi_view *v, struct shm_slot *s,
    bool (*fn)(struct lhi_view *v, uint32_t ci, void *arg), void *arg)
{
	const uint32_t limit = lhi_hop_limit(v);
	struct spot at;
	uint32_t hops = 0;

	start_at_head(s, &at);
	while (at.cur != 0) {
		struct shm_claim *c = lhi_claim(v, at.cur);
		uint64_t next;

		if (c == NULL || !LHI_WITHIN(hops, limit))
			return -EUCLEAN;
		next = sh64_load(&c->wnext);
		if (sh64_load(at.pred) != at.pred_link)
			return -EAGAIN;				/* I4 */
		if (link_marked(next) && !lhi_mutant_on(walks_from_left)) {
			at.cur = link_idx(next);
			continue;
		}
		if (!link_marked(next) && !fn(v, at.cur, arg))
			return 0;
		advance_past(c, next, &at);
	}
	return 0;
}

void
lhi_queue_wake(struct lhi_view *v, struct shm_claim *c)
{
	if (lhi_mutant_on(kick_clears_suspicion))
		(void)sh32_fetch_and(&c->wflags, ~WAITER_SUSPECT);
	/* pairs with: the waiter's swap to ASLEEP before its last look */
	if (sh32_load_sc(&c->park) == PARK_ASLEEP &&
	    sh32_cas(&c->park, PARK_ASLEEP, PARK_AWAKE)) {
		lhi_point("queue.woken");
		if (sh32_load(&c->wflags) & WAITER_BELL)
			lhi_doorbell_ring_claim(v, (uint32_t)(c - v->claims),
			    BELL_TURN);
		else
			lhi_futex_wake(&c->park);
	}
}

struct wake {
	struct shm_slot *s;
	bool readers;		/* a reader was woken: only readers from here */
};

static bool
wake_until_eligible(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct shm_claim *c = &v->claims[ci];
	struct wake *k = arg;
	uint32_t flags = sh32_load(&c->wflags);
	uint64_t st = sh64_load(&c->state), w;

	if (state_kind(st) == ST_HELD) {
		w = sh64_load(&k->s->word);
		if (word_mode(w) == WORD_X && word_idx(w) == ci)
			return true;	/* it already has the key: not a
					 * waiter */
	}
	if (k->readers && !(flags & (WAITER_SHARED | WAITER_SUSPECT)))
		return false;
	lhi_queue_wake(v, c);
	if (is_passed_over(k->s, flags, WAITER_SUSPECT))
		return true;
	k->readers = flags & WAITER_SHARED;
	return k->readers;
}

void
lhi_queue_wake_first(struct lhi_view *v, struct shm_slot *s)
{
	/* the processes that change a queue also check it; a wake-up that is
	 * lost all the same is repeated within 20 ms */
	for (int tries = 0; tries < 16; tries++) {
		struct wake k = { s, false };

		if (lhi_queue_walk(v, s, wake_until_eligible, &k) != -EAGAIN)
			return;
	}
}

struct same_session {
	uint64_t owner;
};

static bool
suspect_if_same(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct same_session *same = arg;

	if (lhi_claim_owner(v, ci) == same->owner)
		(void)sh32_fetch_or(&v->claims[ci].wflags, WAITER_SUSPECT);
	return true;
}

void
lhi_queue_suspect(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	struct same_session same = { lhi_claim_owner(v, ci) };

	(void)sh32_fetch_or(&v->claims[ci].wflags, WAITER_SUSPECT);
	(void)lhi_queue_walk(v, s, suspect_if_same, &same);
}
