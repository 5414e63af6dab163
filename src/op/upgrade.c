/* SPDX-License-Identifier: MIT */
/*
 * Waits to upgrade a lease.  It answers the question: when is this the only
 * reader?  convert.c calls it.
 *
 * A reader that wants the key exclusively, and may wait, announces a second
 * claim of its own: state WAIT, flag UPGRADE, and the lease's claim and use in
 * `grant`.  The claim stands in the key's queue ahead of all others, whatever
 * their priority (shm/wait_queue.h, rank).  So new readers stay out, and those
 * inside come to an end.  The shared lease continues unchanged; nothing has to
 * be undone if the wait fails.
 *
 * The waiter looks as lh_convert() does (op/convert.c).  It removes ended,
 * idle, expired and dead readers from the chain, and swaps S(c, v) to X(c, v +
 * 1) when its lease is all that is left.  The second claim is never granted
 * anything: it is a place in the queue, and a futex.
 *
 * Invariants of upgrades (I1 to I3).
 *
 * I1	Word and chain alone decide what is swapped.  The queue, however torn,
 *	cannot let two in.
 * I2	If two wait to upgrade live leases, each would wait for the other; the
 *	one with the later ticket leaves.  It finds the other ahead of itself in
 *	the queue before it sleeps, because a waiter that links looks at those
 *	behind it and wakes them.
 * I3	An upgrading waiter bars others only while the word is S.  If its lease
 *	has ended, the key goes to the next waiter as if it were not there.
 *
 * Sleep: park = ASLEEP, then a look at the queue, word and chain, then the
 * futex.  Pairs with I2, and with a reader's way out: terminal, marked,
 * removed, then the look at the queue's head and its park (shm/readers.c).  A
 * reader that others end wakes nobody.  So no sleep is longer than 20 ms, or
 * lasts beyond the next deadline in the chain.
 *
 * A crash or stop of the waiter
 *
 *	announced, not linked	leaves a claim, which is freed with its session
 *	linked			dead: removed on proof; stopped: suspect, like
 *				any writer that bars readers; its lease holds
 *				the key no longer than its deadline
 *	swapped, still linked	it holds the key exclusively; its place in the
 *				queue is passed over (I3), and it removes that
 *				itself
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "op/busy_detail.h"
#include "op/deadlock.h"
#include "inspect/explain.h"
#include "op/upgrade.h"
#include "prim/futex.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/wait_queue.h"

#define LOOK_NS (20 * NS_PER_MS)
#define FRESH_NS (NS_PER_SEC / 5)
#define WALKS 16		/* over a queue that moves */
#define READERS_MAX 256		/* looked at for their deadlines */

enum { WAITING = 1 };		/* besides 0 and -errno */

struct upgrade {
	struct lh *lh;
	const struct lhi_acquire_request *ask;
	struct lh_lease *lease;
	struct lhi_held h;
	struct lhi_claim_cache *m;
	int bit;
	uint32_t ci;		/* of the place in the queue */
	struct shm_claim *c;
	bool queued;
	int64_t queued_ns;
	struct lhi_deadlock dead;
};

static struct lhi_view *view(struct upgrade *u) { return &u->lh->v; }
static int64_t now_ns(struct upgrade *u) { return lhi_now_ns(view(u)); }

/* One look: 0 it is exclusive; WAITING; -errno. */
static int
try_upgrade(struct upgrade *u)
{
	bool beside;
	int error = lhi_convert(u->lh, u->lease, LH_EXCLUSIVE, &beside);

	return beside ? WAITING : error;
}

static int
enqueue_claim(struct upgrade *u)
{
	struct lhi_view *v = view(u);
	struct shm_claim *c = u->c;
	uint64_t seq = lhi_claim_next_seq(v, c, sh64_load(&c->state));

	sh64_store_rlx(&c->slot_ref, u->h.slot_ref);
	sh64_store_rlx(&c->grant, lhi_upgrade_of(u->h.ci,
	    lid_seq(u->h.id)));
	sh32_store_rlx(&c->priority, u->ask->priority);
	sh32_store_rlx(&c->ticket, sh32_fetch_add(&u->h.slot->ticket, 1));
	sh32_store_rlx(&c->wflags, lhi_claim_epoch(c) << WAITER_BITS |
	    WAITER_UPGRADE | lhi_deadlock_flags(u->ask));
	sh32_store_rlx(&c->park, PARK_AWAKE);
	u->queued_ns = now_ns(u);
	sh64_store_rlx(&c->since, lhi_since(v, u->queued_ns, u->m->tid));
	sh64_store(&c->state, state_make(ST_WAIT, seq, 0));	/* claim #2 */
	lhi_point("upgrade.announced");
	lhi_counters_spent(v);
	lhi_counters_add(v, STAT_WAITS, 1);
	lhi_event_lease(v, LH_LOG_WAIT_BEGAN, false, u->h.slot, u->ci, 0, 0);
	lhi_deadlock_begin(&u->dead, u->queued_ns, 0);
	u->queued = true;
	return lhi_queue_insert(v, u->h.slot, u->ci);
}

