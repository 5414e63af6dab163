/* SPDX-License-Identifier: MIT */
/*
 * Whether a lease of a cluster key may be relied on, and until when.
 *
 * A lease of a cluster key is one of the local table like any other, but is
 * valid only while this host has the key in the cluster.  The shim says so by
 * the slot's right, the epoch and D (shm/cluster_right.c). This is checked
 * after each grant, and whenever a lease is verified, extended, converted or
 * handed over.  Model: tests/model/delegate.pml.  lhi_right_is_valid() reads,
 * in this order:
 *
 *	e = epoch; right; D = until; epoch is e still; the clock is before D
 *
 *	right	of that epoch, of the slot's life that the lease is of, and not
 *		a shared one for an exclusive lease
 *	order	D belongs to the epoch before and after it: another session's D
 *		is written after the epoch has risen
 *	clock	last, and precise: CLOCK_BOOTTIME, which goes on while the
 *		machine is suspended, as the cluster does
 *
 * Invariants
 *  I1	If it is held locally at any moment at or after the read of the right,
 *	and the right is valid, this host has the key in the cluster until D.
 *	A right is given, and taken away, only while the shim holds the key
 *	itself.  So it has not changed since the lease was granted, except to
 *	none.  Therefore the right is read first, then the local word.
 *  I2	After a grant its token is also compared with the base, when the right
 *	has been seen.  A shim that was stopped may give the right after a lease
 *	has been granted with an earlier token.
 *  I3	A lease whose right is found to have ended is made to end, also if a
 *	late heartbeat brings D back afterwards (G9).
 *
 * A crash or stop in here leaves a lease of a process: others wait for it no
 * longer than for any other's.
 *
 * The fast path.  A thread that acquires the key again and again would pay for
 * the precise clock each time.  It reads that once in a tick of the coarse one,
 * which all fast paths use.  If D was far more than a tick away then, it is not
 * reached as long as that clock shows the same (a suspend changes it). Then it
 * is enough that epoch and right are the same, D is not earlier, and the token
 * is above the base.  A right that was taken away and given again in between
 * has raised the base above this token (I2).
 *
 * Not guaranteed: that a word of a cluster key does not return while a process
 * is stopped between its load and its swap.  Its version is that of its token:
 * the low 20 bits of the base's revision, then 20 of a count.  The low 12 bits
 * of the count go on by one with every grant, whatever its base; the others
 * start afresh with each base.  So the version of a grant returns when
 *	the key is acquired again at a revision that is a multiple of 2^20
 *	  above the first (at 1,000 revisions of the cluster a second: not
 *	  before 17 minutes have passed, and then in one of 2^20 cases)
 *	and a multiple of 4,096 grants of the key have been made in between
 * and the word returns with it if the same claim holds, or the same cause is
 * left.  A grant that is made so late is given back: its token is not above the
 * base (I2). But a process that was stopped in a release, a conversion or a
 * hand-off, or while freeing the word of an ended lease, takes the word from
 * another lease of this host.  Its holder learns this when it checks:
 * lh_verify(), lh_extend(). (Other keys: 2^40 grants of the key,
 * shm/lock_word.c.) No fast path relies on a remembered word alone: life of the
 * slot, or base, is compared.
 *
 * The shim itself has leases of cluster keys to keep others from them: it needs
 * no right (serves).
 */
#include <errno.h>
#include "base/error.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/claim_record.h"

#define LEARN_NS (100 * NS_PER_MS)	/* a tick is 10 ms at most */

/* The life of its slot. */
static struct lhi_ref
ref_of_lease(const struct lhi_held *h)
{
	return (struct lhi_ref){ h->slot, h->slot_ref };
}

bool
lhi_cluster_check_lease(const struct lhi_held *h)
{
	const struct lhi_ref ref = ref_of_lease(h);

	return !lhi_cluster_check_is_needed(h->lh, h->slot) ||
	    lhi_right_is_valid(&h->lh->v, &ref, h->shared, NULL);
}

int64_t
lhi_cluster_check_end_ns(const struct lhi_held *h, int64_t end_ns)
{
	const struct lhi_ref ref = ref_of_lease(h);
	struct lhi_right_end end;
	int64_t now;

	if (!lhi_cluster_check_is_needed(h->lh, h->slot))
		return end_ns;
	now = lhi_now_ns(&h->lh->v);	/* too early if we are stopped */
	if (!lhi_right_is_valid(&h->lh->v, &ref, h->shared, &end))
		return now;
	return end.left_ns < end_ns - now ? now + end.left_ns : end_ns;
}

