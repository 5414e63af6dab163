/* SPDX-License-Identifier: MIT */
/*
 * Decides when something is due for the handles that are held.
 *
 * Each has one moment at which something is due: renewal (or another attempt),
 * the early warning, the deadline.  They are in a tree by that moment; the
 * thread sleeps until the first.  Moments are kept on the table's clock and
 * translated when they are put into the tree.
 *
 * Timeline of a lease of ttl t, granted or renewed at R, deadline D = R + t:
 *
 *	R + t/3		renewal is due (or as chosen, but not after D - t/8, or
 *			D - 5 s if that is later)
 *	+ t/20		it failed: again, after a second at most, until D
 *	D - warn	no renewal has succeeded: the early warning, once
 *	D		lost
 *
 * If the thread, or the whole process, comes late, the first thing due is done
 * first.  At D or after it there is no renewal any more, but a loss.
 * lh_extend() itself refuses an extension that was too late (G3).
 *
 * Cluster keys.  A lease of one also ends when this host's right to it does, at
 * D, which the shim moves on without an event.  So a handle with such keys also
 * reads D: when half of the time until it has passed (usually it has been moved
 * on by then), and at D itself.  Until then lh_lock_valid() uses the D that was
 * read last.
 *
 * Sweep.  The attachment's doorbell (shm/doorbell.c) announces losses by others
 * (lh_break(), a removed table): all held leases are checked, by lh_verify(),
 * every 5 ms at most.  The process that was to ring may have died first, so it
 * is also done once a second.  Then moments of a clock that went on during
 * suspend are found to be past, too.
 */
#include <errno.h>
#include "base/clock.h"
#include "live/live_set.h"
#include "op/cluster_check.h"

#define SWEEP_NS NS_PER_SEC
#define DOUBT_NS (5 * NS_PER_MS)
#define RETRY_MAX_NS NS_PER_SEC
#define NEAR_MAX_NS (5 * NS_PER_SEC)
#define RIGHT_NEAR_NS (20 * NS_PER_MS)

RB_HEAD(timers, lh_lock);

static struct timers timers = RB_INITIALIZER(&timers);
static int64_t sweep_ns;		/* the next one, if any is held */
static int64_t swept_ns;		/* the last one */

int (*lhi_live_extend)(struct lh *, struct lh_lease *, int64_t) = lh_extend;

