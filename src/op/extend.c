/* SPDX-License-Identifier: MIT */
/*
 * Extends a lease, unless that is too late.  lh_extend() and src/live call it.
 *
 * The claim's state is swapped exactly, in the use that belongs to the lease
 * (amendment C1).  A process that expires the lease swaps the same word, so one
 * of the two loses.
 *
 * I1	An extension counts only if the clock, read after the swap, has not
 *	reached the earlier deadline (amendment C11; guarantee G3).  One
 *	that won too late is undone by making the lease expired.  If its named
 *	session has ended as well, the lease is left to the session's reclaim,
 *	which delays the key (shm/session_named_end.c).
 * I2	No two extensions of a lease write the same state; otherwise the late
 *	one could undo what the other has reported.  The thread that acquired
 *	the lease and remembers it writes even deadlines.  All others write odd
 *	ones, each different from the present one: up to 6 units (of 1.05 ms)
 *	sooner than requested, or 4 later.  With rounding this stays within the
 *	8 ms by which a lease may end sooner, and the 10 ms (timing T1) later.
 *	Not guaranteed: six others within 6 ms return to an earlier value, and
 *	with a TTL below 100 ms two may write the same.  Observers of policy
 *	live, whose leases nobody remembers, write even deadlines (op/policy.c).
 * I3	While the lease is converted or handed over, or after that process was
 *	killed, the claim is in its next use, and is extended in that
 *	(op/lease_verify.c).  If the conversion or hand-off completes just then,
 *	the extension does not count and is undone.
 *
 * A crash or stop before the swap changes nothing; after it, the lease is
 * extended.  A resumed thread finds out whether that was in time.
 */
#include <errno.h>
#include "base/error.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/claim_record.h"
#include "shm/lock_word.h"
#include "shm/counters.h"
#include "shm/table_age.h"

/* May the lease end sooner than before? */
enum direction { ANY_END, ONLY_LATER };

#define COARSE_MARGIN_NS (50 * NS_PER_MS)
#define TICK_NS (6 * NS_PER_MS)
#define SOONER 6			/* deadline units; even */
#define LATER 4

/* True if it is certainly before `until`.  The claim cache must have seen the
 * present tick. */
static bool
is_surely_before(const struct lhi_claim_cache *m, int64_t until)
{
	return until - lhi_claim_cache_now_ns(m) > COARSE_MARGIN_NS ||
	    lhi_now_ns(&m->lh->v) < until;
}

static void
count_extend(struct lh *lh)
{
	if (lhi_claim_cache_current->lh == lh)
		lhi_claim_cache_current->extended++;
	else
		lhi_counters_add(&lh->v, STAT_EXTENDS, 1);
}

/* Returns the time from which a TTL counts.  If the fast path may follow, this
 * is the thread's last tick, if that is recent, so that the thread finds its
 * own deadlines again. */
static int64_t
count_from(bool own, int64_t now, int64_t ttl_ms)
{
	const struct lhi_claim_cache *m = lhi_claim_cache_current;

	return own && ttl_ms >= FAST_TTL_MIN_MS &&
		       now - lhi_claim_cache_now_ns(m) < TICK_NS
		   ? lhi_claim_cache_now_ns(m)
		   : now;
}

/* Returns the deadline for a lease in state st; `own` as in extend_slow(). */
static uint64_t
deadline_of(const struct lh *lh, uint64_t st, bool own, int64_t from,
    int64_t ttl_ms)
{
	uint64_t was = state_deadline(st);
	int64_t at = from + ttl_ms * NS_PER_MS;
	uint64_t d = lhi_deadline(&lh->v, at) | 1;		/* I2 */

	if (own)
		return lhi_deadline_coarse(&lh->v, at);
	if (lhi_mutant_on(same_deadline))
		return d;
	if (was + SOONER < d || was > d + SOONER || ttl_ms < FAST_TTL_MIN_MS)
		return d;
	return was + 2 <= d + LATER ? (was + 1) | 1 : d - SOONER;
}

/* Tries to extend once.  Returns 0; LEASE_LIVES if another thread was faster;
 * -errno.  `own` and `how` as in extend_slow(). */
