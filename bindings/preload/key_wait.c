/* SPDX-License-Identifier: MIT */
/*
 * Acquires the key of a lock, and waits for it if necessary.
 *
 * The kernel's lock is the truth.  A key may be left where the lock has ended
 * unseen (the C library closed the descriptor, a child unlocked it).  Most
 * holders say that they have a lock of the kernel's as well (KERNEL_LOCK_INFO).
 * If all do, the kernel is asked too, again and again, and decides: its lock is
 * taken without the key, as it would be without this library.  A holder that
 * does not say so has nothing in the kernel, and is waited for.
 *
 * Readers have a higher priority than writers: as with the kernel's locks, a
 * writer that waits keeps no reader out.
 *
 * Circles.  A POSIX lock's wait ends with EDEADLK when the keys have a circle.
 * The kernel searches for circles too, of waits in the kernel.  A circle could
 * have both, and nobody would find it: so a wait here goes on in the kernel as
 * soon as another process waits there for a lock of this one.  (Then so does
 * every other wait of the circle, and the kernel finds it.)  The other kinds of
 * locks are in no circle for the kernel; their waits never end so, and their
 * keys belong to no thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload.h"

/* in calls of watch_wait(), 20 ms each */
#define ASK_MAX 8u		/* between questions to the kernel */
#define CIRCLE_EVERY 25u

struct wait {
	const struct lock_request *r;
	struct lh *lh;
	sigset_t usual;
	enum signal_news news;
	uint32_t calls, ask_at, ask_gap;
	bool locked, failed, to_kernel;
	int error;
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

/* Asks the kernel. Returns true if the wait is over. */
static bool
ask_kernel(struct wait *w)
{
	if (key_wait_is_held_alone(w->r, w->lh))
		return false;
	w->locked = lock_request_kernel(w->r, false) == 0;
	w->failed = !w->locked && !lock_request_is_busy();
	w->error = errno;
	return w->locked || w->failed;
}

/* True if a process waits in the kernel for a POSIX lock of this one.  The line
 * of a waiter has the number of the lock, and an arrow. */
static bool
is_waited_for(void)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned long number, ours = 0;
	char line[200], what[16], kind[16];
	bool found = false;
	long pid;

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lu: -> %15s", &number, kind) == 2)
			found = ours != 0 && number == ours;
		else if (sscanf(line, "%lu: %15s %*s %15s %ld", &number, kind,
		    what, &pid) == 4)
			ours = pid == getpid() && strcmp(kind, "POSIX") == 0 ?
			    number : 0;
	}
	(void)real()->fclose(f);
	return found;
}

/* Called while the thread waits for the key, with signals that wait too. */
static int
watch_wait(void *arg)
{
	struct wait *w = arg;

	w->calls++;
	w->news = signal_mask_look(&w->usual);
	if (w->news != SIGNALS_NONE)
		return 1;
	if (w->calls >= w->ask_at) {
		if (ask_kernel(w))
			return 1;
		w->ask_gap = w->ask_gap < ASK_MAX ? w->ask_gap * 2 : ASK_MAX;
		w->ask_at = w->calls + w->ask_gap;
	}
	w->to_kernel = w->r->kind == LOCK_POSIX &&
	    w->calls % CIRCLE_EVERY == 0 && is_waited_for() &&
	    !key_wait_is_held_alone(w->r, w->lh);
	return w->to_kernel;
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
	w->ask_gap = 1;
	w->ask_at = w->calls + 1;
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
		if (ask_kernel(&w))
			e = -ECANCELED;
		else
			e = wait_masked(&w, lease);
		errno = saved;
		if (e == 0)
			return WAIT_GRANTED;
		if (w.locked)
			return WAIT_LOCKED;
		if (w.failed || w.news == SIGNALS_INTERRUPT ||
		    e == -EDEADLK) {
			errno = w.failed ? w.error :
			    e == -EDEADLK ? EDEADLK : EINTR;
			return WAIT_FAILED;
		}
		if (w.to_kernel)
			return WAIT_KERNEL;
		if (w.news == SIGNALS_NONE) {
			key_table_failed(lh, e);
			return WAIT_KERNEL;
		}
	}
}
