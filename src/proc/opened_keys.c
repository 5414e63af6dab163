/* SPDX-License-Identifier: MIT */
/*
 * A hash table of an attachment's opened keys, by name.  lh_key_open() and
 * lh_key_close() use it.
 *
 * A few mutexes protect the buckets, one for each residue, so that threads with
 * different keys rarely meet.  A mutex is held during the walk through one
 * bucket, and during no system call except malloc()'s.  A key whose last
 * reference is dropped leaves its bucket under the mutex and is marked as
 * closed (base/handle.c), when nobody can be reading it.  Use of an open key
 * takes no lock.
 *
 * Fork.  The mutexes are part of the attachment.  A child never touches its
 * parent's attachment (lhi_own_handle()), so it does not matter who held them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/handle.h"
#include "proc/opened_keys.h"

#define BUCKETS 1024u
#define MUTEXES 32u

struct lhi_opened_keys {
	pthread_mutex_t mutex[MUTEXES];
	struct lh_key *bucket[BUCKETS];
};

/* Frees a key that is in no bucket. */
static void
free_key(struct lh_key *k)
{
	k->lh = &lhi_closed_lh;
	if (!lhi_mutant_on(mark_after_close)) {
		__atomic_store_n(&k->mark, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&k->lock_mark, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&k->slot_ref, 0, __ATOMIC_RELAXED);
	lhi_handle_free(HANDLE_KEY, k);
}

int
lhi_opened_keys_begin(struct lh *lh)
{
	lh->keys = calloc(1, sizeof(*lh->keys));
	for (uint32_t i = 0; lh->keys != NULL && i < MUTEXES; i++)
		(void)pthread_mutex_init(&lh->keys->mutex[i], NULL);
	return lh->keys == NULL ? -1 : 0;
}

void
lhi_opened_keys_end(struct lh *lh)
{
	struct lh_key *k;

	/* closing: no other thread uses the attachment */
	for (uint32_t i = 0; lh->keys != NULL && i < BUCKETS; i++) {
		while ((k = lh->keys->bucket[i]) != NULL) {
			lh->keys->bucket[i] = k->next;
			free_key(k);
		}
	}
	free(lh->keys);
	lh->keys = NULL;
}

/* Locks and returns the bucket of that hash.  The thread cannot be cancelled
 * until it is unlocked. */
static struct lh_key **
lock_bucket(struct lh *lh, uint64_t hash, int *cancel)
{
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	(void)pthread_mutex_lock(&lh->keys->mutex[hash % MUTEXES]);
	return &lh->keys->bucket[hash % BUCKETS];
}

static void
unlock_bucket(struct lh *lh, uint64_t hash, int cancel)
{
	(void)pthread_mutex_unlock(&lh->keys->mutex[hash % MUTEXES]);
	(void)pthread_setcancelstate(cancel, NULL);
}

/* Returns that key of the bucket with one more reference, or NULL. */
static struct lh_key *
take_key(struct lh_key *k, const struct lhi_key_name *n)
{
	for (; k != NULL; k = k->next) {
		if (k->hash == n->hash && strcmp(k->name, n->key) == 0) {
			k->refs++;
			return k;
		}
	}
	return NULL;
}

struct lh_key *
lhi_opened_keys_find(struct lh *lh, const struct lhi_key_name *n)
{
	int cancel;
	struct lh_key *k = take_key(*lock_bucket(lh, n->hash, &cancel), n);

	unlock_bucket(lh, n->hash, cancel);
	return k;
}

struct lh_key *
lhi_opened_keys_add(struct lh *lh, const struct lhi_key_name *n,
    const struct lhi_ref *ref)
{
	static uint64_t marks;
	int cancel;
	struct lh_key **bucket = lock_bucket(lh, n->hash, &cancel);
	struct lh_key *k = take_key(*bucket, n);

	if (k == NULL)
		k = calloc(1, sizeof(*k) + n->len + 1);
	if (k != NULL && k->lh == NULL) {
		k->lh = lh;
		k->slot_ref = ref->slot_ref;
		k->mark = __atomic_add_fetch(&marks, 2, __ATOMIC_RELAXED);
		k->lock_mark = k->mark + 1;
		k->hash = n->hash;
		k->refs = 1;
		memcpy(k->name, n->key, n->len);
		k->next = *bucket;
		*bucket = k;
	}
	unlock_bucket(lh, n->hash, cancel);
	return k;
}

void
lhi_opened_keys_drop(struct lh_key *k)
{
	struct lh *lh = k->lh;
	const uint64_t hash = k->hash;
	int cancel;
	struct lh_key **p = lock_bucket(lh, hash, &cancel);

	if (--k->refs == 0) {
		while (*p != k)
			p = &(*p)->next;
		*p = k->next;
		free_key(k);
	}
	unlock_bucket(lh, hash, cancel);
}
