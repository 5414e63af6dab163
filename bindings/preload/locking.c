/* SPDX-License-Identifier: MIT */
/*
 * Locks and unlocks a file, and its key.
 *
 *	lock	the key first, then the kernel's lock
 *	unlock	the kernel's lock first, then the key
 *
 * So the key covers the lock.  The result is the kernel's.  Where the key could
 * not follow, the lock has none.
 *
 * Locks of a range that are changed in part (a part is unlocked, or locked in
 * the other mode) are the kernel's business: the keys of ranges that an unlock
 * touches are released.
 */
#include <errno.h>
#include <sys/file.h>
#include <time.h>
#include "preload.h"

#define LATE_KEY_NS 50000	/* doubled each time: 13 ms in all */
#define LATE_KEY_TRIES 8

/* The key that this thread holds while it waits in the kernel.  A handler may
 * leave that by siglongjmp(): then the thread's next lock releases it. */
static _Thread_local struct {
	struct lh *lh;
	struct lh_lease lease;
} pending;

static void
release_key(struct lh *lh, struct lh_lease *lease)
{
	int saved = errno;

	key_table_enter();
	(void)lh_release(lh, lease);
	key_table_leave();
	errno = saved;
}

static void
release_pending(void)
{
	struct lh *lh = pending.lh;

	pending.lh = NULL;
	if (lh != NULL)
		release_key(lh, &pending.lease);
}

/* Locks in the kernel, with the key.  Returns 0; -1 with errno. */
static int
lock_with_key(const struct lock_request *r, struct lh *lh,
    const struct lh_lease *lease)
{
	int result;

	pending.lease = *lease;
	pending.lh = lh;
	result = lock_request_kernel(r, r->wait);
	if (result == 0 && held_locks_add(r, lh, &pending.lease))
		pending.lh = NULL;
	release_pending();
	return result;
}

static int
fail_busy(const struct lock_request *r)
{
	errno = lock_request_is_refused(r) ? EBADF : EAGAIN;
	return -1;
}

/* The key is not free.  Locks without it, if nobody else has a lock. */
static int
try_without_key(const struct lock_request *r, struct lh *lh)
{
	return key_wait_is_held_alone(r, lh) ? fail_busy(r) :
	    lock_request_kernel(r, false);
}

/* Takes the key after the lock.  The holder before has unlocked, and releases
 * its key just then: it may be preempted in between. */
static int
take_key_late(const struct lock_request *r, struct lh *lh,
    struct lh_lease *lease)
{
	struct timespec pause = { 0, LATE_KEY_NS };
	int e = key_wait_try(r, lh, lease), saved = errno;

	for (int i = 0; i < LATE_KEY_TRIES && e == -EAGAIN; i++) {
		(void)nanosleep(&pause, NULL);
		pause.tv_nsec *= 2;
		e = key_wait_try(r, lh, lease);
	}
	errno = saved;
	return e;
}

/* Waits in the kernel, and takes the key afterwards if it becomes free. */
static int
wait_in_kernel(const struct lock_request *r)
{
	int result = lock_request_kernel(r, true);
	struct lh *lh = key_table();
	struct lh_lease lease;

	if (result == 0 && lh != NULL && take_key_late(r, lh, &lease) == 0 &&
	    !held_locks_add(r, lh, &lease))
		release_key(lh, &lease);
	return result;
}

static int
lock_anew(const struct lock_request *r, struct lh *lh)
{
	struct lh_lease lease;
	int e = key_wait_try(r, lh, &lease);

	if (e == 0)
		return lock_with_key(r, lh, &lease);
	if (e != -EAGAIN) {
		key_table_failed(lh, e);
		return lock_request_kernel(r, r->wait);
	}
	if (!r->wait)
		return try_without_key(r, lh);
	if (!key_wait_is_held_alone(r, lh))
		return wait_in_kernel(r);
	switch (key_wait(r, lh, &lease)) {
	case WAIT_GRANTED:
		return lock_with_key(r, lh, &lease);
	case WAIT_FAILED:
		return -1;
	default:
		return wait_in_kernel(r);
	}
}

static int
convert_key(struct held_lock *h, bool shared)
{
	int e, saved = errno;

	key_table_enter();
	e = lh_convert(h->lh, &h->lease, shared ? LH_SHARED : LH_EXCLUSIVE);
	key_table_leave();
	if (e == 0)
		h->shared = shared;
	errno = saved;
	return e;
}

/* Keeps the key, or releases it. */
static int
end_change(struct held_lock *h, bool keep, int result)
{
	int saved = errno;

	if (keep)
		held_locks_put_back(h);
	else
		held_locks_release(h);
	errno = saved;
	return result;
}

/* A writer becomes a reader.  (The kernel unlocks a flock in between.) */
static int
lock_shared(const struct lock_request *r, struct held_lock *h)
{
	int result = lock_request_kernel(r, r->wait);

	if (result == 0)
		return end_change(h, convert_key(h, true) == 0, result);
	return end_change(h, r->kind != LOCK_FLOCK, result);
}

/* A reader becomes a writer.  If that fails, it stays one, except in a flock,
 * which the kernel has unlocked. */
static int
lock_exclusive(const struct lock_request *r, struct held_lock *h, struct lh *lh)
{
	bool has_key = convert_key(h, false) == 0;
	int result;

	if (!has_key && r->kind == LOCK_FLOCK) {
		held_locks_release(h);
		if (key_wait_is_held_alone(r, lh) || r->wait)
			(void)real()->flock(r->fd, LOCK_UN);
		return lock_anew(r, lh);
	}
	if (!has_key && !r->wait && key_wait_is_held_alone(r, lh)) {
		held_locks_put_back(h);
		return fail_busy(r);
	}
	result = lock_request_kernel(r, r->wait);
	if (result == 0 && !has_key)
		(void)convert_key(h, false);
	if (result != 0 && has_key && r->kind != LOCK_FLOCK)
		(void)convert_key(h, true);
	return end_change(h, result == 0 || r->kind != LOCK_FLOCK, result);
}

/* The lock has a key already, in this mode. */
static int
lock_again(const struct lock_request *r)
{
	int result = lock_request_kernel(r, r->wait);

	if (result != 0 && errno != EINTR)	/* it had ended unseen */
		held_locks_release(held_locks_take(r));
	return result;
}

int
locking_do(const struct lock_request *r, struct lh *lh)
{
	struct held_lock *h;
	bool shared;
	int result;

	release_pending();
	if (r->unlock) {
		result = lock_request_kernel(r, r->wait);
		if (result == 0)
			held_locks_release(held_locks_take_unlocked(r));
		return result;
	}
	if (held_locks_has(r, &shared) && shared == r->shared)
		return lock_again(r);
	h = held_locks_take(r);
	if (h == NULL)
		return lock_anew(r, lh);
	held_locks_release(h->next);	/* (there is one, at most) */
	h->next = NULL;
	return r->shared ? lock_shared(r, h) : lock_exclusive(r, h, lh);
}
