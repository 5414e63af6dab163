/* SPDX-License-Identifier: MIT */
/*
 * Circles of waits: answers "do we all wait for each other?".
 *
 * There is no graph in shared memory, and nobody who watches it.  What there is
 * says it all: a claim in state WAIT is a thread (session, thread id in
 * `since`) that sleeps until it has a key; the key's word, or the chain behind
 * it, names the leases in its way, each of a thread again.  A wait that has
 * lasted 40 ms goes along these from itself, and sees whether it comes back.
 *
 *	wait -> lease		the key's holder, or each of its readers (but
 *				the own lease of who waits to upgrade it)
 *	wait -> wait		of a reader, while others read: the first in the
 *				queue before it that bars readers
 *	lease -> wait		what the thread waits for that has the lease;
 *				what a job of the `run` waits for that has it;
 *				what is being acquired into the named session
 *				that has it (waits_for_thread.c)
 *
 * Each wait needs all that is in its way to go, so whoever is on a circle waits
 * until somebody on it gives up or a lease on it ends: a deadlock.  (Further
 * waiters in the queue are no edges: they wait for the same leases, and so any
 * circle through them has a shorter one without them.)
 *
 * Not on any circle by their threads: leases that other threads may release
 * (LH_SHAREABLE: their claims name thread 0), those of named sessions, which
 * have no thread, and waits without a thread.  Thread and lease belong together
 * if their sessions are the same process, so that several attachments of a
 * process are one.  A thread that waits for its own lease is a circle of one.
 *
 * Found twice.  What was met on the way was met at different times.  So all of
 * it is read again before it counts: each wait still in the state, with the
 * number of its use, that it was seen in; each lease held in the same use; each
 * exclusive word the same; and, before these, each wait in the way of a reader
 * for its key and before it (who was met in the queue may have left it at once,
 * and wait elsewhere).  States and words do not repeat, so each of them was
 * so from the first look to the second, all of them in the moment between the
 * two passes: everybody waited, for leases that were all held, at one moment.
 * Nobody who waits does anything else before its wait ends.  That moment is
 * thus the beginning of the end, unless somebody times out, is cancelled, or a
 * lease runs out, is broken, or released by a thread that is not its own.  A
 * session's `outer` is written once, before its process waits for anything, and
 * a wait's claim.grant before its state; both are read again between the looks
 * at the wait's state, which its own hop makes: so they are of that use.
 *
 * Deadlines.  A lease that, as it stands, ends within 100 ms counts for nothing
 * (it is about to dissolve the circle), but if it is seen to have been
 * renewed since the last look.  The wait looks again when it has ended, or not.
 *
 * Bounds: a circle of 32 waits, 64 waiting readers of a key, 256 waits visited
 * and 100,000 claims read in a look.  What lies beyond is not found, and ends
 * with a deadline.  All indexes are checked (G12).
 */
#include "shm/session_liveness.h"
#include "inspect/waits_for.h"
#include "inspect/waits_for_thread.h"
#include "shm/claim_record.h"
#include "shm/readers.h"
#include "shm/wait_queue.h"

#define BUDGET 100000

bool
lhi_waits_for_is_victim(const struct lhi_view *v, uint32_t a, uint32_t b)
{
	const struct shm_claim *ca = &v->claims[a], *cb = &v->claims[b];
	bool no_deadlock = sh32_load(&cb->wflags) & WAITER_NO_DEADLOCK;
	uint32_t p = sh32_load(&ca->priority), q = sh32_load(&cb->priority);
	uint64_t s = sh64_load(&ca->since) >> TID_BITS;
	uint64_t t = sh64_load(&cb->since) >> TID_BITS;

	if (no_deadlock != ((sh32_load(&ca->wflags) & WAITER_NO_DEADLOCK) != 0))
		return no_deadlock;
	if (p != q)
		return p < q;
	return s != t ? s > t : a > b;
}

/* True if that lease, which ends soon, was renewed since the look before: its
 * end has moved.  Remembers it for the next look. */
static bool
was_renewed(struct lhi_waits_for *q, uint32_t ci, uint64_t st)
{
	const struct lhi_soon_leases *before = q->soon_before;
	struct lhi_soon_leases *n = &q->soon;
	uint32_t i;

	for (i = 0; i < n->n && n->lease[i].ci != ci; i++)
		;
	if (i < SOON_MAX) {
		n->lease[i].ci = ci;
		n->lease[i].st = st;
		if (i == n->n)
			n->n++;
	}
	for (i = 0; i < before->n; i++) {
		if (before->lease[i].ci == ci &&
		    state_seq(before->lease[i].st) == state_seq(st))
			return state_deadline(st) >
			    state_deadline(before->lease[i].st);
	}
	return false;
}

