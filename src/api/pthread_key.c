/* SPDX-License-Identifier: MIT */
/*
 * The keys behind the locks of leasehold/pthread.h: one attachment for all of
 * the process, and a key "pthread/NUMBER" for each lock.
 *
 * A lock is plain data, so nothing of this process can be in it.  Each thread
 * keeps the opened keys of some locks that it used last (struct
 * lhi_pthread_cached).  A key stays open while it is locked, because the opened
 * key keeps the thread's lease (op/key_lock.c): by its place in the cache, or,
 * if that was another locked one's, by a count of its own.
 *
 * A child of fork() opens the table for itself.  The parent's attachment and
 * keys cannot be used there (-EPERM), and stay as they are.
 *
 * The policy is strict: programs that were written for POSIX locks do not look
 * whether they still have them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/stdlib.h>
#include "api/pthread_key.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/attachment.h"

#define NAME_LEN sizeof("pthread/0123456789abcdef")

/* The attachment of this process. */
struct place {
	struct lh *lh;
	uint32_t forks;		/* made after so many */
	uint64_t number;	/* 1, 2, ...: another one has another */
};

static struct place *place;	/* or NULL; replaced in a child */
static uint64_t places;		/* made so far */
static char *table;		/* lh_pthread_table(), or NULL */
static __thread struct lhi_pthread_thread *thread;	/* or NULL */
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static bool has_thread_end;

int
lhi_pthread_error(int error)
{
	switch (error) {
	case -EALREADY:
		return EDEADLK;
	case -EAGAIN:
		return EBUSY;
	default:
		return -error;
	}
}

int
lh_pthread_table(const char *name)
{
	char *copy = NULL;

	if (__atomic_load_n(&place, __ATOMIC_ACQUIRE) != NULL)
		return -lhi_fail(-EBUSY, "locks of leasehold/pthread.h use a "
		    "table already");
	if (name != NULL && (name[0] == '\0' || (copy = strdup(name)) == NULL))
		return -lhi_fail(-EINVAL, "no name of a table");
	free(__atomic_exchange_n(&table, copy, __ATOMIC_ACQ_REL));
	return 0;
}

