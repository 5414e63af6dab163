/* SPDX-License-Identifier: MIT */
/*
 * The keys that this process holds for locks of the kernel's, so that they are
 * released with them.
 *
 * A lock belongs to the process (POSIX), or to the open file, which duplicates
 * of a descriptor share (kcmp(2) tells, where it is allowed).  A lock without a
 * record has no key: that is always allowed, because the kernel has it.
 *
 * A record is removed before its key is released, under the mutex, so no key is
 * released twice.  Nothing waits under the mutex, and a signal handler that
 * interrupts its holder uses the kernel alone (key_table.c).
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload.h"

#define HELD_MAX 1024

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct held_lock places[HELD_MAX];
static uint32_t used;			/* places that were ever used */
static struct held_lock *unused;	/* of these, those that are free */
static struct held_lock *held;
static atomic_uint n_held;

static void
lock_records(void)
{
	key_table_enter();
	(void)pthread_mutex_lock(&mutex);
}

static void
unlock_records(void)
{
	(void)pthread_mutex_unlock(&mutex);
	key_table_leave();
}

bool
held_locks_any(void)
{
	return atomic_load_explicit(&n_held, memory_order_relaxed) != 0;
}

static bool
is_same_open_file(int a, int b)
{
	return a == b || syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE,
	    (unsigned long)a, (unsigned long)b) == 0;
}

static bool
is_same_owner(const struct held_lock *h, const struct lock_request *r)
{
	return h->kind == r->kind && h->dev == r->dev && h->ino == r->ino &&
	    (h->kind == LOCK_POSIX || is_same_open_file(h->fd, r->fd));
}

static bool
is_this_lock(const struct held_lock *h, const struct lock_request *r)
{
	return h->start == r->start && h->end == r->end && is_same_owner(h, r);
}

/* True if the ranges touch: a key is not kept for a part of its range. */
static bool
is_unlocked(const struct held_lock *h, const struct lock_request *r)
{
	return (r->end == 0 || h->start < r->end) &&
	    (h->end == 0 || r->start < h->end) && is_same_owner(h, r);
}

/* Moves the record that *at points to into a list. */
static void
move(struct held_lock **at, struct held_lock **list)
{
	struct held_lock *h = *at;

	*at = h->next;
	h->next = *list;
	*list = h;
	(void)atomic_fetch_sub(&n_held, 1);
}

static struct held_lock *
take(const struct lock_request *r,
    bool (*matches)(const struct held_lock *h, const struct lock_request *r))
{
	struct held_lock *list = NULL, **at = &held;
	int saved = errno;

	if (!held_locks_any())
		return NULL;
	lock_records();
	while (*at != NULL) {
		if (matches(*at, r))
			move(at, &list);
		else
			at = &(*at)->next;
	}
	unlock_records();
	errno = saved;
	return list;
}

struct held_lock *
held_locks_take(const struct lock_request *r)
{
	return take(r, is_this_lock);
}

struct held_lock *
held_locks_take_unlocked(const struct lock_request *r)
{
	return take(r, is_unlocked);
}

/* Closing any descriptor of a file ends the POSIX locks of it. */
struct held_lock *
held_locks_take_closed(int first, int last, const struct stat *st)
{
	struct held_lock *list = NULL, **at = &held, *h;

	lock_records();
	while ((h = *at) != NULL) {
		if ((h->fd >= first && h->fd <= last) || (st != NULL &&
		    h->kind == LOCK_POSIX && h->dev == st->st_dev &&
		    h->ino == st->st_ino))
			move(at, &list);
		else
			at = &h->next;
	}
	unlock_records();
	return list;
}

bool
held_locks_has(const struct lock_request *r, bool *shared)
{
	struct held_lock *h;
	int saved = errno;

	if (!held_locks_any())
		return false;
	lock_records();
	for (h = held; h != NULL && !is_this_lock(h, r); h = h->next)
		;
	if (h != NULL)
		*shared = h->shared;
	unlock_records();
	errno = saved;
	return h != NULL;
}

void
held_locks_put_back(struct held_lock *h)
{
	lock_records();
	h->next = held;
	held = h;
	(void)atomic_fetch_add(&n_held, 1);
	unlock_records();
}

bool
held_locks_add(const struct lock_request *r, struct lh *lh,
    const struct lh_lease *lease)
{
	struct held_lock *h;

	lock_records();
	h = unused;
	if (h != NULL)
		unused = h->next;
	else if (used < HELD_MAX)
		h = &places[used++];
	unlock_records();
	if (h == NULL)
		return false;
	*h = (struct held_lock){ .kind = r->kind, .fd = r->fd,
	    .shared = r->shared, .dev = r->dev, .ino = r->ino,
	    .start = r->start, .end = r->end, .lh = lh, .lease = *lease };
	held_locks_put_back(h);
	return true;
}

void
held_locks_release(struct held_lock *list)
{
	struct held_lock *h;
	int saved = errno;

	while ((h = list) != NULL) {
		list = h->next;
		key_table_enter();
		(void)lh_release(h->lh, &h->lease);
		key_table_leave();
		lock_records();
		h->next = unused;
		unused = h;
		unlock_records();
	}
	errno = saved;
}

void
held_locks_fork_begin(void)
{
	(void)pthread_mutex_lock(&mutex);
}

void
held_locks_fork_end(bool child)
{
	if (!child) {
		(void)pthread_mutex_unlock(&mutex);
		return;
	}
	(void)pthread_mutex_init(&mutex, NULL);
	used = 0;
	unused = held = NULL;
	atomic_store(&n_held, 0);
}