/* True if the lease ends by itself soon, or has ended. */
static bool
ends_soon(struct lhi_waits_for *q, uint32_t ci, uint64_t st)
{
	int64_t end = lhi_deadline_ns(q->v, state_deadline(st));

	/* rounded up by less than a tick: that much it may end before */
	if (end - (INT64_C(1) << TICK_SHIFT) >= q->now + ENDS_SOON_NS)
		return false;
	if (end <= q->now)
		return true;
	if (was_renewed(q, ci, st))
		return false;
	if (end < q->soon_ns)
		q->soon_ns = end;
	return !q->all;
}

static void
add_way(struct lhi_hop *h, const struct lhi_way *w)
{
	if (h->n < WAYS_MAX)
		h->way[h->n++] = *w;
}

struct walk {
	struct lhi_waits_for *q;
	struct lhi_hop *h;
	struct lhi_way *way;
};

static bool
add_sake(struct lhi_view *v, uint32_t ci, uint64_t st, void *arg)
{
	struct walk *k = arg;

	(void)v;
	k->way->wait = ci;
	k->way->wait_st = st;
	add_way(k->h, k->way);
	return k->h->n < WAYS_MAX;
}

/* Claim ci holds what h waits for.  What is waited for before it goes? */
static void
add_hold(struct lhi_waits_for *q, struct lhi_hop *h, uint32_t ci)
{
	struct shm_claim *c = lhi_claim(q->v, ci);
	struct lhi_way w = { .hold = ci };
	struct walk k = { q, h, &w };
	uint32_t tid;

	if (c == NULL)
		return;
	w.hold_st = sh64_load(&c->state);
	w.owner = lhi_claim_owner(q->v, ci);
	tid = lhi_claim_tid(c);
	if (!state_held(w.hold_st) ||
	    sh64_load(&c->slot_ref) != h->slot_ref ||
	    ends_soon(q, ci, w.hold_st))
		return;
	if (tid != 0)
		w.wait = lhi_waits_for_thread(q->v, w.owner, tid, &q->budget,
		    &w.wait_st);
	if (w.wait != 0)
		add_way(h, &w);
	w.kind = lhi_named_is(q->v, w.owner) ? WAY_SESSION : WAY_JOB;
	lhi_waits_for_sake(q->v, w.owner, &q->budget, add_sake, &k);
}

static bool
add_reader(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct walk *k = arg;
	struct shm_claim *c = &v->claims[k->h->wait];

	if (!(k->h->flags & WAITER_UPGRADE) || lhi_upgrade_claim(c) != ci)
		add_hold(k->q, k->h, ci);
	return --k->q->budget > 0;
}

/* Adds claim ci if it keeps h, which wants to read, from entering. */
static bool
add_barrier(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct walk *k = arg;
	struct shm_claim *c = &v->claims[ci];
	struct lhi_way w = { .wait = ci };

	lhi_point("deadlock.barrier_met");
	w.wait_st = sh64_load(&c->state);
	if (ci == k->h->wait || --k->q->budget <= 0)
		return false;
	if ((sh32_load(&c->wflags) & (WAITER_SHARED | WAITER_SUSPECT |
	    WAITER_BELL)) || state_st(w.wait_st) != ST_WAIT)
		return true;
	add_way(k->h, &w);
	return false;
}

/* What is in the way of wait ci, in state st?  False: it does not wait. */
static bool
find_ways(struct lhi_waits_for *q, struct lhi_hop *h, uint32_t ci, uint64_t st)
{
	struct lhi_view *v = q->v;
	struct shm_claim *c = lhi_claim(v, ci);
	struct walk k = { q, h, NULL };
	struct shm_slot *s;

	h->wait = ci;
	h->st = st;
	h->at = h->n = 0;
	if (c == NULL)
		return false;
	h->slot_ref = sh64_load(&c->slot_ref);
	h->flags = sh32_load(&c->wflags);
	s = lhi_slot(v, (uint32_t)h->slot_ref);
	if (s == NULL || sh32_load(&s->gen) != h->slot_ref >> 32)
		return false;
	h->word = sh64_load(&s->word);
	if (word_mode(h->word) == WORD_X && !(h->flags & WAITER_UPGRADE))
		add_hold(q, h, word_idx(h->word));
	else if (word_mode(h->word) == WORD_S && (h->flags & WAITER_SHARED))
		(void)lhi_queue_walk(v, s, add_barrier, &k);
	else if (word_mode(h->word) == WORD_S)
		(void)lhi_readers_walk(v, s, add_reader, &k);
	return true;
}

static bool
was_seen(struct lhi_waits_for *q, uint32_t ci)
{
	for (uint32_t i = 0; i < q->n_seen; i++) {
		if (q->seen[i] == ci)
			return true;
	}
	if (q->n_seen == SEEN_MAX)
		return true;
	q->seen[q->n_seen++] = ci;
	return false;
}

