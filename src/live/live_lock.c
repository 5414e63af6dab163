/* SPDX-License-Identifier: MIT */
/*
 * The calls of an application on a live handle.
 *
 *	status	FREE -> HELD	lh_lock_acquire()
 *		LOST -> HELD	the same, never by itself (G9)
 *		(none) -> HELD	lh_lock_adopt()
 *		HELD -> FREE	lh_lock_release()
 *		HELD -> LOST	the thread, lh_close(): live_set.c
 *
 * (Above 500 lines: the calls that change a handle's status are to be read
 * together.)
 *
 * Everything is decided under the one lock, in which the thread renews, too.
 * So a call that has returned has taken effect, and a handle that is released,
 * closed or set to no renewal is not being renewed.  Only acquiring waits, and
 * does so outside the lock; the handle is marked meanwhile.
 *
 * lh_lock_valid() reads the clock and until_ns.  until_ns is stored after a
 * renewal has succeeded and set to 0 before a loss is reported.  Before that
 * moment it takes no lock.  From then on it does what the thread would do if it
 * were in time.  It reads the claim, whose deadline others may have moved on
 * (policy live). Otherwise it makes the loss final for all (G3) before it
 * reports it; a release after that says the same.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "live/live_set.h"
#include "live/acquire_many.h"
#include "op/lease_check.h"
#include "op/acquire_target.h"
#include "proc/attachment.h"
#include "shm/key_bytes.h"

static const struct lh_lock_opts usual = LH_LOCK_OPTS_INIT;

static int
check_handle(const struct lh_lock *l)
{
	return l == NULL ? lhi_fail(-EINVAL, "no live handle was given (NULL)")
	    : lhi_live_check_epoch(l->epoch);
}

static bool
is_interval(int64_t ms)
{
	return ms >= LH_RENEW_THIRD && ms <= LH_TTL_MAX_MS;
}

static int
check_opts(const struct lh_lock_opts *o, struct lh_lock **out)
{
	if (out == NULL)
		return lhi_fail(-EINVAL, "nowhere to put the handle (NULL)");
	if (o->size != sizeof(*o))
		return lhi_fail(-EINVAL, "lh_lock_opts has size %zu, not %zu: "
		    "begin with LH_LOCK_OPTS_INIT", o->size, sizeof(*o));
	if (!is_interval(o->renew_ms) || o->warn_ms < 0 ||
	    o->warn_ms > LH_TTL_MAX_MS)
		return lhi_fail(-EINVAL, "renew_ms %lld, warn_ms %lld: at most "
		    "30 days, and not below 0 (LH_RENEW_THIRD for renew_ms)",
		    (long long)o->renew_ms, (long long)o->warn_ms);
	return lhi_live_session_check(o);
}

/* Returns a handle with copies of the items; NULL: out of memory. */
static struct lh_lock *
make_handle(const struct lh_item *items, size_t n)
{
	size_t size = sizeof(struct lh_lock) + n * sizeof(struct lh_item);
	size_t leases_off = size, len;
	struct lh_lock *l;
	char *key;

	size += n * sizeof(struct lh_lease);
	for (size_t i = 0; i < n; i++)
		size += strlen(items[i].key) + 1;
	l = calloc(1, size);
	if (l == NULL)
		return NULL;
	l->leases = (struct lh_lease *)(void *)((char *)l + leases_off);
	l->n = (uint32_t)n;
	key = (char *)&l->leases[n];
	l->key = key;
	for (size_t i = 0; i < n; i++) {
		len = strlen(items[i].key) + 1;
		l->items[i] = items[i];
		l->items[i].key = memcpy(key, items[i].key, len);
		key += len;
	}
	return l;
}