struct rivals {
	struct upgrade *u;
	bool behind;		/* past our own place */
	uint32_t first;		/* the first waiter for an upgrade before us;
				 * 0: none */
};

/* True if that wait's lease keeps ours from being upgraded, and ours keeps that
 * one. */
static bool
is_rival(struct upgrade *u, struct shm_claim *c, uint32_t ci)
{
	struct lhi_view *v = view(u);
	uint64_t wait = sh64_load(&c->state), seq, st;
	struct shm_claim *lease;
	uint32_t li;

	/* a claim's fields belong to the use between two reads of it: in
	 * another one it may wait for this key otherwise */
	if (state_st(wait) != ST_WAIT ||
	    !(sh32_load(&c->wflags) & WAITER_UPGRADE) ||
	    sh64_load(&c->slot_ref) != u->h.slot_ref)
		return false;
	seq = lhi_upgrade_seq(c);
	li = lhi_upgrade_claim(c);
	lease = lhi_claim(v, li);
	if (lease == NULL || li == u->h.ci || sh64_load(&c->state) != wait)
		return false;
	st = sh64_load(&lease->state);
	return state_held(st) && state_seq(st) == seq &&
	    now_ns(u) < lhi_deadline_ns(v, state_deadline(st)) &&
	    !lhi_session_dead(v, lhi_claim_owner(v, ci), true);
}

static bool
find_rivals(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct rivals *r = arg;
	struct shm_claim *c = &v->claims[ci];

	if (!(sh32_load(&c->wflags) & WAITER_UPGRADE))
		return false;		/* they are before all others */
	if (ci == r->u->ci)
		r->behind = true;
	else if (r->behind)
		lhi_queue_wake(v, c);	/* it searches for us (I2) */
	else if (r->first == 0 && is_rival(r->u, c, ci))
		r->first = ci;
	return true;
}

/* 0; -EDEADLK: another one was first. */
static int
give_way(struct upgrade *u)
{
	struct lhi_view *v = view(u);
	struct rivals r = { .u = u };
	char key[SHM_KEY_MAX + 1];
	uint64_t owner;

	for (int i = 0; i < WALKS; i++) {
		r.behind = false;
		if (lhi_queue_walk(v, u->h.slot, find_rivals, &r) !=
		    -EAGAIN || r.first != 0)
			break;
	}
	if (r.first == 0)
		return 0;
	if (lhi_slot_key(v, u->h.slot, key) == 0)
		key[0] = '\0';
	owner = lhi_claim_owner(v, r.first);
	return lhi_fail(-EDEADLK, "session %u (process %u) reads '%.64s' too, "
	    "and was the first to wait for the others to leave it: each would "
	    "wait for the other; the lease is shared as before: release it, "
	    "and acquire exclusively", sid_idx(owner),
	    sid_idx(owner) < v->geo.max_sessions ?
	    sh32_load_rlx(&v->sessions[sid_idx(owner)].pid) : 0, key);
}

struct next_end {
	struct lhi_view *v;
	int64_t now, ns;
	uint32_t n;
};

static bool
note_earliest_end(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct next_end *e = arg;
	uint64_t st = sh64_load(&v->claims[ci].state);
	int64_t end = lhi_deadline_ns(v, state_deadline(st));

	if (state_held(st) && end < e->ns)
		e->ns = end > e->now ? end : e->now;
	return ++e->n < READERS_MAX;
}

/* Returns when there is certainly something to do. */
static int64_t
choose_wake_time(struct upgrade *u)
{
	int64_t now = now_ns(u);
	struct next_end e = { view(u), now, now + LOOK_NS, 0 };

	(void)lhi_readers_walk(view(u), u->h.slot, note_earliest_end, &e);
	if (e.ns > u->ask->until_ns)
		e.ns = u->ask->until_ns;
	if (lhi_mutant_on(waiter_sleeps_on))
		return now + 3600 * NS_PER_SEC;
	return e.ns < u->dead.next_ns ? e.ns : u->dead.next_ns;
}

/* Sleeps, unless there is something to do. Returns 0; -EDEADLK. */
static int
sleep_parked(struct upgrade *u)
{
	struct lhi_view *v = view(u);
	int64_t until;
	int error;

	(void)sh32_xchg(&u->c->park, PARK_ASLEEP);
	lhi_point("upgrade.parked");
	/* pairs with: another one's link before ours, then its look at park */
	error = give_way(u);
	/* and with: a reader's way out of the chain, then its look at park */
	if (error == 0 && !lhi_readers_sole(u->h.claim, u->h.ci,
	    sh64_load_sc(&u->h.slot->word)) &&
	    !lhi_cancel_is_set(u->ask->cancel) && !lhi_queue_is_out(v, u->ci)) {
		until = choose_wake_time(u);
		if (v->clock != CLOCK_MONOTONIC)
			until += lhi_clock_ns(CLOCK_MONOTONIC) - now_ns(u);
		lhi_futex_wait(&u->c->park, PARK_ASLEEP, until);
	}
	(void)sh32_xchg(&u->c->park, PARK_AWAKE);
	if (sh32_load(&u->c->wflags) & WAITER_SUSPECT)
		(void)sh32_fetch_and(&u->c->wflags, ~WAITER_SUSPECT);
	return error;
}

