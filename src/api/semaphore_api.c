/* SPDX-License-Identifier: MIT */
/* Opens, destroys and reports semaphores.  live/semaphore.c describes them, and
 * acquires permits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold/inspect.h>
#include <leasehold/key.h>
#include "base/error.h"
#include "base/handle.h"
#include "live/semaphore.h"
#include "op/acquire_target.h"
#include "shm/cluster_right.h"

#define MAKE_MS 10000		/* the lease under which a limit is set */

/* look: the semaphore is not made or removed, which needs no session. */
static int
check_name(struct lh *lh, const char *name, bool look)
{
	struct lhi_key_name n;
	int error = look ? lhi_own_to_look(lh) : lhi_own(lh);

	if (error != 0)
		return error;
	if (name == NULL || name[0] == '\0' || strchr(name, '\1') != NULL)
		return lhi_fail(-EINVAL, "a semaphore's name has 1 to %d "
		    "bytes, and no 0x01", LH_SEM_NAME_MAX);
	if (strlen(name) > LH_SEM_NAME_MAX)
		return lhi_fail(-ENAMETOOLONG, "a semaphore's name of %zu "
		    "bytes: %d are the most", strlen(name), LH_SEM_NAME_MAX);
	error = lhi_name_set(&n, name);
	if (error == 0 && lhi_right_wanted(&lh->v, &n))
		error = lhi_fail(-EOPNOTSUPP, "'%.64s' is a name of a "
		    "cluster's: semaphores are of one host", name);
	return error;
}

/* The lease under which limits are set and removed. */
static int
acquire_maker_lease(struct lh *lh, const char *name, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	char key[LH_KEY_MAX + 1];

	(void)snprintf(key, sizeof(key), "%s\1", name);
	o.ttl_ms = MAKE_MS;
	o.max_wait_ms = MAKE_MS;
	return lh_acquire(lh, key, &o, lease);
}

/* I1: undoes a limit that was set without the lease. Returns -ETIMEDOUT. */
static int
set_limit(struct lh *lh, const char *name, uint32_t limit,
    const struct lh_lease *lease)
{
	char key[LH_KEY_MAX + 1];
	int error;

	lhi_sem_key(key, name, "limit", limit);
	error = lh_key_create(lh, key);
	if (error == 0 && lh_verify(lh, lease) != 0) {
		(void)lh_destroy(lh, key);
		error = lhi_fail(-ETIMEDOUT, "this process was stopped while "
		    "it made the semaphore '%.64s': try again", name);
	}
	return error;
}

/* Returns the present limit, or sets that one if there is none; -errno. */
static int
agree_on_limit(struct lh *lh, const char *name, uint32_t limit)
{
	struct lh_lease lease;
	int stands, error;

	/* there is one limit at a time (I1): if it is this one, there is no
	 * other */
	stands = limit == 0 ? lhi_sem_limit(lh, name) :
	    lhi_sem_has_limit(lh, name, limit);
	if (stands != 0)
		return stands < 0 || limit == 0 ? stands : (int)limit;
	if (limit == 0)
		return lhi_fail(-ENOENT, "there is no semaphore '%.64s' in "
		    "table %s", name, lh_table_name(lh));
	error = acquire_maker_lease(lh, name, &lease);
	if (error != 0)
		return error;
	stands = lhi_sem_limit(lh, name);
	if (stands == 0) {
		error = set_limit(lh, name, limit, &lease);
		stands = error != 0 ? error : (int)limit;
	}
	(void)lh_release(lh, &lease);
	return stands;
}

int
lh_sem_open(struct lh *lh, const char *name, uint32_t limit,
    struct lh_sem **out)
{
	int error = check_name(lh, name, limit == 0), stands;
	struct lh_sem *sem;

