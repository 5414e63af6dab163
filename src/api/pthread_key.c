/* SPDX-License-Identifier: MIT */
/*
 * The keys behind the locks of leasehold/pthread.h: one attachment for all of
 * the process, and a key "pthread/NUMBER" for each lock.
 *
 * A lock is plain data, which others may copy or write, so nothing that its
 * holder must know is in it: its number, and the table that it was first used
 * in.  A process that uses another table is refused (EXDEV), because a key of
 * that name there would be another lock.
 *
 * A thread remembers in its own memory how often it has locked a lock, and by
 * which lease (struct lhi_pthread_use).  Some that it used last stay there with
 * their keys opened, by number; those that are locked and have no place among
 * these are in a list.  The opened key keeps the thread's lease
 * (op/key_lock.c), so it stays open while the lock is locked.
 *
 * A use belongs to one attachment.  A child of fork() makes another one, as
 * does a process after lh_pthread_end(); so nothing that was locked before is
 * locked there.  The parent's attachment and keys stay as they are in the
 * child, where they cannot be used (-EPERM).
 *
 * The policy is strict: programs that were written for POSIX locks do not look
 * whether they still have them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/stdlib.h>
#include "api/pthread_key.h"
#include "base/error.h"
#include "proc/claim_cache.h"
#include "shm/table_object.h"

#define NAME_LEN sizeof("pthread/0123456789abcdef")
#define CACHED 16

/* The attachment of this process. */
struct place {
	struct lh *lh;
	uint32_t forks;		/* made after so many */
	uint64_t number;	/* 1, 2, ...: another one has another */
};

/* The part of each thread.  Not in the thread's static memory, of which there
 * is too little for a library that is loaded late. */
struct thread_part {
	struct lhi_pthread_use cache[CACHED];	/* by number */
	struct lhi_pthread_use *more;
};

static struct place *place;	/* or NULL; replaced in a child */
static uint64_t places;		/* made so far */
static char *table;		/* lh_pthread_table(), or NULL */
static __thread struct thread_part *part;	/* or NULL */
static __thread unsigned rounds;	/* of destructors */
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
lhi_pthread_lease(struct lhi_pthread_use *u, struct lh_lease *l)
{
	int error = lh_key_lease(u->key, l);

	return error == -EINVAL ? ESTALE : lhi_pthread_error(error);
}

/* Returns the attachment, or NULL: there is none, or it is the parent's. */
static struct place *
own_place(void)
{
	struct place *p = __atomic_load_n(&place, __ATOMIC_ACQUIRE);

	return p != NULL && p->forks == lhi_forks() ? p : NULL;
}

int
lh_pthread_table(const char *name)
{
	char path[PATH_MAX], *copy = NULL;
	int error = 0;

	if (__atomic_load_n(&place, __ATOMIC_ACQUIRE) != NULL)
		return -lhi_fail(-EBUSY, "locks of leasehold/pthread.h use a "
		    "table already");
	if (name != NULL) {
		error = lhi_object_path(path, sizeof(path), name, false);
		copy = error == 0 ? strdup(name) : NULL;
	}
	if (error != 0)
		return EINVAL;
	if (name != NULL && copy == NULL)
		return -lhi_fail(-ENOMEM, "out of memory");
	free(__atomic_exchange_n(&table, copy, __ATOMIC_ACQ_REL));
	return 0;
}