static int
fail_busy(struct upgrade *u, int code)
{
	return lhi_busy_detail_fail(view(u), u->h.slot,
	    sh64_load(&u->h.slot->word), code);
}

static int
wait_until_alone(struct upgrade *u)
{
	int64_t stale_check_ns = 0;
	int error;

	/* ends: at the caller's deadline or cancel */
	for (;;) {
		error = try_upgrade(u);
		if (error != WAITING)
			return error;
		lhi_point("upgrade.looked");
		if (lhi_cancel_is_set(u->ask->cancel))
			return fail_busy(u, -ECANCELED);
		if (now_ns(u) >= u->ask->until_ns)
			return fail_busy(u, -ETIMEDOUT);
		if (!u->queued) {
			error = enqueue_claim(u);
			if (error != 0)
				return error;
			continue;	/* idle ones go away now */
		}
		error = !lhi_queue_is_out(view(u), u->ci) ? 0 :
		    lhi_queue_insert(view(u), u->h.slot, u->ci);
		if (error == 0)
			error = lhi_deadlock_look(view(u), u->ci, &u->dead);
		if (error != 0)
			return error;
		if (now_ns(u) >= stale_check_ns) {
			error = lhi_view_fresh(view(u));
			if (error != 0)
				return error;
			stale_check_ns = now_ns(u) + FRESH_NS;
		}
		error = sleep_parked(u);
		if (error != 0)
			return error;
	}
}

/* Leaves the queue; wakes the new first waiter. */
static void
leave_queue(struct upgrade *u)
{
	struct lhi_view *v = view(u);

	if (u->queued) {
		(void)lhi_queue_remove(v, u->h.slot, u->ci);
		lhi_point("upgrade.left");
		lhi_queue_wake_first(v, u->h.slot);
		sh64_store(&u->c->state, state_make(ST_FREE,
		    state_seq(sh64_load(&u->c->state)), 0));
	}
	lhi_claim_cache_put(u->m, u->bit);
}

static void
count_outcome(struct upgrade *u, int error)
{
	if (error == 0)
		lhi_counters_waited(view(u), now_ns(u) - u->queued_ns);
	else if (error != -ESTALE)	/* the lease is, not the table */
		lhi_busy_detail_count(view(u), u->h.slot, u->ci, false, error);
}

static int
wait_upgrade(struct upgrade *u)
{
	const struct lhi_ref ref = { u->h.slot, u->h.slot_ref };
	struct lhi_canceller me;
	int error, cancel;

	u->m = lhi_claim_cache_get(u->lh);
	if (u->m == NULL)
		return lhi_claim_cache_fail();
	u->bit = lhi_claim_cache_take(u->m);
	if (u->bit < 0)
		return u->bit;
	u->ci = u->m->base + (uint32_t)u->bit;
	u->c = &u->m->claims[u->bit];
	/* as in lhi_acquire_wait(): no way out through cancellation points */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	atomic_fetch_add(&u->lh->waiting, 1);
	lhi_cancel_join(u->ask->cancel, &me, &u->c->park);
	error = wait_until_alone(u);
	lhi_cancel_leave(u->ask->cancel, &me);
	atomic_fetch_sub(&u->lh->waiting, 1);
	if (error != 0 && u->ask->explain)
		lhi_explain_failure(u->lh, &ref, u->ci, error);
	if (u->queued)
		count_outcome(u, error);
	leave_queue(u);
	if (error != 0 && u->ask->explain)
		lhi_explain_finish();
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

int
lh_convert_wait(struct lh *lh, struct lh_lease *l, uint32_t mode,
    const struct lh_acquire_opts *opts)
{
	struct upgrade u;
	struct lhi_acquire_request ask;
	bool beside;
	int error;

	memset(&u, 0, sizeof(u));
	error = lhi_own(lh);
	if (error == 0)
		error = lhi_acquire_request_set(&lh->v, &ask, opts);
	if (error != 0)
		return error;
	if (ask.try_only)
		return lh_convert(lh, l, mode);
	error = lhi_convert(lh, l, mode, &beside);
	if (!beside)
		return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
	error = lhi_lease_check(lh, l, &u.h);
	if (error != 0)
		return error;
	u.lh = lh;
	u.ask = &ask;
	u.lease = l;
	error = wait_upgrade(&u);
	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}
