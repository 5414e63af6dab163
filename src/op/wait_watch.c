/* SPDX-License-Identifier: MIT */
/*
 * The watch over a key: how soon each waiter looks at it by itself.
 *
 * A waiter is woken when it can be granted the key.  But the process that is to
 * wake it may die or stop, and nobody is woken when a holder dies unseen.  So
 * some waiters must look by themselves.  If all did, a thousand idle waiters
 * would take more than a processor.
 *
 *	first		The first waiter looks every 20 ms, and at the holder's
 *			deadline.  (It also sleeps on the holder's death word:
 *			op/death_hint.c.)
 *	deputy		The last waiter looks every 40 ms, and does what the
 *			first one would do if that is stopped or dead
 *	others		40 ms, doubled for each other session behind that runs;
 *			or 20 ms, four times for each waiter ahead; or 40 ms and
 *			20 ms for each waiter of the key; the earliest, and 20 s
 *			at most
 *
 * So n waiters look about 117 + 50 times a second, all together, and beyond a
 * thousand 117 + n/20.
 *
 * Why the last.  A queue shortens at its front, and may do so very fast.  That
 * does not change how many wait behind a waiter, so the sleep that it has
 * chosen stays right.  The number rises when a waiter arrives behind it.  That
 * one is awake, and is the deputy.  It falls when a waiter behind it leaves.
 * If that was the last, it wakes its predecessor, the new deputy
 * (shm/wait_queue.c).
 *
 * Stops and deaths.  No shared word says who is on watch, so no stopped process
 * can keep the watch to itself.  If the last k sessions are stopped or dead, or
 * left from the middle, the next one looks within 40 ms x 2^k at most.
 * Then it sees that they do not run, and is the deputy.  A waiter that dies or
 * stops before it has woken the new deputy counts as one of the k.
 *
 * The new first.  It is woken by the waiter that leaves before it (amendment
 * C4).  If that one dies or stops first, the new first sleeps on for as long as
 * its old place allowed.  So a deputy that finds another first than at its last
 * look wakes it.
 *
 * Sessions are counted, because a process stops and dies as a whole: its other
 * threads are no help.  So a waiter that is not the first of its session sleeps
 * for 250 ms or longer.  The first of its session wakes it when it leaves.
 *
 * Nothing here writes shared memory.  The links behind a waiter are followed
 * without proof that they are of this queue, and /proc may show another thread:
 * a wrong number makes one sleep too short or too long, and 20 s at most.
 */
#include "op/wait_watch.h"
#include "base/clock.h"
#include "shm/session_liveness.h"
#include "shm/wait_queue.h"

#define FIRST_NS (20 * NS_PER_MS)
#define DEPUTY_NS (40 * NS_PER_MS)
#define LONGEST_NS (20 * NS_PER_SEC)
#define WAITER_NS (20 * NS_PER_MS)	/* for each waiter of the key */
#define AHEAD_MAX 5u			/* 20 ms x 4^5 is 20 s */
#define BEHIND_MAX 9u			/* 40 ms x 2^9 is 20 s */
#define HOPS 64u			/* suspects and stopped ones included */
#define SAME_SESSION_NS (250 * NS_PER_MS)
#define THREAD_NS (5 * NS_PER_MS)	/* for each thread that waits */

struct head_walk {
	uint32_t ci, hops;
	struct lhi_wait_watch *w;
};

static bool
count_ahead(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct head_walk *h = arg;
	struct lhi_wait_watch *w = h->w;

	if (ci == h->ci)
		return false;
	if (++h->hops == HOPS) {
		w->ahead = AHEAD_MAX;
		return false;
	}
	/* a waiter for an upgrade watches the readers, and not the holder */
	if (sh32_load(&v->claims[ci].wflags) & (WAITER_SUSPECT |
	    WAITER_UPGRADE))
		return true;
	if (w->ahead++ == 0)
		w->first = ci;
	return w->ahead < AHEAD_MAX;
}

