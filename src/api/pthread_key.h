/* SPDX-License-Identifier: MIT */
/* The keys behind the locks of leasehold/pthread.h.  See pthread_key.c. */
#ifndef LHI_PTHREAD_KEY_H
#define LHI_PTHREAD_KEY_H

#include <stdbool.h>
#include <leasehold/key.h>
#include <leasehold/pthread.h>

#define LHI_PTHREAD_ENDED UINT32_MAX	/* a destroyed lock's kind */

/* A lock that this thread has locked, uses, or has used last. */
struct lhi_pthread_use {
	struct lhi_pthread_use *next;	/* of those outside of the cache */
	uint64_t id;			/* 0: none */
	uint64_t of;			/* the attachment's number */
	struct lh *lh;
	struct lh_key *key;		/* opened */
	uint32_t count;			/* how often it is locked; 0: not */
	bool robust;
	bool dirty;			/* EOWNERDEAD, and not consistent yet */
	bool cached;
	uint32_t mode;			/* while it is locked */
	struct lh_lease lease;		/* while it is locked, and is robust or
					 * the thread is ending */
};

/* The two words of a lock's memory by which it is found. */
struct lhi_pthread_words {
	uint64_t *id, *table;
};

/* How long to wait. */
struct lhi_pthread_wait {
	bool try;
	clockid_t clock;
	const struct timespec *until;	/* NULL: for ever */
};

/* Returns a new random number. */
uint64_t lhi_pthread_id(void);

/* Finds this thread's use of a lock, which gets a number and a table if it has
 * none.  Results are 0 or a positive errno, also of the next ones. */
int lhi_pthread_find(struct lhi_pthread_words w, struct lhi_pthread_use **out);

/* Returns this thread's use of a lock that it has locked, or NULL. */
struct lhi_pthread_use *lhi_pthread_held(struct lhi_pthread_words w);

/* Copies the lease of a lock that this thread has locked; ESTALE. */
int lhi_pthread_lease(struct lhi_pthread_use *u, struct lh_lease *l);

/* 0 if the lock that this thread has locked is its own still; ESTALE. */
int lhi_pthread_verify(struct lhi_pthread_use *u);

/* Locks what this thread has not locked. */
int lhi_pthread_lock(struct lhi_pthread_use *u,
    const struct lhi_pthread_wait *wait, uint32_t mode, uint32_t flags);

/* Locks once more what it has locked. */
int lhi_pthread_lock_again(struct lhi_pthread_use *u);

/* Unlocks once.  ESTALE: it was not this thread's any more. */
int lhi_pthread_unlock(struct lhi_pthread_use *u);

/* Ends the use of what was found, unless it is locked. */
void lhi_pthread_put(struct lhi_pthread_use *u);

/* Removes the key of a lock that ends.  EBUSY. */
int lhi_pthread_destroy(struct lhi_pthread_words w);

/* Returns the positive errno of an error of ours. */
int lhi_pthread_error(int error);

#endif