/* Fills the handle; all arguments have been checked. */
static int
open_handle(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_lock_opts *o, struct lh_lock **out)
{
	struct lh_lock *l = make_handle(items, n);

	if (l == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	TAILQ_INIT(&l->watches);
	l->lh = lh;
	l->clock = lh->v.clock;
	l->renew_ms = o->renew_ms;
	l->warn_ns = o->warn_ms * NS_PER_MS;
	l->event = o->event;
	l->arg = o->arg;
	l->owns_session = o->flags & LH_LOCK_OWN_SESSION;
	l->session = o->session;
	l->epoch = lhi_forks();
	lhi_live_lock();
	lhi_live_add(l);
	lhi_live_unlock();
	*out = l;
	return 0;
}

int
lh_lock_open(struct lh *lh, const char *key, const struct lh_lock_opts *opts,
    struct lh_lock **out)
{
	const struct lh_lock_opts *o = opts == NULL ? &usual : opts;
	const struct lh_item item = { .key = key };
	struct lhi_key_name name;
	int error = lhi_key_name_check(lh, key, 0, &name);

	if (error == 0)
		error = check_opts(o, out);
	return error != 0 ? error : open_handle(lh, &item, 1, o, out);
}

int
lh_lock_open_many(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_lock_opts *opts, struct lh_lock **out)
{
	const struct lh_lock_opts *o = opts == NULL ? &usual : opts;
	int error = lhi_many_check(lh, items, n);

	if (error == 0)
		error = check_opts(o, out);
	if (error == 0)
		error = open_handle(lh, items, n, o, out);
	if (error == 0)
		(*out)->many = true;
	return error;
}

/* Returns when it ends.  (Another holder of a copy of it may have extended or
 * shortened it, and lh_lock_valid() reads only the handle.) */
static int
read_end(struct lh *lh, struct lh_lease *lease)
{
	struct lhi_held h;
	int error = lhi_lease_check(lh, lease, &h);
	uint64_t st;

	if (error != 0)
		return error;
	st = sh64_load(&h.claim->state);
	if (!lhi_lease_is_current(lh, lease, &h, st) &&
	    !lhi_lease_is_moving(lh, lease, &h, st))
		return lhi_lease_fail_lost(lh, &h);
	lease->expires_ns = lhi_ends_ns(&lh->v, st);
	return 0;
}

static int
fail_table_closed(void)
{
	return lhi_fail(-EINVAL, "the table of this handle was closed: open it "
	    "again, and make another handle");
}

static int
fail_ttl(int64_t ttl_ms)
{
	return lhi_fail(-EINVAL, "a ttl of %lld ms: use 1 ms to 30 days",
	    (long long)ttl_ms);
}

static int
fail_never_held(const struct lh_lock *l, const char *what)
{
	return lhi_fail(-ENOLCK, "this handle has never acquired '%.64s', so "
	    "there is nothing to %s: call lh_lock_acquire() first, and look at "
	    "its result", l->key, what);
}

/* Makes the lease, which was seen to be held, the handle's. */
static int
begin_holding(struct lh_lock *l, const struct lh_lease *lease, int64_t ttl_ms)
{
	int error;

	lhi_live_lock();
	/* (closed: in a callback, for which lh_close() waits) */
	error = l->lh == NULL && !lhi_mutant_on(adopts_closed) ?
	    fail_table_closed() : lhi_live_thread();
	if (error == 0) {
		l->leases[0] = *lease;
		l->ttl_ms = ttl_ms;
		lhi_live_hold(l);
	} else {
		lhi_live_remove(l);
	}
	lhi_live_unlock();
	return error;
}

int
lh_lock_adopt(struct lh *lh, const struct lh_lease *lease, int64_t ttl_ms,
    const struct lh_lock_opts *opts, struct lh_lock **out)
{
	const struct lh_lock_opts *o = opts == NULL ? &usual : opts;
	char key[SHM_KEY_MAX + 1];
	struct lh_item item = { .key = key };
	struct lh_lease now;
	struct lh_lock *l;
	int error = lh_verify(lh, lease);

	if (error == 0)
		error = check_opts(o, out);
	if (error == 0 && (o->flags & LH_LOCK_OWN_SESSION))
		error = lhi_fail(-EINVAL, "a lease that is adopted has a "
		    "session already (LH_LOCK_OWN_SESSION)");
	if (error == 0 && (ttl_ms < 1 || ttl_ms > LH_TTL_MAX_MS))
		error = fail_ttl(ttl_ms);
	if (error != 0)
		return error;
	item.mode = lease->mode;
	/* (a key that is held keeps its slot) */
	if (lhi_slot_key(&lh->v, lhi_slot(&lh->v, lease->key),
	    key) == 0)
		return lhi_fail(-ESTALE, "the lease was lost just now");
	now = *lease;
	error = lh_verify(lh, lease);	/* so it is that name */
	if (error == 0)
		error = read_end(lh, &now);
	if (error == 0)
		error = open_handle(lh, &item, 1, o, &l);
	lhi_point("adopt.opened");
	if (error == 0)
		error = begin_holding(l, &now, ttl_ms);
	if (error == 0)
		*out = l;
	return error;
}

/* Marks the handle as acquiring. Returns 0: the thread is running. */
static int
begin_acquire(struct lh_lock *l, struct lh **lh)
{
	int error;

	lhi_live_lock();
	if (l->status == LH_LOCK_HELD)
		error = lhi_fail(-EALREADY, "this handle holds '%.64s' "
		    "already", l->key);
	else if (l->acquiring)
		error = lhi_fail(-EBUSY, "another thread is acquiring '%.64s' "
		    "through this handle", l->key);
	else if (l->closing && !lhi_mutant_on(acquires_closing))
		error = lhi_fail(-EINVAL, "another thread closes this handle");
	else if (l->lh == NULL)
		error = fail_table_closed();
	else if (l->loss == LH_LOSS_TABLE)
		error = lhi_fail(-ESTALE, "the table of this handle was "
		    "removed: close it, and open it again");
	else
		error = lhi_live_thread();
	if (error == 0)
		l->acquiring = true;
	*lh = l->lh;
	lhi_live_unlock();
	return error;
}

/* Acquires the leases, into `leases`. */
static int
acquire_leases(struct lh_lock *l, struct lh *lh,
    const struct lh_acquire_opts *opts, struct lh_lease *leases)
{
	struct lhi_live_ask ask;
	int error = lhi_live_session_begin(l, lh, &opts, &ask);

	if (error != 0)
		return error;
	return l->many ? lh_acquire_many(lh, l->items, l->n, opts, leases) :
	    lh_acquire(lh, l->key, opts, leases);
}

int
lh_lock_acquire(struct lh_lock *l, const struct lh_acquire_opts *opts)
{
	struct lh_lease leases[LH_MANY_MAX];
	int error = check_handle(l), cancel;
	struct lh *lh;

	if (error == 0)
		error = begin_acquire(l, &lh);
	if (error != 0)
		return error;
	/* a thread that is cancelled in here would leave the handle marked */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = acquire_leases(l, lh, opts, leases);
	lhi_live_lock();
	l->acquiring = false;
	if (error == 0 && l->lh == NULL && !lhi_mutant_on(holds_closed)) {
		/* closing, in a callback that lh_close() waits for: it is still
		 * open */
		(void)lh_release_many(lh, leases, l->n);
		error = fail_table_closed();
	}
	if (error != 0) {
		lhi_live_session_end(l);
	} else {
		memcpy(l->leases, leases, l->n * sizeof(*leases));
		l->ttl_ms = opts != NULL ? opts->ttl_ms : DEFAULT_TTL_MS;
		lhi_live_hold(l);
	}
	lhi_live_unlock();
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

/* Releases them all. Returns -ESTALE: *lost was lost. Lock held. */
static int
give_back(struct lh_lock *l, uint32_t *lost)
{
	int error = 0, e;

	/* not valid any more, before another process can acquire it */
	if (!lhi_mutant_on(valid_while_released))
		atomic_store(&l->until_ns, 0);
	for (uint32_t i = 0; i < l->n; i++) {
		e = lh_release(l->lh, &l->leases[i]);
		if (e != 0 && error == 0)
			*lost = i;
		if (error == 0)
			error = e;
	}
	return error;
}

int
lh_lock_release(struct lh_lock *l)
{
	int error = check_handle(l);
	uint32_t lost = 0;
	bool held;

	if (error != 0)
		return error;
	lhi_live_lock();
	held = l->status == LH_LOCK_HELD;
	if (l->lh != NULL && l->status != LH_LOCK_FREE)
		error = give_back(l, &lost);
	if (held && error == -ESTALE) {
		lhi_live_lose(l, lost);
	} else if (held) {
		lhi_live_drop(l, LH_LOCK_FREE);
		lhi_live_notify(l, LH_EVENT_RELEASED);
	} else if (l->status == LH_LOCK_LOST) {
		error = lhi_fail(-ESTALE, "the lease on '%.64s' had been lost",
		    l->items[l->which].key);
	} else if (error == 0 && !l->was_held) {
		error = fail_never_held(l, "release");
	}
	lhi_live_unlock();
	return error;
}

int
lh_lock_close(struct lh_lock *l)
{
	int error = check_handle(l);

	if (error != 0)
		return error;
	lhi_live_lock();
	if (l->acquiring) {
		error = lhi_fail(-EBUSY, "another thread is acquiring '%.64s' "
		    "through this handle: cancel that first", l->key);
	} else if (l->closing) {
		error = lhi_fail(-EBUSY, "another thread closes this handle");
	} else {
		if (l->status == LH_LOCK_HELD)
			lhi_live_drop(l, LH_LOCK_FREE);
		lhi_live_drop_watches(l);
		lhi_live_remove(l);
	}
	lhi_live_unlock();
	return error;
}

int
lh_lock_renew_every(struct lh_lock *l, int64_t every_ms)
{
	int error = check_handle(l);

	if (error != 0)
		return error;
	if (!is_interval(every_ms))
		return lhi_fail(-EINVAL, "renewing every %lld ms: use 1 ms to "
		    "30 days, 0 or LH_RENEW_THIRD", (long long)every_ms);
	lhi_live_lock();
	l->renew_ms = every_ms;
	if (l->status == LH_LOCK_HELD)
		lhi_live_reschedule(l);
	lhi_live_unlock();
	return 0;
}

int
lh_lock_extend(struct lh_lock *l, int64_t ttl_ms, int64_t *expires_ns)
{
	int error = check_handle(l);

	if (error != 0)
		return error;
	if (ttl_ms < 1 || ttl_ms > LH_TTL_MAX_MS)
		return fail_ttl(ttl_ms);
	lhi_live_lock();
	if (l->lh == NULL)
		error = fail_table_closed();
	else if (!l->was_held)
		error = fail_never_held(l, "extend");
	else
		error = lhi_live_extend_by(l, ttl_ms);
	if (error == -ESTALE)
		error = lhi_fail(-ESTALE, "'%.64s' is not held, or not any "
		    "more", l->items[l->which].key);
	if (error == 0 && expires_ns != NULL)
		*expires_ns = l->expires_ns;
	lhi_live_unlock();
	return error;
}

static bool
is_valid_by_clock(const struct lh_lock *l)
{
	return lhi_clock_ns(l->clock) < atomic_load(&l->until_ns) &&
	    (atomic_load(&l->right_ns) == INT64_MAX ||
	    lhi_clock_ns(CLOCK_BOOTTIME) < atomic_load(&l->right_ns));
}

int
lh_lock_valid(const struct lh_lock *l)
{
	int error = check_handle(l);
	bool held;

	if (error != 0)
		return error;
	if (is_valid_by_clock(l))
		return 0;
	if (atomic_load(&l->until_ns) != 0) {
		lhi_live_lock();
		/* (a const handle is const for its caller only) */
		held = l->lh != NULL &&
		    lhi_live_is_held((struct lh_lock *)(uintptr_t)l, true) &&
		    is_valid_by_clock(l);
		lhi_live_unlock();
		if (held)
			return 0;
	}
	return lhi_fail(-ESTALE, "'%.64s' is not held, or not any more",
	    l->key);
}

int
lh_lock_state(struct lh_lock *l, struct lh_lock_state *state)
{
	struct lh_lock_state s = { 0 };
	int error = check_handle(l);
	int64_t due;

	if (error != 0)
		return error;
	if (state == NULL || state->size < sizeof(state->size))
		return lhi_fail(-EINVAL, "state->size is to be set to "
		    "sizeof(struct lh_lock_state)");
	lhi_live_lock();
	due = lhi_live_renew_at(l);
	s.size = state->size;
	s.status = l->status;
	s.loss = l->loss;
	s.lease = l->leases[l->which];
	s.which = l->which;
	s.seq = l->seq;
	s.renewals = l->renewals;
	s.failures = l->failures;
	s.next_ns = l->status != LH_LOCK_HELD || due == INT64_MAX ? 0 : due;
	s.error = l->error;
	lhi_live_unlock();
	memcpy(state, &s, state->size < sizeof(s) ? state->size : sizeof(s));
	return 0;
}

int
lh_lock_lease(struct lh_lock *l, size_t i, struct lh_lease *lease)
{
	int error = check_handle(l);

	if (error != 0)
		return error;
	if (i >= l->n || lease == NULL)
		return lhi_fail(-EINVAL, i >= l->n ? "this handle has no key "
		    "of that number" : "nowhere to put the lease (NULL)");
	lhi_live_lock();
	*lease = l->leases[i];
	lhi_live_unlock();
	return 0;
}