/* True if that session is among the n that were seen. */
static bool
is_seen(const uint64_t seen[BEHIND_MAX], uint32_t n, uint64_t owner)
{
	for (uint32_t i = 0; i < n; i++)
		if (seen[i] == owner)
			return true;
	return false;
}

/* Returns how many other sessions wait behind claim ci, and run as far as is
 * known; BEHIND_MAX if they are as many, or if the end is far. */
static uint32_t
count_behind(struct lhi_view *v, uint32_t ci)
{
	uint64_t seen[BEHIND_MAX], mine = lhi_claim_owner(v, ci), owner;
	uint32_t behind[HOPS], n_behind, n = 0, next = ci;

	/* first the end, because asking about a thread takes microseconds */
	for (n_behind = 0; n_behind < HOPS; n_behind++) {
		next = link_idx(sh64_load(&v->claims[next].wnext));
		if (lhi_claim(v, next) == NULL)
			break;
		behind[n_behind] = next;
	}
	if (n_behind == HOPS)
		return BEHIND_MAX;
	for (uint32_t i = 0; i < n_behind && n < BEHIND_MAX; i++) {
		owner = lhi_claim_owner(v, behind[i]);
		if (owner != mine && !is_seen(seen, n, owner) &&
		    !lhi_queue_is_out(v, behind[i]) &&
		    lhi_admission_may_run(v, behind[i]))
			seen[n++] = owner;
	}
	return n;
}

/* Returns about how many wait for the key: by tickets, so those that have given
 * up since the first one came count as well. */
static uint32_t
count_waiters(const struct lhi_admission *t)
{
	struct shm_claim *first = lhi_claim(t->v,
	    link_idx(sh64_load(&t->s->waitq)));

	return first == NULL ? 1 : sh32_load(&t->s->ticket) -
	    sh32_load(&first->ticket);
}

/* True if another thread of its session waits before it. */
static bool
has_own_ahead(struct lhi_admission *t, uint32_t threads)
{
	struct lhi_queue_place place;

	if (threads == 1)	/* itself */
		return false;
	lhi_admission_read_place(t, &place);
	return !place.first_of_session;
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void
lhi_wait_watch_read(struct lhi_admission *t, uint32_t threads,
    struct lhi_wait_watch *w)
{
	struct head_walk h = { t->ci, 0, w };
	int64_t longer = (int64_t)threads * THREAD_NS;

	w->first = t->ci;
	w->ahead = 0;
	if (lhi_queue_walk(t->v, t->s, count_ahead, &h) != 0) {
		w->first = t->ci;	/* the queue is changing: keep watch */
		w->ahead = 0;
	}
	w->behind = w->ahead == 0 ? 0 : count_behind(t->v, t->ci);
	w->period_ns = smaller(LONGEST_NS, DEPUTY_NS +
	    WAITER_NS * count_waiters(t));
	w->period_ns = smaller(w->period_ns, FIRST_NS << 2 * w->ahead);
	if (!lhi_mutant_on(deputy_sleeps_on))
		w->period_ns = smaller(w->period_ns, DEPUTY_NS << w->behind);
	if (!has_own_ahead(t, threads))
		return;
	if (longer < SAME_SESSION_NS + t->ci % 64 * 12 * NS_PER_MS)
		longer = SAME_SESSION_NS + t->ci % 64 * 12 * NS_PER_MS;
	if (w->period_ns < longer)
		w->period_ns = smaller(longer, LONGEST_NS);
}

void
lhi_wait_watch_first(struct lhi_admission *t, struct lhi_wait_watch *w)
{
	uint32_t seen = w->seen;
	struct shm_claim *c = lhi_claim(t->v, w->first);

	w->seen = w->first;
	if (seen == 0 || seen == w->first || w->first == t->ci || c == NULL ||
	    w->behind != 0 || lhi_mutant_on(new_first_unwoken))
		return;
	lhi_point("watch.new_first");
	lhi_queue_wake(t->v, c);
}
