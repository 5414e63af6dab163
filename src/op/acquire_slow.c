/* SPDX-License-Identifier: MIT */
/*
 * Takes a lock on the slow path, in either mode: announce, swap the word, read
 * the clock.  acquire_wait.c and live/ticket_api.c call it.
 *
 * Guarantee G3: the precise clock is read after the swap.  A grant that came
 * too late is given back, and the attempt continues.  A late reader's claim is
 * ended like any other, and removed from the chain before it is used again.
 *
 * A crash or stop
 *
 *	WAIT -> HELD (claim #3), word not swapped	as a linked waiter: it
 *				does not own a word that does not name it
 *	word swapped		it holds the key, until its deadline or death,
 *				and the next process that looks unlinks it
 */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "op/acquire_attempt.h"
#include "op/busy_detail.h"
#include "op/handoff.h"
#include "op/token_ceiling.h"
#include "op/policy.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/claim_note.h"
#include "shm/consistency.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/wait_queue.h"
#include "shm/request_record.h"
#include "shm/table_age.h"

static struct lhi_view *view(struct lhi_attempt *a) { return &a->lh->v; }

int
lhi_attempt_begin(struct lhi_attempt *a, struct lh *lh,
    struct lhi_claim_cache *m, const struct lhi_ref *ref,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	int bit, error = lhi_table_age_check(&lh->v, lhi_now_ns(&lh->v));

	if (error != 0)
		return error;
	if (m == NULL)
		return lhi_claim_cache_fail();
	lhi_claim_cache_leave_wait(m);
	bit = ask->shared ? lhi_claim_cache_take_reader(m) :
	    lhi_claim_cache_take(m);
	if (bit < 0)
		return bit;
	memset(a, 0, sizeof(*a));
	a->lh = lh;
	a->m = m;
	a->ask = ask;
	a->lease = lease;
	a->slot_ref = ref->slot_ref;
	a->hint.watch = &m->wait.watch;
	a->c = &m->claims[bit];
	a->t.v = &lh->v;
	a->t.s = ref->slot;
	a->t.ci = m->base + (uint32_t)bit;
	a->t.priority = ask->priority;
	a->t.shared = a->t.reader = ask->shared;
	return 0;
}

void
lhi_attempt_withdraw(struct lhi_attempt *a, int error)
{
	uint64_t st;
	uint32_t bit;

	lhi_attempt_leave_queue(a);
	st = sh64_load(&a->c->state);
	if (state_st(st) != ST_FREE)
		sh64_store(&a->c->state, state_make(ST_FREE, state_seq(st), 0));
	bit = a->t.ci - a->m->base;	/* the cache may use another group
					 * now */
	if (bit < SHM_GROUP)
		lhi_claim_cache_put(a->m, (int)bit);
	lhi_busy_detail_count(view(a), a->t.s, a->t.ci, a->ask->shared, error);
}

/* Returns `since` for a lease that starts at `ns`.  A lease that any thread may
 * release names no thread (op/deadlock.c). */
static uint64_t
since_of_lease(struct lhi_attempt *a, int64_t ns)
{
	return lhi_since(view(a), ns, a->ask->shareable ? 0 : a->m->tid);
}

void
lhi_attempt_announce(struct lhi_attempt *a, unsigned st, uint64_t deadline)
{
	uint64_t seq = lhi_claim_next_seq(view(a), a->c,
	    sh64_load(&a->c->state));

	if (a->ask->aside)
		lhi_claim_note_write(view(a), a->t.ci, seq, a->ask->more);
	if (a->ask->request != NULL && st != ST_WAIT)
		lhi_request_announce(a->ask->request, lid_make(a->t.ci,
		    lhi_claim_epoch(a->c), seq), a->token, a->notes);
	sh64_store(&a->c->state, state_make(st, seq, deadline));
}

uint64_t
lhi_attempt_session(const struct lhi_attempt *a)
{
	const struct lh_session *s = a->ask->more->session;

	return s == NULL ? 0 : s->sid;
}

/* Restores the claim's state before its failed announcement, with the new
 * seq. */
static void
retract_claim(struct lhi_attempt *a)
{
	uint64_t st = sh64_load(&a->c->state);

	if (a->t.queued) {	/* it still waits, since then */
		sh64_store_rlx(&a->c->since, lhi_since(view(a), a->queued_ns,
		    a->m->tid));
		sh64_store_rlx(&a->c->grant, lhi_attempt_session(a));
	}
	sh64_store(&a->c->state, state_make(a->t.queued ? ST_WAIT : ST_FREE,
	    /* claim #4: HELD -> WAIT */
	    state_seq(st), 0));
	lhi_counters_spent(view(a));
}

void
lhi_attempt_leave_queue(struct lhi_attempt *a)
{
	if (!a->t.queued)
		return;
	(void)lhi_queue_remove(view(a), a->t.s, a->t.ci);
	a->t.queued = false;
	if (lhi_mutant_on(leaver_silent))
		return;
	/* amendment C4: a leaver wakes the new first waiter; the waiter that
	 * takes over its process's watch; pairs with park_claim(): park, then
	 * look at the queue */
	lhi_queue_wake_first(view(a), a->t.s);
	lhi_admission_hand_over(&a->t);
}

