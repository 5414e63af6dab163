/* SPDX-License-Identifier: MIT */
/* Semaphores, inside: semaphore.c acquires; api/semaphore_api.c opens, destroys
 * and reports them. */
#ifndef LHI_SEMAPHORE_H
#define LHI_SEMAPHORE_H

#include <stdatomic.h>
#include <leasehold/sem.h>
#include "op/acquire.h"

struct lh_sem {
	struct lh *lh;
	uint32_t limit;
	_Atomic uint32_t next;	/* which permit is tried first */
	char name[];
};

/* The highest limit that is searched for.  (Only tests change it, because they
 * would step through each of these many searches.) */
extern uint32_t lhi_sem_most;

/* Formats NAME \1 WHAT N. */
void lhi_sem_key(char to[LH_KEY_MAX + 1], const char *name, const char *what,
    uint32_t n);

/* Returns 1 if that is its limit, 0 if not; -errno. */
int lhi_sem_has_limit(struct lh *lh, const char *name, uint32_t limit);

/* Returns the limit of that semaphore; 0: it does not exist; -errno. */
int lhi_sem_limit(struct lh *lh, const char *name);

/* 0; -EINVAL (NULL), -EPERM (inherited over fork). */
int lhi_sem_check(const struct lh_sem *sem);

#endif