static int
extend_once(struct lh *lh, struct lh_lease *l, const struct lhi_held *h,
    int64_t ttl_ms, bool own, enum direction how)
{
	uint64_t st = sh64_load(&h->claim->state), later;
	int64_t now = lhi_now_ns(&lh->v);
	int64_t end = lhi_deadline_ns(&lh->v, state_deadline(st));
	enum lhi_lease_status is = lhi_lease_status(lh, l, h, st);
	int error;

	if (is == LEASE_OVER ||
	    (is == LEASE_MOVING && lhi_mutant_on(extends_at_rest)))
		return lhi_lease_enforce(lh, l, h);
	if (state_strict(st)) {		/* it has no deadline to move */
		l->expires_ns = lhi_cluster_check_end_ns(h, INT64_MAX);
		return lhi_lease_verify_again(lh, l, h);
	}
	lhi_point("extend.checked");
	later = state_make(state_st(st), state_seq(st), deadline_of(lh, st, own,
	    count_from(own, now, ttl_ms), ttl_ms));
	if (how == ONLY_LATER && state_deadline(later) <= state_deadline(st)) {
		l->expires_ns = lhi_cluster_check_end_ns(h, end);
		return lhi_lease_verify_again(lh, l, h);
	}
	if (lhi_mutant_on(use_number))	/* its seq is constant: no proof */
		st = sh64_load(&h->claim->state);
	if (!sh64_cas(&h->claim->state, st, later))		/* claim #7 */
		return LEASE_LIVES;
	lhi_point("extend.swapped");
	l->expires_ns = lhi_deadline_ns(&lh->v, state_deadline(later));
	if (l->expires_ns < end)
		end = l->expires_ns;	/* shortened: both deadlines count */
	if (lhi_mutant_on(late_extension_kept) || lhi_now_ns(&lh->v) < end) {
		bool granted = lhi_lease_is_granted(h);

		if (!granted || lhi_lease_is_orphaned(lh, l)) {
			if (is == LEASE_MOVING)			/* I3 */
				(void)sh64_cas(&h->claim->state, later, st);
			return granted ? lhi_lease_fail_lost(lh, h) :
			    lhi_lease_enforce(lh, l, h);
		}
		l->expires_ns = lhi_cluster_check_end_ns(h, l->expires_ns);
		error = lhi_lease_verify_again(lh, l, h);
		if (error == 0)
			count_extend(lh);
		return error;
	}
	/* too late: undo it (I2).  The state keeps the sooner of the two
	 * deadlines (handoff.c) */
	error = lhi_claim_mark(&lh->v, h->claim, h->sid, later, ST_EXPIRED,
	    state_deadline(later < st ? later : st));
	if (error != 0)		/* -ESTALE: its session ended unnoticed (I1) */
		return error == -EAGAIN ? LEASE_LIVES
					: lhi_lease_fail_lost(lh, h);
	lhi_counters_add(&lh->v, STAT_EXPIRED_OWN, 1);
	return lhi_lease_enforce(lh, l, h);
}

/* Extends on the slow path.  own: this thread's claim cache remembers the
 * lease. */
static __attribute__((noinline)) int
extend_slow(struct lh *lh, struct lh_lease *l, int64_t ttl_ms, bool own,
    enum direction how)
{
	struct lhi_held h;
	uint32_t n = 0;
	int error = lhi_lease_check(lh, l, &h);

	if (error == -EALREADY)
		return lhi_fail(-ESTALE, "this lease was released");
	if (error != 0)
		return error;
	if (ttl_ms < 1 || ttl_ms > LH_TTL_MAX_MS)
		return lhi_fail(-EINVAL, "a ttl of %lld ms: use 1 ms to "
		    "30 days", (long long)ttl_ms);
	if (!state_strict(sh64_load(&h.claim->state))) {
		error = lhi_table_age_check(&lh->v, lhi_now_ns(&lh->v));
		if (error != 0)
			return error;
		lhi_claim_ends_within(&lh->v, h.ci, ttl_ms * NS_PER_MS);
	}
	do
		error = extend_once(lh, l, &h, ttl_ms, own, how);
	while (error == LEASE_LIVES && LHI_WITHIN(n, LHI_SWAPS_MAX));
	return error != LEASE_LIVES ? error :
	    lhi_damaged_restless(&lh->v, "a lease", h.ci);
}

/* Extends after a new reading of the clock: the last tick is too old to count
 * from. */
static __attribute__((noinline, cold)) int
extend_behind(struct lhi_claim_cache *m, struct lh_lease *l, int64_t ttl_ms)
{
	struct timespec ts;

	lhi_coarse(&ts);
	lhi_claim_cache_tick(m, &ts, m->ttl_ms > 0 ? m->ttl_ms :
	    DEFAULT_TTL_MS);
	return extend_slow(m->lh, l, ttl_ms, true, ANY_END);
}