static int
order_by_due(const struct lh_lock *a, const struct lh_lock *b)
{
	if (a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

RB_GENERATE_INTERNAL(timers, lh_lock, timer, order_by_due,
    static __attribute__((unused)))

static int64_t
now_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

static int64_t
min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t
lhi_live_renew_at(const struct lh_lock *l)
{
	int64_t ttl_ns = l->ttl_ms * NS_PER_MS, every_ns;

	if (l->renew_ms == 0 || l->expires_ns == INT64_MAX)
		return INT64_MAX;	/* strict: there is nothing to move */
	if (l->retry_ns != 0)
		return l->retry_ns;
	every_ns = l->renew_ms == LH_RENEW_THIRD ? ttl_ns / 3 :
	    l->renew_ms * NS_PER_MS;
	return min_ns(l->renewed_ns + every_ns,
	    l->expires_ns - min_ns(ttl_ns / 8, NEAR_MAX_NS));
}

/* Returns when something is due, on the table's clock. */
static int64_t
due_time(const struct lh_lock *l)
{
	int64_t at = min_ns(l->expires_ns, lhi_live_renew_at(l));

	at = min_ns(at, l->right_due_ns);
	return l->warned || l->warn_ns == 0 || at == INT64_MAX ? at :
	    min_ns(at, l->expires_ns - l->warn_ns);
}

static void
schedule_handle(struct lh_lock *l)
{
	int64_t at = due_time(l);

	l->due_ns = at == INT64_MAX ? at :
	    now_ns() + (at - lhi_clock_ns(l->clock));
	(void)RB_INSERT(timers, &timers, l);
	if (RB_MIN(timers, &timers) == l)
		lhi_wakeup_wake();
}

void
lhi_live_reschedule(struct lh_lock *l)
{
	(void)RB_REMOVE(timers, &timers, l);
	l->retry_ns = 0;
	schedule_handle(l);
}

/* Finds the lease that ends first if it is not renewed, and when. */
static void
find_first_end(struct lh_lock *l)
{
	l->expires_ns = INT64_MAX;
	l->which = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		int64_t end = lhi_lease_own_end_ns(l->lh, &l->leases[i]);

		if (end < l->expires_ns) {
			l->expires_ns = end;
			l->which = i;
		}
	}
}

/*
 * Returns how long this host has the rights to the cluster keys.  False: it has
 * none to *which.  That end usually moves on: so it is read again when half of
 * the time has gone, and at that moment.
 */
static bool
has_rights(struct lh_lock *l, uint32_t *which)
{
	struct lhi_right_end end = { INT64_MAX, INT64_MAX }, e;
	int64_t now = lhi_clock_ns(l->clock);

	for (uint32_t i = 0; i < l->n; i++) {
		struct lh_lease *lease = &l->leases[i];

		if (!lhi_cluster_check_time_left(l->lh, lease, &e)) {
			*which = i;
			return false;
		}
		if (e.until_ns < end.until_ns)
			end = e;
		lease->expires_ns = lhi_lease_own_end_ns(l->lh, lease);
		if (e.left_ns < lease->expires_ns - now)
			lease->expires_ns = now + e.left_ns;
		/* under that right: op/cluster_check.c, I1 */
		if (token_cluster(lease->token) &&
		    !lhi_mutant_on(any_right) &&
		    lh_verify(l->lh, lease) == -ESTALE) {
			*which = i;
			return false;
		}
	}
	atomic_store(&l->right_ns, end.until_ns);
	l->right_due_ns = end.until_ns == INT64_MAX ? INT64_MAX :
	    now + (end.left_ns < RIGHT_NEAR_NS ? end.left_ns + 1 :
	    end.left_ns / 2);
	return true;
}

void
lhi_live_drop(struct lh_lock *l, enum lh_lock_status status)
{
	atomic_store(&l->until_ns, 0);
	l->status = status;
	(void)RB_REMOVE(timers, &timers, l);
	lhi_wakeup_ignore(l->lh);
	lhi_live_session_end(l);
}

void
lhi_live_end(struct lh_lock *l, enum lh_loss loss)
{
	lhi_live_drop(l, LH_LOCK_LOST);
	l->loss = loss;
	for (uint32_t i = 0; i < l->n; i++)
		if (i != l->which)
			(void)lh_release(l->lh, &l->leases[i]);
	lhi_live_notify(l, LH_EVENT_LOST);
}

/* Reports the loss, after finding out how the lease ended. */
void
lhi_live_lose(struct lh_lock *l, uint32_t i)
{
	const struct lh_lease *lease = &l->leases[i];
	enum lh_loss loss = lhi_clock_ns(l->clock) < lease->expires_ns ?
	    LH_LOSS_RELEASED : LH_LOSS_EXPIRED;
	struct lhi_held h;

	if (lhi_lease_is_orphaned(l->lh, lease)) {
		loss = LH_LOSS_SESSION;
	} else if (lhi_lease_check(l->lh, lease, &h) == 0) {
		switch (lhi_lease_cause(&h)) {
		case CAUSE_DIED:
			loss = LH_LOSS_SESSION;
			break;
		case CAUSE_EXPIRED:
			loss = LH_LOSS_EXPIRED;
			break;
		case CAUSE_BROKEN:
			loss = LH_LOSS_BROKEN;
			break;
		case CAUSE_RELEASED:
			break;
		}
		if (loss != LH_LOSS_SESSION && !lhi_cluster_check_lease(&h) &&
		    lhi_clock_ns(l->clock) < l->expires_ns)
			loss = LH_LOSS_CLUSTER;
	}
	l->which = i;
	lhi_live_end(l, loss);
}

/* True if one of its leases, *which, was ended. */
static bool
was_ended(const struct lh_lock *l, uint32_t *which)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (lh_verify(l->lh, &l->leases[i]) == -ESTALE) {
			*which = i;
			return true;
		}
	}
	return false;
}