	if (error != 0)
		return error;
	if (out == NULL || limit > LH_SEM_MAX)
		return lhi_fail(-EINVAL, out == NULL ? "nowhere to put the "
		    "semaphore (NULL)" : "a semaphore has 1 to 256 permits");
	stands = agree_on_limit(lh, name, limit);
	if (stands < 0)
		return stands;
	if (limit != 0 && (uint32_t)stands != limit)
		return lhi_fail(-EINVAL, "the semaphore '%.64s' has %d "
		    "permits, not %u: all who open it must agree", name,
		    stands, limit);
	sem = calloc(1, sizeof(*sem) + strlen(name) + 1);
	if (sem == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	sem->lh = lh;
	sem->limit = (uint32_t)stands;
	sem->next = (uint32_t)getpid();
	strcpy(sem->name, name);
	*out = sem;
	return 0;
}

int
lh_sem_close(struct lh_sem *sem)
{
	if (sem == NULL)
		return lhi_fail(-EINVAL, "no semaphore was given (NULL)");
	if (sem->lh == &lhi_closed_lh)
		return lhi_fail(-EINVAL, "this semaphore's handle was closed");
	sem->lh = &lhi_closed_lh;
	lhi_handle_free(HANDLE_SEM, sem);
	return 0;
}

int
lh_sem_release(struct lh_sem *sem, struct lh_lease *permit)
{
	int error = lhi_sem_check(sem);

	return error != 0 ? error : lh_release(sem->lh, permit);
}

static int
count_parties(const struct lh_key_info *info, void *arg)
{
	struct lh_sem_status *s = arg;

	s->held += info->n_holders > 0;
	if (info->n_waiters > s->waiting)	/* each waits for all */
		s->waiting = info->n_waiters;
	return 0;
}

int
lh_sem_status(struct lh_sem *sem, struct lh_sem_status *status)
{
	struct lh_sem_status s = { 0 };
	char key[LH_KEY_MAX + 1];
	int error = sem == NULL ? lhi_sem_check(sem) : lhi_own_to_look(sem->lh);

	if (error != 0)
		return error;
	if (status == NULL || status->size < sizeof(status->size))
		return lhi_fail(-EINVAL, "status->size is to be set to "
		    "sizeof(struct lh_sem_status)");
	s.size = status->size;
	s.limit = sem->limit;
	for (uint32_t n = 1; n <= sem->limit; n++) {
		lhi_sem_key(key, sem->name, "permit", n);
		error = lh_status(sem->lh, key, NULL, count_parties, &s);
		if (error != 0 && error != -ENOENT)
			return error;
	}
	memcpy(status, &s, s.size < sizeof(s) ? s.size : sizeof(s));
	return 0;
}

/* Acquires every permit, or none: -EBUSY. */
static int
acquire_all(struct lh *lh, const char *name, uint32_t limit,
    struct lh_lease *permit, uint32_t *n)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	char key[LH_KEY_MAX + 1];
	int error = 0;

	o.max_wait_ms = 0;
	o.ttl_ms = MAKE_MS;
	for (*n = 0; error == 0 && *n < limit; *n += error == 0) {
		lhi_sem_key(key, name, "permit", *n + 1);
		error = lh_acquire(lh, key, &o, &permit[*n]);
	}
	return error == -EAGAIN ? lhi_fail(-EBUSY, "the semaphore '%.64s' is "
	    "in use: somebody has permit %u", name, *n + 1) : error;
}

int
lh_sem_destroy(struct lh *lh, const char *name)
{
	struct lh_lease lease, permit[LH_SEM_MAX];
	int error = check_name(lh, name, false), limit;
	char key[LH_KEY_MAX + 1];
	uint32_t n = 0;

	if (error == 0)
		error = acquire_maker_lease(lh, name, &lease);
	if (error != 0)
		return error;
	limit = lhi_sem_limit(lh, name);
	if (limit > 0) {
		error = acquire_all(lh, name, (uint32_t)limit, permit, &n);
		lhi_sem_key(key, name, "limit", (uint32_t)limit);
		for (uint32_t i = 0; error == 0 && i < n; i++)
			error = lh_verify(lh, &permit[i]);
		if (error == 0)
			error = lh_destroy(lh, key);		/* I2 */
	} else {
		error = limit;
	}
	/* ends: n, the caller's own, falls */
	while (n > 0)
		(void)lh_release(lh, &permit[--n]);
	(void)lh_release(lh, &lease);
	return error;
}