/* Finds the attachment, which is opened if there is none.  0 or -errno. */
static int
attach(struct place **out)
{
	/* one load: what was seen not to be ours is what is replaced */
	struct place *old = __atomic_load_n(&place, __ATOMIC_ACQUIRE), *mine;
	int error;

	if (old != NULL && old->forks == lhi_forks()) {
		*out = old;
		return 0;
	}
	mine = malloc(sizeof(*mine));
	if (mine == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	error = lh_open(&mine->lh, table, NULL);
	mine->forks = lhi_forks();
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

static bool
is_of(const struct lhi_pthread_use *u, const struct place *p)
{
	return p != NULL && u->id != 0 && u->of == p->number;
}

/* Forgets a use; its key is closed if its attachment is there still. */
static void
end_use(struct lhi_pthread_use *u)
{
	if (is_of(u, own_place()))
		(void)lh_key_close(u->key);
	if (u->cached)
		*u = (struct lhi_pthread_use){ .cached = true };
	else
		free(u);
}

/* Breaks a robust lock that the ending thread has not unlocked, so that the
 * next holder is warned.  (The thread may have no leases any more: the order in
 * which a thread's data ends is not known.)  Another lock stays locked, and its
 * key opened. */
static void
leave(struct lhi_pthread_use *u)
{
	if (u->count == 0 || !is_of(u, own_place()) || !u->robust)
		return;
	(void)lh_break(u->lh, lh_key_name(u->key), u->lease.id,
	    u->lease.token);
	(void)lh_key_unlock(u->key);
	u->count = 0;
}

/* Leaves or ends each use of this thread, and frees its part. */
static void
end_part(bool leaves)
{
	struct thread_part *t = part;
	struct lhi_pthread_use *u, *next;

	part = NULL;
	if (t == NULL)
		return;
	for (unsigned i = 0; i < CACHED; i++) {
		u = &t->cache[i];
		if (leaves)
			leave(u);
		if (u->count == 0)
			end_use(u);
	}
	/* ends: the thread's own list */
	for (u = t->more; u != NULL; u = next) {
		next = u->next;
		if (leaves)
			leave(u);
		if (u->count == 0)
			end_use(u);
		else
			free(u);
	}
	free(t);
}

/* Before the thread's leases are lost: notes them, for later unlocks. */
static void
note_leases(void)
{
	struct thread_part *t = part;
	struct lhi_pthread_use *u = t == NULL ? NULL : t->more;
	const struct place *p = own_place();

	for (unsigned i = 0; t != NULL && i < CACHED; i++)
		if (t->cache[i].count > 0 && is_of(&t->cache[i], p))
			(void)lhi_pthread_lease(&t->cache[i],
			    &t->cache[i].lease);
	for (; u != NULL; u = u->next)		/* ends: as above */
		if (is_of(u, p))
			(void)lhi_pthread_lease(u, &u->lease);
}

static void
end_thread(void *arg)
{
	if (++rounds >= LHI_THREAD_END_ROUND ||
	    pthread_setspecific(thread_end, arg) != 0)
		end_part(true);
	else
		note_leases();
}

static void
make_thread_end(void)
{
	has_thread_end = pthread_key_create(&thread_end, end_thread) == 0;
}

/* Returns this thread's part, or NULL without memory. */
static struct thread_part *
own_part(void)
{
	struct thread_part *t = part;

	if (t != NULL)
		return t;
	(void)pthread_once(&thread_end_once, make_thread_end);
	if (!has_thread_end || pthread_setspecific(thread_end, &thread_end) !=
	    0)
		return NULL;
	t = calloc(1, sizeof(*t));
	for (unsigned i = 0; t != NULL && i < CACHED; i++)
		t->cache[i].cached = true;
	return part = t;
}

int
lh_pthread_end(void)
{
	struct place *p;

	end_part(false);
	p = __atomic_exchange_n(&place, NULL, __ATOMIC_ACQ_REL);
	free(__atomic_exchange_n(&table, NULL, __ATOMIC_ACQ_REL));
	if (p == NULL)
		return 0;
	if (p->forks == lhi_forks())
		(void)lh_close(p->lh);
	free(p);
	return 0;
}

/* Returns the word's value, which is `made` if it had none. */
static uint64_t
set_once(uint64_t *word, uint64_t made)
{
	uint64_t old = 0;

	return __atomic_compare_exchange_n(word, &old, made, false,
	    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made : old;
}

/* 0 if the lock was first used in the table of that attachment, or is now. */
static int
check_table(struct lhi_pthread_words w, const struct place *p)
{
	uint64_t first = __atomic_load_n(w.table, __ATOMIC_ACQUIRE);
	uint64_t ours = p->lh->v.uuid[0];

	if (first == 0 && lhi_view_retired(&p->lh->v))
		return lhi_pthread_error(lhi_view_fresh(&p->lh->v));
	if (first == 0)
		first = set_once(w.table, ours);
	return first == ours ? 0 :
	    -lhi_fail(-EXDEV, "the lock was first used in another table than "
	    "'%s', which this process uses: that of another user or name, or "
	    "one that was removed; use one table, or initialise the lock "
	    "again", lh_table_name(p->lh));
}

/* Returns the thread's use of that lock, or NULL. */
static struct lhi_pthread_use *
find_use(struct thread_part *t, uint64_t id, const struct place *p)
{
	struct lhi_pthread_use *u = &t->cache[id % CACHED], **q;

	if (u->id == id && is_of(u, p))
		return u;
	for (q = &t->more; *q != NULL;) {	/* ends: as above */
		u = *q;
		if (!is_of(u, p)) {		/* of an earlier attachment */
			*q = u->next;
			free(u);
		} else if (u->id == id) {
			return u;
		} else {
			q = &u->next;
		}
	}
	return NULL;
}

/* Begins the use of a lock, in its place of the cache unless one that is locked
 * has that. */
static int
begin_use(struct thread_part *t, struct place *p, uint64_t id,
    struct lhi_pthread_use **out)
{
	struct lhi_pthread_use *u = &t->cache[id % CACHED];
	char name[NAME_LEN];
	struct lh_key *key;
	int error;

	(void)snprintf(name, NAME_LEN, "pthread/%016llx",
	    (unsigned long long)id);
	error = lh_key_open(p->lh, name, 0, &key);
	if (error != 0)
		return lhi_pthread_error(error);
	if (u->count == 0 || !is_of(u, p)) {
		end_use(u);
	} else {
		u = calloc(1, sizeof(*u));
		if (u == NULL) {
			(void)lh_key_close(key);
			(void)lhi_fail(-ENOMEM, "out of memory");
			return ENOMEM;
		}
		u->next = t->more;
		t->more = u;
	}
	u->id = id;
	u->of = p->number;
	u->lh = p->lh;
	u->key = key;
	*out = u;
	return 0;
}

int
lhi_pthread_find(struct lhi_pthread_words w, struct lhi_pthread_use **out)
{
	struct thread_part *t = own_part();
	struct lhi_pthread_use *u;
	struct place *p = NULL;
	uint64_t id;
	int error = attach(&p);

	if (error != 0)
		return lhi_pthread_error(error);
	if (t == NULL || p == NULL) {
		(void)lhi_fail(-ENOMEM, "out of memory, or of keys of "
		    "pthread_key_create()");
		return ENOMEM;
	}
	error = check_table(w, p);
	if (error != 0)
		return error;
	id = __atomic_load_n(w.id, __ATOMIC_ACQUIRE);
	if (id == 0)
		id = set_once(w.id, lhi_pthread_id());
	u = find_use(t, id, p);
	if (u == NULL)
		error = begin_use(t, p, id, &u);
	*out = u;
	return error;
}

struct lhi_pthread_use *
lhi_pthread_held(struct lhi_pthread_words w)
{
	uint64_t id = __atomic_load_n(w.id, __ATOMIC_ACQUIRE);
	struct lhi_pthread_use *u;
	struct place *p = own_place();

	if (part == NULL || id == 0 || p == NULL)
		return NULL;
	u = find_use(part, id, p);
	return u != NULL && u->count > 0 ? u : NULL;
}

void
lhi_pthread_put(struct lhi_pthread_use *u)
{
	struct lhi_pthread_use **q;

	if (u->cached || u->count > 0)
		return;
	for (q = &part->more; *q != u; q = &(*q)->next)	/* ends: as above */
		;
	*q = u->next;
	end_use(u);
}

int
lhi_pthread_destroy(struct lhi_pthread_words w)
{
	struct lhi_pthread_use *u = NULL;
	int error;

	if (__atomic_load_n(w.id, __ATOMIC_ACQUIRE) == 0 ||
	    __atomic_load_n(w.table, __ATOMIC_ACQUIRE) == 0)
		return 0;	/* never used */
	error = lhi_pthread_find(w, &u);
	if (error != 0 || u == NULL)
		return error;
	if (u->count > 0)
		return -lhi_fail(-EBUSY, "this thread has locked it");
	error = lh_destroy(u->lh, lh_key_name(u->key));
	if (error == 0 && u->cached)
		end_use(u);
	else
		lhi_pthread_put(u);
	return error == -EALREADY ? EBUSY : lhi_pthread_error(error);
}