void
lhi_live_notify_asked(struct lh_lock *l)
{
	/* a request is seen once: by the holder, if no watch is open here */
	if (!lhi_mutant_on(hears_unwatched) &&
	    !lhi_live_is_watched(l, LH_EVENT_ASKED))
		return;
	for (uint32_t i = 0; i < l->n; i++) {
		if (lhi_lease_was_asked(l->lh, &l->leases[i]) == 1)
			lhi_live_notify(l, LH_EVENT_ASKED);
	}
}

void
lhi_live_hold(struct lh_lock *l)
{
	uint32_t which;

	l->status = LH_LOCK_HELD;
	l->was_held = true;
	l->loss = LH_LOSS_NONE;
	l->renewed_ns = lhi_clock_ns(l->clock);
	l->retry_ns = 0;
	l->warned = false;
	l->error = 0;
	l->renewals = 0;
	l->failures = 0;
	find_first_end(l);
	l->right_due_ns = INT64_MAX;
	atomic_store(&l->right_ns, 0);	/* if so, it is lost in a moment */
	if (!has_rights(l, &which))
		l->right_due_ns = l->renewed_ns;
	atomic_store(&l->until_ns, l->expires_ns);
	if (RB_EMPTY(&timers))
		sweep_ns = now_ns() + SWEEP_NS;
	lhi_wakeup_listen(l->lh);
	schedule_handle(l);
	lhi_live_notify(l, LH_EVENT_ACQUIRED);
	/* rung before we listened for it, or had it */
	if (was_ended(l, &which))
		lhi_live_lose(l, which);
	else
		lhi_live_notify_asked(l);
}

/* Schedules another attempt after a renewal that failed. */
static void
retry_later(struct lh_lock *l, int64_t now, uint32_t i, int error)
{
	l->which = i;
	l->error = error;
	l->failures++;
	l->retry_ns = now + 1 + min_ns(l->ttl_ms * NS_PER_MS / 20,
	    RETRY_MAX_NS);
	lhi_live_notify(l, LH_EVENT_FAILED);
}

/* Returns 0; -ESTALE: it is lost; -errno: to be tried again. */
static int
renew_leases(struct lh_lock *l, int64_t now)
{
	uint32_t failed = 0;
	int error = 0, e;

	for (uint32_t i = 0; i < l->n; i++) {
		e = lhi_live_extend(l->lh, &l->leases[i], l->ttl_ms);
		if (e == -ESTALE) {
			lhi_live_lose(l, i);
			return e;
		}
		if (e == -EUCLEAN && !lhi_view_sound(&l->lh->v)) {
			lhi_live_end(l, LH_LOSS_TABLE);
			return -ESTALE;
		}
		if (e != 0) {
			failed = i;
			error = e;
		}
	}
	lhi_point("live.renewed");
	find_first_end(l);
	atomic_store(&l->until_ns, l->expires_ns);
	if (error != 0) {
		retry_later(l, now, failed, error);
		return error;
	}
	l->error = 0;
	l->renewed_ns = now;
	l->retry_ns = 0;
	l->warned = false;
	l->failures = 0;
	l->renewals++;
	lhi_live_notify(l, LH_EVENT_RENEWED);
	return 0;
}

/* Under policy live others may have moved a deadline on.  Returns false if that
 * of the first one to end was not moved. */
static bool
was_moved_on(struct lh_lock *l, int64_t now)
{
	struct lhi_held h;
	uint32_t n = 0;

	for (find_first_end(l); l->expires_ns <= now; find_first_end(l)) {
		struct lh_lease *lease = &l->leases[l->which];
		int64_t end = 0;

		/* its end, if it is its claim's still after that */
		if (lhi_lease_check(l->lh, lease, &h) == 0)
			end = lhi_ends_ns(&l->lh->v,
			    sh64_load(&h.claim->state));
		if (lh_verify(l->lh, lease) != 0 ||	/* so for all (G3) */
		    end <= l->expires_ns || !LHI_WITHIN(n, LHI_SWAPS_MAX))
			return false;
		lease->expires_ns = end;
	}
	atomic_store(&l->until_ns, l->expires_ns);
	return true;
}