/* Undoes a grant whose deadline passed before it could be reported.  Another
 * thread may have found the lease and converted it, so the present word decides
 * how it is undone, until the word does not name the claim any more. */
static int
undo_late_grant(struct lhi_attempt *a, uint32_t cause)
{
	struct shm_slot *s = a->t.s;
	uint32_t n = 0, rounds = 0;
	uint64_t st, w;
	int error = 0;

	do	/* also if it was just extended */
		st = sh64_load(&a->c->state);
	while (state_held(st) && !sh64_cas(&a->c->state, st,
	    state_make(ST_EXPIRED, state_seq(st), state_deadline(st))) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	if (LHI_REACHED(n, LHI_SWAPS_MAX))
		return lhi_damaged_restless(view(a), "the state of a claim",
		    a->t.ci);
	lhi_point("acquire.expired");
	do {
		w = sh64_load_sc(&s->word);
		if (word_mode(w) == WORD_X && word_idx(w) == a->t.ci &&
		    sh64_cas(&s->word, w, lhi_free_word(s, cause,
		    word_ver(w))))
			lhi_queue_wake_first(view(a), s);
		/* also if it was X: it may have become S, and others may have
		 * joined */
		if (!lhi_mutant_on(late_as_granted) &&
		    (word_mode(w) != WORD_X || !lhi_mutant_on(late_one_try)))
			error = lhi_readers_remove(view(a), s, a->t.ci);
		w = sh64_load_sc(&s->word);
	} while (error == 0 && (word_mode(w) == WORD_X ||
	    word_mode(w) == WORD_S) && word_idx(w) == a->t.ci &&
	    !lhi_mutant_on(late_as_granted) &&
	    LHI_WITHIN(rounds, LHI_SWAPS_MAX));
	if (LHI_REACHED(rounds, LHI_SWAPS_MAX))
		return lhi_damaged_restless(view(a), "the lock word of a slot",
		    lhi_slot_idx(view(a), s));
	retract_claim(a);
	return WAITING;
}

static void
log_grant(struct lhi_attempt *a, bool queued, int64_t now_ns, uint64_t token,
    unsigned cause)
{
	struct lhi_view *v = view(a);

	if (a->ask->shared)
		lhi_counters_add(v, STAT_SHARED, 1);
	if (queued)
		lhi_counters_waited(v, now_ns - a->queued_ns);
	else if (link_idx(sh64_load(&a->t.s->waitq)) != 0)
		lhi_counters_add(v, STAT_BARGES, 1);
	if (queued)
		lhi_event_lease(v, LH_LOG_WAIT_GRANTED, a->ask->shared,
		    a->t.s, a->t.ci, token, cause);
	else
		lhi_claim_cache_log(a->m, LH_LOG_GRANTED, a->ask->shared,
		    a->t.s, a->t.ci, token, cause);
}

/* Remembers the claim for a fast release: usually this thread releases it. */
static void
cache_claim(struct lhi_attempt *a, uint64_t token)
{
	struct lhi_cached_claim *r = &a->m->rec[a->t.ci - a->m->base];
	enum lhi_use use = lhi_cached_claim_use(view(a), a->t.s,
	    a->ask->shared);

	lhi_claim_cache_set_key(a->m, r, a->t.s, a->slot_ref,
	    a->ask->shared ? LH_SHARED : LH_EXCLUSIVE);
	r->token = token;
	lhi_cached_claim_set(r, a->m->watched || (a->ask->rare &&
	    (!a->ask->strict_alone || use != CACHED_HELD)) ||
	    a->ask->shareable || (a->notes & LH_NOTE_INCONSISTENT) ?
	    CACHED_OUT : use);
	r->id = a->lease->id[1];
	lhi_claim_cache_bounds(a->m);
	lhi_cached_claim_limit(a->m, r);
}

static bool
is_scope_local(struct lhi_attempt *a)
{
	return a->ask->local || (view(a)->all_local &&
	    !(sh32_load(&a->t.s->key_info) & KEY_CLUSTER));
}

/* Robust keys: may the attempt be granted this one? */
static int
check_consistency(struct lhi_attempt *a)
{
	if (a->ask->robust && lhi_right_has(a->t.s))
		return lhi_fail(-EOPNOTSUPP, "a cluster key cannot be robust: "
		    "hosts do not tell each other of such notes; use a local "
		    "key");
	if (!a->ask->shared || !lhi_consistency_noted(a->t.s))
		return 0;
	return lhi_fail(-ENOTRECOVERABLE, "a holder has left the key without a "
	    "release, and what it guards may be inconsistent: acquire it "
	    "exclusively, repair that, and declare it (lh_mark_consistent(), "
	    "leasehold mark-consistent)");
}

int
lhi_attempt_take(struct lhi_attempt *a, uint64_t w)
{
	struct shm_slot *s = a->t.s;
	struct lhi_ref ref = { s, a->slot_ref };
	uint64_t mine, deadline;
	struct lhi_token_next n;
	uint64_t id;
	int64_t now;
	uint32_t policy = a->ask->more->policy;
	bool queued = a->t.queued, local = is_scope_local(a);
	uint32_t cause;
	int error;

	error = check_consistency(a);
	if (error != 0)
		return error;
	/* before the token is chosen: op/token_ceiling.c; if it is another
	 * key by now, the swap below would fail */
	if (local && !lhi_slot_local(&ref) &&
	    !lhi_slot_flag(view(a), &ref, KEY_LOCAL))
		return WAITING;
	/* after w was loaded: shm/table_revoke.c, I2 */
	if (lhi_view_retired(view(a)) && !lhi_mutant_on(retired_grants)) {
		error = lhi_view_fresh(view(a));
		if (error != 0)
			return error;
	}
	lhi_point("acquire.marked");
	error = lhi_token_next(view(a), s, w, local,
	    word_mode(w) != WORD_FREE, &n);
	if (error != 0)
		return error == TOKEN_AGAIN ? WAITING :
		    error == TOKEN_DEFERRED ? READER_DEFERRED : error;
	now = lhi_now_ns(view(a));	/* the disk may have been asked */
	error = lhi_table_age_check(view(a), now);
	if (error != 0)
		return error;
	deadline = policy == LH_POLICY_STRICT ? DEADLINE_MAX :
	    lhi_deadline(view(a), now + a->ask->ttl_ns);
	if (!a->t.queued)
		sh64_store_rlx(&a->c->slot_ref, a->slot_ref);
	/* before it can be found: who puts it in motion goes by it
	 * (lease_motion.c) */
	if (!lhi_mutant_on(since_late) && !lhi_mutant_on(since_late_reader))
		sh64_store_rlx(&a->c->since, since_of_lease(a, now));
	cause = word_mode(w) == WORD_FREE ? word_cause(w) : CAUSE_RELEASED;
	a->token = n.token;
	a->notes = cause == CAUSE_RELEASED ? 0 : 1u << ((cause - 1) & 3);
	if (lhi_consistency_noted(s))
		a->notes |= LH_NOTE_INCONSISTENT;
	if (policy != LH_POLICY_STRICT)
		lhi_claim_ends_within(view(a), a->t.ci, a->ask->ttl_ns);
	if (a->ask->shared) {
		sh64_store_rlx(&a->c->grant,
		    lhi_reader_grant(n.token, state_seq(
		    sh64_load(&a->c->state)) + 1));
		lhi_readers_prepare(a->c,
		    word_mode(w) == WORD_S ? word_idx(w) : 0);
	}
	lhi_attempt_announce(a, a->ask->shared ? ST_READ : ST_HELD,
	    /* claim #1, #3 */
	    deadline);
	/* now: once it is granted, who finds it may put it in motion */
	id = lhi_claim_cache_id(view(a), a->t.ci);
	lhi_point("acquire.announced");
	mine = word_make(a->ask->shared ? WORD_S : WORD_X, a->t.ci,
	    n.token);
	if (!sh64_cas(&s->word, w, mine)) {
		retract_claim(a);
		return WAITING;
	}
	lhi_point("acquire.granted");
	if (lhi_now_ns(view(a)) >= lhi_deadline_ns(view(a), deadline) &&
	    !lhi_mutant_on(late_grant_kept))
		return undo_late_grant(a, cause);
	lhi_token_ceiling_granted(s, &n);
	lhi_attempt_leave_queue(a);
	if (policy == LH_POLICY_LIVE &&
	    !lhi_policy_go_live(view(a), a->t.ci, a->ask->ttl_ns))
		return undo_late_grant(a, cause);
	if (!a->ask->shared &&
	    lhi_consistency_grant(view(a), s, n.token, a->ask->robust))
		a->notes |= LH_NOTE_INCONSISTENT;
	log_grant(a, queued, now, n.token, cause);
	if (lhi_mutant_on(since_late) || lhi_mutant_on(since_late_reader))
		sh64_store_rlx(&a->c->since, since_of_lease(a, now));
	a->lease->id[1] = lhi_mutant_on(id_of_now) ?
	    lhi_claim_cache_id(view(a), a->t.ci) : id;
	if (!a->threadless)
		cache_claim(a, n.token);
	a->lease->expires_ns = policy == LH_POLICY_STRICT ? INT64_MAX :
	    lhi_deadline_ns(view(a), deadline);
	lhi_claim_cache_lease(a->m, a->slot_ref, a->lease);
	a->lease->mode = a->ask->shared ? LH_SHARED : LH_EXCLUSIVE;
	a->lease->notes |= a->notes;
	a->lease->token = n.token;
	/* in zeros keys can be made, and granted, as in an empty table */
	return lhi_damaged_or(view(a), 0);
}