/* Go on from wait ci.  True: hop[0..n) is a circle. */
static bool
explore_wait(struct lhi_waits_for *q, uint32_t ci, uint64_t st)
{
	struct lhi_hop *h;

	if (q->n == HOPS_MAX || q->budget <= 0 || was_seen(q, ci))
		return false;
	h = &q->hop[q->n++];
	if (find_ways(q, h, ci, st)) {
		/* ends: h->n is the caller's own, HOPS_MAX of them deep */
		for (h->at = 0; h->at < h->n; h->at++) {
			uint32_t next = h->way[h->at].wait;

			if (next == q->hop[0].wait)
				return true;
			if (q->victim && !lhi_waits_for_is_victim(q->v,
			    q->hop[0].wait, next))
				q->pruned = true;
			else if (explore_wait(q, next, h->way[h->at].wait_st))
				return true;
		}
	}
	q->n--;
	return false;
}

bool
lhi_waits_for_find(struct lhi_waits_for *q, uint32_t ci, bool victim, bool all)
{
	q->victim = victim;
	q->all = all;
	q->n = q->n_seen = 0;
	q->budget = BUDGET;
	return explore_wait(q, ci, sh64_load(&q->v->claims[ci].state));
}

static bool
is_alive(struct lhi_view *v, uint32_t ci)
{
	return !lhi_session_dead(v, lhi_claim_owner(v, ci), true);
}

/*
 * If it is a wait that is in the way of h: is it for the same key, and before
 * h's?  (True of the uses that the states tell of: they are compared after it.)
 */
static bool
is_in_place(const struct lhi_view *v, const struct lhi_hop *h)
{
	const struct lhi_way *w = &h->way[h->at];
	const struct shm_claim *c = &v->claims[w->wait];
	const struct shm_claim *own = &v->claims[h->wait];
	uint64_t rank = lhi_queue_rank(c), own_rank = lhi_queue_rank(own);

	if (w->hold != 0)
		return true;
	if (sh64_load(&c->slot_ref) != h->slot_ref)
		return false;
	if (rank != own_rank)
		return rank > own_rank;
	return (int32_t)(sh32_load(&c->ticket) - sh32_load(&own->ticket)) < 0;
}

/* True if that lease has to wait for that wait, still. */
static bool
is_for_its_sake(const struct lhi_view *v, const struct lhi_way *w)
{
	switch (w->kind) {
	case WAY_JOB:
		return lhi_waits_for_is_job(v, lhi_claim_owner(v, w->wait),
		    w->owner) &&
		    lhi_waits_for_descends(v, lhi_claim_owner(v, w->wait),
		    w->owner);
	case WAY_SESSION:
		return sh64_load(&v->claims[w->wait].grant) == w->owner;
	default:
		return true;
	}
}

/* True if the wait, and what is in its way, are as they were. */
static bool
is_unchanged(struct lhi_waits_for *q, const struct lhi_hop *h)
{
	struct lhi_view *v = q->v;
	const struct lhi_way *w = &h->way[h->at];
	struct shm_claim *c = &v->claims[h->wait];
	uint32_t was = h->flags ^ sh32_load(&c->wflags);
	uint64_t word, st;

	word = sh64_load(&lhi_slot(v, (uint32_t)h->slot_ref)->word);
	if (sh64_load(&c->state) != h->st ||
	    sh64_load(&c->slot_ref) != h->slot_ref ||
	    (was & (WAITER_SHARED | WAITER_UPGRADE)) != 0 ||
	    word_mode(word) != word_mode(h->word) ||
	    (word_mode(word) == WORD_X && word != h->word) ||
	    !is_alive(v, h->wait))
		return false;
	if (w->hold == 0)
		return !(sh32_load(&v->claims[w->wait].wflags) &
		    WAITER_SUSPECT);
	st = sh64_load(&v->claims[w->hold].state);
	return is_for_its_sake(v, w) && state_held(st) &&
	    state_seq(st) == state_seq(w->hold_st) &&
	    lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(st)) &&
	    is_alive(v, w->hold);
}

bool
lhi_waits_for_is_proved(struct lhi_waits_for *q)
{
	lhi_point("deadlock.found");
	for (uint32_t i = 0; i < q->n; i++) {
		if (!is_in_place(q->v, &q->hop[i]) &&
		    !lhi_mutant_on(barrier_anywhere))
			return false;
	}
	for (uint32_t i = 0; i < q->n; i++) {
		if (!is_unchanged(q, &q->hop[i]))
			return false;
	}
	return true;
}

struct shm_session *
lhi_waits_for_session(const struct lhi_view *v, uint32_t ci)
{
	return lhi_waits_for_thread_session(v, lhi_claim_owner(v, ci));
}