bool
lhi_live_is_held(struct lh_lock *l, bool asked)
{
	int64_t now = lhi_clock_ns(l->clock);
	uint32_t which;

	if (l->status != LH_LOCK_HELD)
		return false;
	if (now >= l->expires_ns && !was_moved_on(l, now)) {
		lhi_live_end(l, LH_LOSS_EXPIRED);
		return false;
	}
	if ((now >= l->right_due_ns || (asked &&
	    atomic_load(&l->right_ns) != INT64_MAX)) &&
	    !has_rights(l, &which)) {
		(void)lh_verify(l->lh, &l->leases[which]); /* so for all (G3) */
		lhi_live_lose(l, which);
		return false;
	}
	return true;
}

/* Does the next thing that is due for a handle that is held. */
static void
serve_handle(struct lh_lock *l)
{
	int64_t now;

	if (!lhi_live_is_held(l, false))
		return;
	now = lhi_clock_ns(l->clock);
	if (now >= lhi_live_renew_at(l))
		(void)renew_leases(l, now);
	if (l->status != LH_LOCK_HELD)
		return;
	if (!l->warned && l->warn_ns != 0 &&
	    now >= l->expires_ns - l->warn_ns) {
		l->warned = true;
		find_first_end(l);
		lhi_live_notify(l, LH_EVENT_WARNING);
	}
	(void)RB_REMOVE(timers, &timers, l);
	schedule_handle(l);
}

int
lhi_live_extend_by(struct lh_lock *l, int64_t ttl_ms)
{
	int64_t before = l->ttl_ms;
	int error = -ESTALE;

	if (lhi_live_is_held(l, true)) {
		l->ttl_ms = ttl_ms;
		/* it may end sooner than lh_lock_valid() knows: that is to ask
		 * under the lock, until the new end is stored */
		if (!lhi_mutant_on(valid_while_shortened))
			atomic_store(&l->until_ns, 1);
		error = renew_leases(l, lhi_clock_ns(l->clock));
	}
	if (error != 0)
		l->ttl_ms = before;
	if (l->status == LH_LOCK_HELD) {
		(void)RB_REMOVE(timers, &timers, l);
		schedule_handle(l);
	}
	return error;
}

/* Its leases are held. */
static void
check_handle(struct lh_lock *l)
{
	lhi_live_notify_asked(l);
	if (lhi_clock_ns(l->clock) >= due_time(l))
		serve_handle(l);
}

/* Checks whether another process has ended any lease, or asks for it. */
static void
sweep_handles(void)
{
	struct lh *last = NULL;
	struct lh_lock *l, *next;
	bool gone = false;
	uint32_t which;

	RB_FOREACH_SAFE(l, timers, &timers, next) {
		if (l->lh != last)
			gone = lhi_view_gone(&l->lh->v) ||
			    !lhi_view_sound(&l->lh->v);
		last = l->lh;
		if (gone)
			lhi_live_end(l, LH_LOSS_TABLE);
		else if (was_ended(l, &which))
			lhi_live_lose(l, which);
		else
			check_handle(l);
	}
}

void
lhi_live_check_soon(void)
{
	sweep_ns = min_ns(sweep_ns, swept_ns + DOUBT_NS);
}

bool
lhi_live_serve(void)
{
	struct lh_lock *first = RB_MIN(timers, &timers);
	int64_t now = now_ns();

	if (first != NULL && sweep_ns <= now) {
		sweep_handles();
		swept_ns = now_ns();
		sweep_ns = swept_ns + SWEEP_NS;
	} else if (first != NULL && first->due_ns <= now) {
		serve_handle(first);
	} else {
		return false;
	}
	return true;
}

int64_t
lhi_live_next_ns(void)
{
	struct lh_lock *first = RB_MIN(timers, &timers);

	return first == NULL ? INT64_MAX : min_ns(first->due_ns, sweep_ns);
}

void
lhi_live_forget(void)
{
	RB_INIT(&timers);
}
