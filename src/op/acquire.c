/* SPDX-License-Identifier: MIT */
/*
 * The fast path of acquire: one announcement, one swap, one coarse clock.
 *
 * The claim is announced with a deadline that counts from the last tick this
 * thread saw; the swap of the lock word makes claim, token and deadline valid
 * at once (crash table A1..A3); then the coarse clock is read, once.  If it
 * still shows that tick, the deadline was computed from a reading no older than
 * the tick, and far more than 50 ms of the lease are left (the ttl is at least
 * 100 ms here): the lease has not expired (G3), whoever stopped us in between.
 * If it shows a later tick, the deadline is moved on, or the grant given back.
 *
 * Everything unusual (contention, a queue, an unclean previous end, a token at
 * its ceiling, an empty magazine, a forked child, odd options) is left to the
 * slow path before anything is changed.
 */
#include <errno.h>
#include "base/error.h"
#include "op/acquire.h"
#include "op/fence.h"
#include "proc/magazine.h"
#include "shm/claim.h"

#define FAST_TTL_MIN_MS 100
#define TICK_LATE_NS (4 * NS_PER_MS)	/* + 4 ms that the clock lags */

/*
 * The tick has moved since the deadline was computed.  One tick only
 * make the lease a little shorter; after more, extend it to what was asked.
 * False: it is past its deadline already, and was given back.
 */
static __attribute__((noinline, cold)) bool
catch_up(struct lhi_mag *m, int bit, struct shm_slot *s, uint64_t word,
    const struct timespec *ts, int64_t ttl_ms, uint64_t *state)
{
	struct lhi_view *v = &m->lh->v;
	struct shm_claim *c = &m->claims[bit];
	int64_t then = m->now_ns;
	uint64_t later;

	lhi_mag_tick(m, ts);
	if (m->now_ns - then <= TICK_LATE_NS)
		return true;
	later = state_make(ST_HELD, state_seq(*state),
	    lhi_deadline(v, m->now_ns + ttl_ms * NS_PER_MS));
	if (lhi_now_ns() < lhi_deadline_ns(v, state_deadline(*state)) &&
	    sh64_cas(&c->state, *state, later)) {
		/* pairs with judge()'s swap to EXPIRED: one of us wins */
		if (lhi_now_ns() < lhi_deadline_ns(v, state_deadline(*state))) {
			*state = later;
			sh64_store_rlx(&c->since_ns, (uint64_t)m->now_ns);
			return true;
		}
		*state = later;
	}
	(void)sh64_cas(&c->state, *state, state_make(ST_EXPIRED,
	    state_seq(*state), state_deadline(*state)));
	(void)sh64_cas(&s->word, word,
	    word_make(WORD_FREE, CAUSE_RELEASED, word_ver(word)));
	return false;	/* the claim is taken back when the magazine runs out */
}

static inline bool
opts_plain(const struct lh_acquire_opts *o)
{
	return o->size == sizeof(*o) && (o->mode | o->scope) == 0 &&
	    (o->flags & ~LH_NO_CREATE) == 0 && o->cancel == NULL &&
	    o->ttl_ms >= FAST_TTL_MIN_MS && o->ttl_ms <= LH_TTL_MAX_MS &&
	    o->max_wait_ms >= 0;
}

static inline __attribute__((always_inline)) bool
fast(struct lh *lh, struct lhi_mag *m, struct shm_slot *s, uint32_t idx,
    uint32_t gen, const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	uint64_t w, hint, ver, token, id, deadline, state;
	int64_t ttl_ms = DEFAULT_TTL_MS, expires;
	struct shm_claim *c;
	struct lhi_rec *r;
	struct timespec ts;
	int bit;

	if (unlikely(m == NULL || m->lh != lh || m->free == 0))
		return false;
	w = sh64_load(&s->word);
	if (unlikely(w >> VER_BITS != (uint64_t)WORD_FREE << CLAIM_BITS ||
	    link_idx(sh64_load(&s->waitq)) != 0 ||
	    sh32_load_rlx(&s->gen) != gen))
		return false;
	ver = word_ver(w) + 1;
	hint = sh64_load_rlx(&s->hint);
	token = token_of(hint, ver);
	if (unlikely(token >= sh64_load_rlx(&lh->v.hdr->ceiling) ||
	    token - hint > TOKEN_LAG_MAX))
		return false;
	deadline = m->deadline;
	expires = m->expires_ns;
	if (opts != NULL) {
		if (unlikely(!opts_plain(opts)))
			return false;
		ttl_ms = opts->ttl_ms;
		if (ttl_ms != DEFAULT_TTL_MS) {
			deadline = lhi_deadline(&lh->v,
			    m->now_ns + ttl_ms * NS_PER_MS);
			expires = lhi_deadline_ns(&lh->v, deadline);
		}
	}
	bit = __builtin_ctz(m->free);
	r = &m->rec[bit];
	id = r->id + 1;
	if (unlikely(lid_seq(id) == 0))
		return false;
	c = &m->claims[bit];
	sh32_store_rlx(&c->slot, idx);
	sh32_store_rlx(&c->gen, gen);
	sh64_store_rlx(&c->since_ns, (uint64_t)m->now_ns);
	state = state_make(ST_HELD, lid_seq(id), deadline);
	sh64_store(&c->state, state);			/* 1: FREE -> HELD */
	lhi_point("acquire.announced");
	w = word_make(WORD_X, m->base + (uint32_t)bit, ver);
	if (unlikely(!sh64_cas(&s->word, word_make(WORD_FREE, 0, ver - 1),
	    w))) {
		sh64_store(&c->state, state_make(ST_FREE, lid_seq(id), 0));
		r->id = id;
		return false;
	}
	lhi_point("acquire.granted");
	lhi_coarse(&ts);
	r->slot = s;
	r->word = w;
	r->token = token;
	r->id = id;
	m->free &= m->free - 1;
	if (unlikely(ts.tv_nsec != m->tick_nsec || ts.tv_sec != m->tick_sec)) {
		if (!catch_up(m, bit, s, w, &ts, ttl_ms, &state))
			return false;
		expires = lhi_deadline_ns(&lh->v, state_deadline(state));
	}
	lease->acquired_ns = m->now_ns;
	lease->expires_ns = expires;
	lease->notes = 0;
	lhi_lease_fill(m, r, lease, idx, gen);
	return true;
}

