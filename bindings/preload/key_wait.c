/* SPDX-License-Identifier: MIT */
/*
 * Acquires the key of a lock, and waits for it if necessary.
 *
 * The kernel's lock is the truth.  A key may be left where the lock has ended
 * unseen (the C library closed the descriptor, a child unlocked it).  Most
 * holders say that they have a lock of the kernel's as well
 * (KERNEL_LOCK_INFO).  If all do, the wait is the kernel's, which knows of
 * signals, cancellation, fairness and circles what no wait for a key does.  The
 * key is taken afterwards if it is free.  Here is the wait for a holder that
 * does not say so: the kernel knows nothing of it.
 *
 * Readers have a higher priority than writers: as with the kernel's locks, a
 * writer that waits keeps no reader out.
 *
 * A POSIX lock's wait ends with EDEADLK when the keys have a circle.  The other
 * kinds of locks are in no circle for the kernel; their waits never end so, and
 * their keys belong to no thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload.h"

struct wait {
	const struct lock_request *r;
	struct lh *lh;
	sigset_t usual;
	enum signal_news news;
	bool to_kernel;
};

static void
set_options(const struct lock_request *r, struct lh_acquire_opts *o,
    struct lh_acquire_more *more)
{
	*o = (struct lh_acquire_opts)LH_ACQUIRE_OPTS_INIT;
	*more = (struct lh_acquire_more)LH_ACQUIRE_MORE_INIT;
	more->policy = LH_POLICY_STRICT;
	more->info = r->info;
	o->more = more;
	o->mode = r->shared ? LH_SHARED : LH_EXCLUSIVE;
	o->priority = r->shared;
	if (r->kind != LOCK_POSIX)
		o->flags = LH_SHAREABLE | LH_NO_DEADLOCK;
}

int
key_wait_try(const struct lock_request *r, struct lh *lh,
    struct lh_lease *lease)
{
	struct lh_acquire_more more;
	struct lh_acquire_opts o;
	int e, saved = errno;

	set_options(r, &o, &more);
	o.max_wait_ms = 0;
	key_table_enter();
	e = lh_acquire(lh, r->key, &o, lease);
	key_table_leave();
	errno = saved;
	return e;
}

/* 1: a holder that conflicts says nothing of a lock of the kernel's. */
static int
see_holders(const struct lh_key_info *info, void *arg)
{
	const struct lock_request *r = arg;

	for (uint32_t i = 0; i < info->n_holders; i++) {
		const struct lh_party *p = &info->holders[i];

		if ((!r->shared || p->mode == LH_EXCLUSIVE) &&
		    strncmp(p->info, KERNEL_LOCK_INFO,
		    strlen(KERNEL_LOCK_INFO)) != 0)
			return 1;
	}
	return 0;
}

bool
key_wait_is_held_alone(const struct lock_request *r, struct lh *lh)
{
	int e, saved = errno;

	key_table_enter();
	e = lh_status(lh, r->key, NULL, see_holders, (void *)r);
	key_table_leave();
	errno = saved;
	return e == 1;
}

/* Called while the thread waits for the key, with signals that wait too. */
static int
watch_wait(void *arg)
{
	struct wait *w = arg;

	w->news = signal_mask_look(&w->usual);
	w->to_kernel = !key_wait_is_held_alone(w->r, w->lh);
	return w->news != SIGNALS_NONE || w->to_kernel;
}

/* Waits once, until something happens.  Signals are delivered after it. */
static int
wait_masked(struct wait *w, struct lh_lease *lease)
{
	struct lh_acquire_more more;
	struct lh_acquire_opts o;
	int e;

	set_options(w->r, &o, &more);
	o.max_wait_ms = LH_WAIT_FOREVER;
	w->news = SIGNALS_NONE;
	signal_mask_begin(&w->usual);
	key_table_enter();
	e = lh_acquire_watched(w->lh, w->r->key, &o, watch_wait, w, lease);
	if (e == 0 && signal_mask_look(&w->usual) == SIGNALS_INTERRUPT) {
		(void)lh_release(w->lh, lease);
		w->news = SIGNALS_INTERRUPT;
		e = -ECANCELED;
	}
	key_table_leave();
	signal_mask_end(&w->usual);
	return e;
}

enum wait_end
key_wait(const struct lock_request *r, struct lh *lh, struct lh_lease *lease)
{
	struct wait w = { .r = r, .lh = lh };
	int e, saved = errno;

	/* ends: with the wait.  Each turn but the last is for signals that end
	 * no call of the kernel's. */
	for (;;) {
		e = wait_masked(&w, lease);
		errno = saved;
		if (e == 0)
			return WAIT_GRANTED;
		if (w.news == SIGNALS_INTERRUPT || e == -EDEADLK) {
			errno = e == -EDEADLK ? EDEADLK : EINTR;
			return WAIT_FAILED;
		}
		if (w.news == SIGNALS_NONE) {
			if (!w.to_kernel)
				key_table_failed(lh, e);
			return WAIT_KERNEL;
		}
	}
}
