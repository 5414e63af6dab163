/* SPDX-License-Identifier: MIT */
/*
 * Finds deadlocks.  It answers the question: do these waits wait for each
 * other?  A wait that has lasted 40 ms calls it.
 *
 * Shared memory contains no graph, and no process watches it.  But its words
 * say enough.  A claim in state WAIT is a thread (session, and thread id in
 * `since`) that sleeps until it gets a key.  The key's word, or the chain
 * behind it, names the leases that block it, and each lease belongs to a
 * thread.  The search follows these edges from its own wait and checks whether
 * they lead back to it:
 *
 *	wait -> lease		the key's holder, or each of its readers (but
 *				not the wait's own lease, if it waits to upgrade
 *				that)
 *	wait -> wait		for a reader, while others read: the first wait
 *				ahead in the queue that bars readers
 *	lease -> wait		the wait of the thread that holds the lease; a
 *				wait of a job of the `run` that holds it; a wait
 *				that acquires into the named session that holds
 *				it (waits_for_thread.c)
 *
 * A wait needs all of its blockers to go.  So every wait on a circle lasts
 * until one of them gives up or a lease on the circle ends: a deadlock.  (Other
 * waiters in the queue are no edges.  They wait for the same leases, so a
 * circle through them has a shorter one without them.)
 *
 * Three kinds of leases and waits are on no circle by their threads: leases
 * that other threads may release (LH_SHAREABLE: their claims name thread 0),
 * leases of named sessions, and waits without a thread.  A thread and a lease
 * belong together if their sessions belong to the same process, so all
 * attachments of a process count as one.  A thread that waits for its own lease
 * is a circle of one.
 *
 * Proof.  The parts of a circle were read at different times.  So everything is
 * read again before the circle counts:
 *
 * 1. Each wait that blocks a reader is for the same key and ahead of the
 *    reader.  (It may have left the queue at once and wait elsewhere now.)
 * 2. Each wait is in the same state, with the same use number.
 * 3. Each lease is held in the same use, and each exclusive word is unchanged.
 *
 * States and words do not repeat.  So each of them was unchanged from the first
 * reading to the second, and all of them in the moment between the two passes.
 * In that moment everybody waited, for leases that were all held.  A waiting
 * thread does nothing else before its wait ends.  So the deadlock stays, unless
 * a wait times out or is cancelled, or a lease expires, is broken, or is
 * released by another thread.  A session's `outer` is written once, before its
 * process waits for anything, and a wait's claim.grant before its state.  Both
 * are read again between the two readings of the wait's state, so they belong
 * to that use.
 *
 * Deadlines.  A lease that ends within 100 ms is ignored, because it is about
 * to break the circle; unless it was renewed since the previous search.  The
 * wait searches again after that time.
 *
 * Bounds: a circle of 32 waits, 64 waiting readers of a key, and 256 waits and
 * 100,000 claims read in one search.  A larger deadlock is not found, and ends
 * with a deadline.  All indexes are checked (guarantee G12).
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

/* True if the lease, which ends soon, was renewed since the previous search:
 * its end has moved.  Remembers it for the next search. */
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

/* True if the lease has ended or ends soon by itself. */
static bool
ends_soon(struct lhi_waits_for *q, uint32_t ci, uint64_t st)
{
	int64_t end = lhi_deadline_ns(q->v, state_deadline(st));

	/* deadlines are rounded up: it may end up to a tick earlier */
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

/* Adds what must end before claim ci, which holds what h waits for, is
 * released. */
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

/* Adds claim ci if it keeps h, a reader, from entering. */
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

/* Finds the blockers of wait ci, in state st.  Returns false if it does not
 * wait. */
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

/* True if the wait was visited already, or too many were. */
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

/* Continues the path with wait ci.  Returns true if hop[0..n) is a circle. */
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

/* True if the hop's blocker, if it is a wait, is for the same key as h and
 * ahead of h.  This holds for the uses in the states, which are compared
 * afterwards. */
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

/* True if the lease still has to wait for that wait. */
static bool
is_for_its_sake(const struct lhi_view *v, const struct lhi_way *w)
{
	switch (w->kind) {
	case WAY_JOB:
		if (lhi_mutant_on(job_seen_once))
			return true;
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

/* True if the wait and its blocker are unchanged. */
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
	if (lhi_mutant_on(circle_seen_once))
		return true;
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