bool
lhi_acquire_fast(struct lh *lh, struct lhi_mag *m, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	return fast(lh, m, ref->slot, ref->idx, ref->gen, opts, lease);
}

int
lhi_ask_set(struct lhi_ask *ask, const struct lh_acquire_opts *opts)
{
	static const struct lh_acquire_opts usual = LH_ACQUIRE_OPTS_INIT;
	const struct lh_acquire_opts *o = opts == NULL ? &usual : opts;
	int64_t now;

	if (o->size != sizeof(*o))
		return lhi_fail(-EINVAL, "acquire options of %zu bytes: set "
		    "them with LH_ACQUIRE_OPTS_INIT", o->size);
	if (o->mode > LH_SHARED || o->scope > LH_QUORUM ||
	    (o->flags & ~LH_NO_CREATE) != 0)
		return lhi_fail(-EINVAL, "unknown mode %u, scope %u or flag in "
		    "0x%x", o->mode, o->scope, o->flags);
	if (o->mode == LH_SHARED)
		return lhi_fail(-EOPNOTSUPP, "shared leases are not supported "
		    "by this version");
	if (o->scope != LH_EPHEMERAL)
		return lhi_fail(-EOPNOTSUPP, "this table has no fence file: "
		    "only scope ephemeral");
	if (o->ttl_ms < 1 || o->ttl_ms > LH_TTL_MAX_MS)
		return lhi_fail(-EINVAL, "a ttl of %lld ms: use 1 ms to 30 days",
		    (long long)o->ttl_ms);
	if (o->max_wait_ms < 0 || o->deadline_ns < 0)
		return lhi_fail(-EINVAL, "a negative time to wait: 0 means try, "
		    "LH_WAIT_FOREVER for ever");
	ask->ttl_ns = o->ttl_ms * NS_PER_MS;
	ask->priority = o->priority;
	ask->cancel = o->cancel;
	ask->try_only = o->deadline_ns == 0 && o->max_wait_ms == 0;
	ask->until_ns = 0;
	if (o->deadline_ns != 0) {
		ask->until_ns = o->deadline_ns;
	} else if (o->max_wait_ms > 0) {
		now = lhi_now_ns();
		ask->until_ns = o->max_wait_ms > (INT64_MAX - now) / NS_PER_MS ?
		    INT64_MAX : now + o->max_wait_ms * NS_PER_MS;
	}
	return 0;
}

static __attribute__((noinline)) int
slow(struct lh *lh, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_ask ask;
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_ask_set(&ask, opts);
	if (error != 0)
		return error;
	if (lease == NULL)
		return lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	return lhi_wait_acquire(lh, ref, &ask, lease);
}

int
lh_key_acquire(struct lh_key *k, const struct lh_acquire_opts *opts,
    struct lh_lease *lease)
{
	struct lhi_ref ref;

	if (unlikely(k == NULL || lease == NULL))
		return lhi_fail(-EINVAL, "no key, or no lease to fill, was "
		    "given (NULL)");
	if (likely(fast(k->lh, lhi_mag_current, k->slot, k->idx, k->gen, opts,
	    lease)))
		return 0;
	ref = (struct lhi_ref){ k->slot, k->idx, k->gen };
	return slow(k->lh, &ref, opts, lease);
}