/*
 * The fast path, for a lease that this thread acquired and that ends much
 * later.  The claim cache proves which use of which claim it is, so one swap of
 * the state is enough.  The coarse clock is read once, after it.  The new
 * deadline counts from the thread's last tick, however old.  So the swap is
 * made only if the new deadline is not before the old one, and can do no harm.
 * If the clock then shows another tick, the extension is repeated slowly.
 */
static inline __attribute__((always_inline)) int
extend_own(struct lhi_claim_cache *m, struct lhi_cached_claim *r,
    struct lh_lease *l, int64_t ttl_ms)
{
	struct shm_claim *c = &m->claims[r - m->rec];
	uint64_t st = sh64_load(&c->state), later = m->held;
	struct timespec ts;
	int64_t old, expires = m->expires_ns;

	if (unlikely(token_cluster(r->token)))
		return extend_slow(m->lh, l, ttl_ms, true, ANY_END);
	if (unlikely(ttl_ms != m->ttl_ms)) {
		later = state_make(ST_HELD, 0, deadline_of(m->lh, 0, true,
		    lhi_claim_cache_now_ns(m), ttl_ms));
		expires = lhi_deadline_ns(&m->lh->v, state_deadline(later));
	}
	later |= r->id << SEQ_SHIFT;
	if (unlikely(st != later)) {
		if (state_st(st) != ST_HELD ||
		    state_seq(st) != lid_seq(r->id) ||
		    state_deadline(later) < state_deadline(st) ||
		    !sh64_cas(&c->state, st, later))		/* claim #7 */
			return extend_behind(m, l, ttl_ms);
	}
	lhi_point("extend.swapped");
	if (unlikely(sh64_load(&r->slot->word) !=
	    (r->token << VER_SHIFT | r->held_low)) &&
	    !lhi_mutant_on(extends_unnamed))
		/* reports the loss */
		return extend_slow(m->lh, l, ttl_ms, true, ANY_END);
	lhi_coarse(&ts);
	/* not after `never`, which is above `later` */
	old = m->lh->v.t0_ns + (int64_t)(state_deadline(st) << TICK_SHIFT);
	if (likely(ts.tv_nsec == m->tick_nsec && ts.tv_sec == m->tick_sec &&
	    old - lhi_claim_cache_now_ns(m) > COARSE_MARGIN_NS)) {
		l->expires_ns = expires;
		m->extended++;
		return 0;
	}
	/* the deadline was counted from an old tick, or the swap may have come
	 * too late: undo it, and the slow path reports that */
	lhi_claim_cache_tick(m, &ts, m->ttl_ms > 0 ? m->ttl_ms :
	    DEFAULT_TTL_MS);
	if (!is_surely_before(m, old) && sh64_cas(&c->state, later,
	    state_make(ST_EXPIRED, state_seq(st), 0)))
		lhi_counters_add(&m->lh->v, STAT_EXPIRED_OWN, 1);
	return extend_slow(m->lh, l, ttl_ms, true, ANY_END);
}

static __attribute__((noinline)) int
extend_other(struct lh *lh, struct lh_lease *l, int64_t ttl_ms)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r =
	    lhi_lease_cached_claim(lh, m, l, CACHED_HELD);

	if (r == NULL || ttl_ms < 100 || ttl_ms > LH_TTL_MAX_MS ||
	    lhi_mutant_on(use_number) || lhi_mutant_on(late_extension_kept))
		return extend_slow(lh, l, ttl_ms, false, ANY_END);
	return extend_own(m, r, l, ttl_ms);
}

int
lh_extend(struct lh *lh, struct lh_lease *l, int64_t ttl_ms)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (unlikely(l == NULL) || unlikely(m->lh != lh) ||
	    unlikely(ttl_ms < 100) || unlikely(ttl_ms > LH_TTL_MAX_MS) ||
	    unlikely(!lhi_lease_is_of_claim_0(m, l)) ||
	    lhi_mutant_on(use_number) || lhi_mutant_on(late_extension_kept))
		return extend_other(lh, l, ttl_ms);
	return extend_own(m, &m->rec[0], l, ttl_ms);
}

int
lhi_extend_later(struct lh *lh, struct lh_lease *l, int64_t ttl_ms)
{
	return extend_slow(lh, l, ttl_ms, false, ONLY_LATER);
}
