/* SPDX-License-Identifier: MIT */
/*
 * Semaphores: a limited number of holders at once, each with a lease and a
 * token.
 *
 *	lh_sem_open(lh, "licences", 5, &sem);
 *	if (lh_sem_acquire(sem, NULL, &permit) == 0) {
 *		use_one_of_five();
 *		lh_sem_release(sem, &permit);
 *	}
 *	lh_sem_close(sem);
 *
 * A semaphore NAME of LIMIT permits is LIMIT keys, "NAME\1permit 1" and so on,
 * and a permit is a lease on one of them.  It is extended, verified and
 * released as such, ends at its deadline or with its holder's death, can be
 * broken by key, and is listed.  Its token is larger than all earlier ones of
 * the same permit.  So a resource must compare tokens for each permit number;
 * tokens of different permits have no order.
 *
 * Waiting: first come, first served, as far as requests of one moment are in
 * the same order at all permits.  Each waiting acquire takes LIMIT of the
 * table's leases, and is served by the thread that serves tickets.
 *
 * The first process that opens a semaphore sets its limit, which stays until
 * lh_sem_destroy(). Opening it with another limit is refused.
 *
 * Names: 1 to 240 bytes, any but NUL and 0x01. A key of the same name is
 * independent.  Semaphores are of one host: names with the table's cluster
 * prefix are -EOPNOTSUPP.
 */
#ifndef LEASEHOLD_SEM_H
#define LEASEHOLD_SEM_H

#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LH_SEM_MAX	256	/* permits */
#define LH_SEM_NAME_MAX	240

struct lh_sem;			/* a semaphore, opened */

/*
 * Opens a semaphore; a new one is made with that many permits (1 to
 * LH_SEM_MAX). limit 0: the present one.
 *
 * Returns 0; -EINVAL: it has another limit (lh_error_detail() names both), or
 * the limit or name is invalid; -ENOENT: limit 0, and it does not exist;
 * -ENAMETOOLONG, -ENOMEM, -ENOSPC, -ETIMEDOUT (another process is making or
 * destroying it), -ESTALE, -EUCLEAN, -EPERM.
 */
int lh_sem_open(struct lh *lh, const char *name, uint32_t limit,
    struct lh_sem **out);

/* Closes the handle; permits stay with their holders.  Returns 0; -EINVAL
 * (NULL, closed). */
int lh_sem_close(struct lh_sem *sem);

/*
 * Acquires one permit: opts as for lh_acquire(), NULL: the defaults
 * (LH_NO_CREATE has no effect). opts->more works, too: a request id, or a
 * holder id, is for any permit of this semaphore, so that a repeat gets the
 * same one; a value is that of the permit's key.
 *
 * Returns 0 with *permit filled (G1, G3). -EAGAIN, -ETIMEDOUT: all are held;
 * -ECANCELED; -ESTALE: it was destroyed since it was opened (or as
 * lh_acquire()); -EINVAL: shared mode; and as lh_acquire().
 */
int lh_sem_acquire(struct lh_sem *sem, const struct lh_acquire_opts *opts,
    struct lh_lease *permit);

/* As lh_release(). */
int lh_sem_release(struct lh_sem *sem, struct lh_lease *permit);

struct lh_sem_status {
	size_t size;		/* sizeof(struct lh_sem_status) */
	uint32_t limit;
	uint32_t held;		/* permits that are held */
	uint32_t waiting;	/* waiters for one */
	uint32_t reserved;
};

/* Returns its state; set status->size before.  The permits are read one after
 * the other.  Returns 0; -EINVAL, -EPERM, and as lh_status(). */
int lh_sem_status(struct lh_sem *sem, struct lh_sem_status *status);

/*
 * Removes it, if no permit is held or waited for; it may be opened with another
 * limit then.  Returns 0, also if it does not exist; -EBUSY; and as
 * lh_sem_open().
 */
int lh_sem_destroy(struct lh *lh, const char *name);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
