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
