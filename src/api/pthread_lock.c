/* SPDX-License-Identifier: MIT */
/* Locks and unlocks the keys of leasehold/pthread.h, for a thread's use of them
 * (pthread_key.c). */
#include <errno.h>
#include "api/pthread_key.h"
#include "base/clock.h"
#include "base/error.h"
#include "op/key_lock.h"
#include "proc/attachment.h"

/* Converts a moment of that clock to the table's.  EINVAL. */
static int
set_end(struct lh *lh, const struct lhi_pthread_wait *w,
    struct lh_acquire_opts *o)
{
	int64_t left;

	if (w->until->tv_nsec < 0 || w->until->tv_nsec >= NS_PER_SEC)
		return -lhi_fail(-EINVAL, "a moment has nanoseconds from 0 to "
		    "999,999,999");
	o->max_wait_ms = 0;
	if (w->until->tv_sec < 0)
		return 0;
	if (w->until->tv_sec > INT64_MAX / NS_PER_SEC - 1) {
		o->max_wait_ms = LH_WAIT_FOREVER;
		return 0;
	}
	left = w->until->tv_sec * NS_PER_SEC + w->until->tv_nsec -
	    lhi_clock_ns(w->clock);
	if (left > 0)
		o->deadline_ns = lh_clock_ns(lh) + left;
	return 0;
}

static int
lock_key(struct lhi_pthread_use *u, const struct lh_acquire_opts *o)
{
	return o->mode == LH_EXCLUSIVE && (o->flags & LH_ROBUST) == 0 ?
	    lhi_key_lock_strict(u->key, o) : lh_key_lock(u->key, o);
}

/* A wait with an end begins with a try: a thread that gets the lock at once
 * needs no valid moment. */
static int
lock_in_time(struct lhi_pthread_use *u, struct lh_acquire_opts *o,
    const struct lhi_pthread_wait *w)
{
	int error;

	if (w->until != NULL && w->clock != CLOCK_REALTIME &&
	    w->clock != CLOCK_MONOTONIC)
		return -lhi_fail(-EINVAL, "the clock of a moment is "
		    "CLOCK_REALTIME or CLOCK_MONOTONIC");
	o->max_wait_ms = w->try || w->until != NULL ? 0 : LH_WAIT_FOREVER;
	error = lock_key(u, o);
	if (error != -EAGAIN || w->try)
		return lhi_pthread_error(error);
	error = set_end(u->lh, w, o);
	if (error != 0)
		return error;
	if (o->deadline_ns == 0 && o->max_wait_ms == 0)
		return ETIMEDOUT;
	return lhi_pthread_error(lock_key(u, o));
}

int
lhi_pthread_lock(struct lhi_pthread_use *u,
    const struct lhi_pthread_wait *wait, uint32_t mode, uint32_t flags)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	int error;

	more.policy = LH_POLICY_STRICT;
	o.more = &more;
	o.mode = mode;
	o.flags = flags;
	error = lock_in_time(u, &o, wait);
	if (error == 0) {
		u->count = 1;
		u->mode = mode;
		u->lease.token = 0;
	}
	return error;
}

/* The table was removed by force: others may lock in another one by now. */
static int
check_removed(const struct lhi_pthread_use *u)
{
	return !lhi_view_retired(&u->lh->v) ? 0 : -lhi_fail(-ESTALE, "the "
	    "table of the lock was removed while it was locked");
}

int
lhi_pthread_verify(struct lhi_pthread_use *u)
{
	struct lh_lease l;
	int error = lhi_pthread_lease(u, &l);

	if (error == 0)
		error = lhi_pthread_error(lh_verify(u->lh, &l));
	return error != 0 ? error : check_removed(u);
}

int
lhi_pthread_lock_again(struct lhi_pthread_use *u)
{
	int error = lhi_pthread_verify(u);

	if (error != 0)
		return error;
	if (u->count == UINT32_MAX)
		return -lhi_fail(-EAGAIN, "locked too often");
	u->count++;
	return 0;
}

int
lhi_pthread_unlock(struct lhi_pthread_use *u)
{
	int error;

	if (u->count > 1) {
		u->count--;
		return lhi_pthread_verify(u);
	}
	u->count = 0;
	error = lh_key_unlock(u->key);
	/* in a late destructor the thread's leases are lost already */
	if (error == -EINVAL && u->lease.token != 0)
		error = lh_release(u->lh, &u->lease);
	u->lease.token = 0;
	if (error != 0)
		return error == -EINVAL ? ESTALE : lhi_pthread_error(error);
	return check_removed(u);
}