void
lhi_cluster_check_shorten(struct lh *lh, struct lh_lease *l)
{
	struct lhi_held h;

	if (token_cluster(l->token) && lhi_lease_find(lh, l, &h) == 0)
		l->expires_ns = lhi_cluster_check_end_ns(&h, l->expires_ns);
}

bool
lhi_cluster_check_time_left(struct lh *lh, const struct lh_lease *l,
    struct lhi_right_end *end)
{
	struct lhi_held h;
	struct lhi_ref ref;

	*end = (struct lhi_right_end){ INT64_MAX, INT64_MAX };
	if (!token_cluster(l->token) || lh->serves)
		return true;
	if (lhi_lease_find(lh, l, &h) != 0)
		return false;
	ref = ref_of_lease(&h);
	return lhi_right_is_valid(&lh->v, &ref, h.shared, end);
}

static uint64_t
half_of_tokens(uint64_t base)
{
	return base + (UINT64_C(1) << CLUSTER_SEQ_BITS) / 2;
}

enum lhi_cluster_check_place
lhi_cluster_check_place(const struct lhi_view *v, const struct shm_slot *s,
    uint64_t token)
{
	uint64_t base = lhi_right_base(v, s), above = token - base;
	uint64_t span = UINT64_C(1) << CLUSTER_SEQ_BITS;

	if (token <= base || above >= span - CLUSTER_SPARE)
		return PLACE_BAD;
	return token < half_of_tokens(base) ? PLACE_GOOD : PLACE_HALF;
}

int
lhi_cluster_check_next_token(const struct lhi_held *h, uint64_t token)
{
	if (!lhi_cluster_check_is_needed(h->lh, h->slot) ||
	    lhi_cluster_check_place(&h->lh->v, h->slot, token) != PLACE_BAD)
		return 0;
	return lhi_fail(-EAGAIN, "the tokens that this host has for the key "
	    "are used up: the lease is as it was; release it and acquire "
	    "anew");
}

void
lhi_cluster_check_remember_right(struct lh *lh, const struct lh_lease *l,
    int64_t ttl_ns)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct lhi_cached_claim *r = &m->rec[0];
	struct lhi_right_end end;
	struct timespec ts;
	struct lhi_ref ref;
	int64_t ttl_ms = ttl_ns / NS_PER_MS;
	uint64_t limit, half;

	if (m->lh != lh || m->group == NULL || r->use != CACHED_LENT ||
	    r->id != l->id[1] || l->mode != LH_EXCLUSIVE ||
	    ttl_ms < FAST_TTL_MIN_MS || ttl_ms * NS_PER_MS != ttl_ns)
		return;
	lhi_coarse(&ts);
	if (ts.tv_nsec != m->tick_nsec || ts.tv_sec != m->tick_sec ||
	    ttl_ms != m->ttl_ms)
		lhi_claim_cache_tick(m, &ts, ttl_ms);
	ref = lhi_ref_at(&lh->v, sh64_own(&m->claims->slot_ref));
	m->lent.right = lhi_right_load(&lh->v, ref.slot);
	m->lent.epoch = lhi_cluster_epoch(&lh->v);
	if (r->use != CACHED_LENT ||
	    !lhi_right_is_valid(&lh->v, &ref, false, &end) ||
	    end.left_ns < LEARN_NS)
		return;
	m->lent.until = (uint64_t)end.until_ns;
	m->lent.ends_ns = lhi_claim_cache_now_ns(m) + end.left_ns;
	lhi_claim_cache_set_key(m, r, ref.slot, ref.slot_ref, LH_EXCLUSIVE);
	/* only found by callers that check the right */
	lhi_cached_claim_forget(r);
	limit = r->token + MASK(SEQ_BITS) - lid_seq(r->id) + 1;
	half = half_of_tokens(lhi_right_base(&lh->v, ref.slot));
	lhi_cached_claim_bound(r, limit < half ? limit : half);
	m->lent.slot_ref = ref.slot_ref;
}

void
lhi_cluster_check_serve(struct lh *lh)
{
	lhi_cluster_serve(&lh->v, lh->sid);
	lh->serves = true;
}
