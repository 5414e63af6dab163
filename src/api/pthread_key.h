/* SPDX-License-Identifier: MIT */
/* The keys behind the locks of leasehold/pthread.h.  See pthread_key.c. */
#ifndef LHI_PTHREAD_KEY_H
#define LHI_PTHREAD_KEY_H

#include <stdbool.h>
#include <leasehold/key.h>
#include <leasehold/pthread.h>

#define LHI_PTHREAD_ENDED UINT32_MAX	/* a destroyed lock's kind */

/* A key that was found for one call. */
struct lhi_pthread_key {
	struct lh *lh;
	struct lh_key *key;
	struct lhi_pthread_cached *cached;	/* or NULL: opened for it */
};

/* A key that a thread keeps open. */
struct lhi_pthread_cached {
	uint64_t id;
	struct lh_key *key;
	uint64_t of;		/* number of its place */
	uint32_t held;		/* 1: this thread has locked it */
};

#define LHI_PTHREAD_CACHED 16
#define LHI_PTHREAD_AGAIN 64

/* The part of each thread.  Not in the thread's static memory, of which
 * there is too little for a library that is loaded late. */
struct lhi_pthread_thread {
	struct lhi_pthread_cached cache[LHI_PTHREAD_CACHED]; /* by number */
	/* further locks for reading; count 0, or made before a fork: unused */
	struct {
		uint64_t id;
		uint32_t count, forks;
	} again[LHI_PTHREAD_AGAIN];
};

/* Returns this thread's, or NULL: there is no memory. */
struct lhi_pthread_thread *lhi_pthread_thread(void);

/* How long to wait. */
struct lhi_pthread_wait {
	bool try;
	clockid_t clock;
	const struct timespec *until;	/* NULL: for ever */
};

/* Returns a new random number. */
uint64_t lhi_pthread_id(void);

/* Finds the key of *id, which gets a number if it has none.  Results are 0 or a
 * positive errno, also of the next ones. */
int lhi_pthread_find(uint64_t *id, struct lhi_pthread_key *k);

/* Ends the use of a key that was found. */
void lhi_pthread_put(struct lhi_pthread_key *k);

int lhi_pthread_lock(struct lhi_pthread_key *k,
    const struct lhi_pthread_wait *wait, uint32_t mode, uint32_t flags);

/* EPERM: this thread has not locked it. */
int lhi_pthread_unlock(struct lhi_pthread_key *k);

/* Removes the key of a lock that ends.  EBUSY. */
int lhi_pthread_destroy(uint64_t id);

/* Returns the positive errno of an error of ours. */
int lhi_pthread_error(int error);

#endif