/* Finds the attachment, which is opened if there is none.  0 or -errno. */
static int
attach(struct place **out)
{
	struct place *old = __atomic_load_n(&place, __ATOMIC_ACQUIRE), *mine;
	uint32_t forks = lhi_forks();
	int error;

	if (old != NULL && old->forks == forks) {
		*out = old;
		return 0;
	}
	mine = malloc(sizeof(*mine));
	if (mine == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	error = lh_open(&mine->lh, table, NULL);
	mine->forks = forks;
	mine->number = __atomic_add_fetch(&places, 1, __ATOMIC_RELAXED);
	if (error == 0 && !__atomic_compare_exchange_n(&place, &old, mine,
	    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		(void)lh_close(mine->lh);
		free(mine);
		mine = old;	/* another thread's */
	}
	if (error == 0)
		*out = mine;
	else
		free(mine);
	return error;
}

uint64_t
lhi_pthread_id(void)
{
	uint64_t id;

	do
		arc4random_buf(&id, sizeof(id));
	while (id == 0);
	return id;
}

static void
format_name(char name[NAME_LEN], uint64_t id)
{
	(void)snprintf(name, NAME_LEN, "pthread/%016llx",
	    (unsigned long long)id);
}

static void
close_cached(struct lhi_pthread_cached *c)
{
	const struct place *p = __atomic_load_n(&place, __ATOMIC_ACQUIRE);

	if (c->key != NULL && p != NULL && c->of == p->number &&
	    p->forks == lhi_forks())
		(void)lh_key_close(c->key);
	*c = (struct lhi_pthread_cached){ 0 };
}

/* Closes this thread's keys, but those that it has locked, and frees what it
 * has of its own. */
static void
end_thread(void *arg)
{
	(void)arg;
	for (unsigned i = 0; thread != NULL && i < LHI_PTHREAD_CACHED; i++)
		if (thread->cache[i].held == 0)
			close_cached(&thread->cache[i]);
	free(thread);
	thread = NULL;
}

static void
make_thread_end(void)
{
	has_thread_end = pthread_key_create(&thread_end, end_thread) == 0;
}

struct lhi_pthread_thread *
lhi_pthread_thread(void)
{
	if (thread != NULL)
		return thread;
	(void)pthread_once(&thread_end_once, make_thread_end);
	if (!has_thread_end || pthread_setspecific(thread_end, &thread_end) !=
	    0)
		return NULL;
	thread = calloc(1, sizeof(*thread));
	return thread;
}

int
lh_pthread_end(void)
{
	struct place *p;

	end_thread(NULL);
	p = __atomic_exchange_n(&place, NULL, __ATOMIC_ACQ_REL);
	free(__atomic_exchange_n(&table, NULL, __ATOMIC_ACQ_REL));
	if (p == NULL)
		return 0;
	if (p->forks == lhi_forks())
		(void)lh_close(p->lh);
	free(p);
	return 0;
}

static int
open_key(struct lh *lh, uint64_t id, struct lh_key **key)
{
	char name[NAME_LEN];

	format_name(name, id);
	return lhi_pthread_error(lh_key_open(lh, name, 0, key));
}

/* Opens a key, and keeps it in its place of the cache unless another one that
 * is locked is there. */
static int
open_cached(struct place *p, struct lhi_pthread_cached *c, uint64_t id,
    struct lhi_pthread_key *k)
{
	int error = open_key(p->lh, id, &k->key);

	k->cached = NULL;
	if (error != 0)
		return error;
	if (c->held > 0 && c->of == p->number)
		return 0;
	close_cached(c);
	*c = (struct lhi_pthread_cached){ id, k->key, p->number, 0 };
	k->cached = c;
	return 0;
}

/* Returns the lock's number, which it gets if it has none. */
static uint64_t
number_of(uint64_t *id)
{
	uint64_t old = __atomic_load_n(id, __ATOMIC_ACQUIRE), made;

	if (old != 0)
		return old;
	made = lhi_pthread_id();
	return __atomic_compare_exchange_n(id, &old, made, false,
	    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made : old;
}

int
lhi_pthread_find(uint64_t *id, struct lhi_pthread_key *k)
{
	struct lhi_pthread_thread *t = lhi_pthread_thread();
	uint64_t number = number_of(id);
	struct lhi_pthread_cached *c;
	struct place *p;
	int error = attach(&p);

	if (error == 0 && t == NULL)
		error = lhi_fail(-ENOMEM, "out of memory, or of keys of "
		    "pthread_key_create()");
	if (error != 0)
		return lhi_pthread_error(error);
	c = &t->cache[number % LHI_PTHREAD_CACHED];
	k->lh = p->lh;
	if (c->id != number || c->of != p->number)
		return open_cached(p, c, number, k);
	k->cached = c;
	k->key = c->key;
	return 0;
}

void
lhi_pthread_put(struct lhi_pthread_key *k)
{
	if (k->cached == NULL)
		(void)lh_key_close(k->key);
}

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

/* A wait with an end begins with a try: a thread that gets the lock at once
 * needs no valid moment. */
static int
lock_in_time(struct lhi_pthread_key *k, struct lh_acquire_opts *o,
    const struct lhi_pthread_wait *w)
{
	int error;

	if (w->until != NULL && w->clock != CLOCK_REALTIME &&
	    w->clock != CLOCK_MONOTONIC)
		return -lhi_fail(-EINVAL, "the clock of a moment is "
		    "CLOCK_REALTIME or CLOCK_MONOTONIC");
	o->max_wait_ms = w->try || w->until != NULL ? 0 : LH_WAIT_FOREVER;
	error = lh_key_lock(k->key, o);
	if (error != -EAGAIN || w->try)
		return lhi_pthread_error(error);
	error = set_end(k->lh, w, o);
	if (error != 0)
		return error;
	if (o->deadline_ns == 0 && o->max_wait_ms == 0)
		return ETIMEDOUT;
	return lhi_pthread_error(lh_key_lock(k->key, o));
}

int
lhi_pthread_lock(struct lhi_pthread_key *k,
    const struct lhi_pthread_wait *wait, uint32_t mode, uint32_t flags)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	int error;

	more.policy = LH_POLICY_STRICT;
	o.more = &more;
	o.mode = mode;
	o.flags = flags;
	error = lock_in_time(k, &o, wait);
	if (error != 0)
		return error;
	if (k->cached != NULL)
		k->cached->held = 1;
	else			/* the lock's count, beside the call's */
		(void)lh_key_open(k->lh, lh_key_name(k->key), 0, &k->key);
	return 0;
}

int
lhi_pthread_unlock(struct lhi_pthread_key *k)
{
	int error = lh_key_unlock(k->key);

	if (error == -EINVAL)
		return EPERM;
	if (k->cached != NULL && k->cached->held > 0)
		k->cached->held = 0;
	else
		(void)lh_key_close(k->key);
	return lhi_pthread_error(error);
}

int
lhi_pthread_destroy(uint64_t id)
{
	struct lhi_pthread_cached *c;
	char name[NAME_LEN];
	struct place *p;
	int error;

	if (id == 0)
		return 0;	/* never used */
	format_name(name, id);
	error = attach(&p);
	if (error == 0)
		error = lh_destroy(p->lh, name);
	if (error == 0 && thread != NULL) {
		c = &thread->cache[id % LHI_PTHREAD_CACHED];
		if (c->id == id && c->of == p->number)
			close_cached(c);
	}
	return error == -EALREADY ? EBUSY : lhi_pthread_error(error);
}
