/* SPDX-License-Identifier: MIT */
/*
 * Attributes of the locks of leasehold/pthread.h.  They store what programs set
 * and read; of all that only a mutex's type and whether it is robust matter.
 */
#include <errno.h>
#include <stdbool.h>
#include <leasehold/pthread.h>
#include "base/error.h"

/* The initialisers have numbers: strict C has no names for them. */
_Static_assert(PTHREAD_MUTEX_NORMAL == 0 && PTHREAD_MUTEX_RECURSIVE == 1 &&
    PTHREAD_MUTEX_ERRORCHECK == 2, "as in leasehold/pthread.h");

static bool
is_shared_value(int shared)
{
	return shared == PTHREAD_PROCESS_SHARED ||
	    shared == PTHREAD_PROCESS_PRIVATE;
}

/* Sets *to to a value that is known.  Returns 0; EINVAL. */
static int
set(int *to, int value, bool known)
{
	if (!known)
		return -lhi_fail(-EINVAL, "unknown value %d of an attribute",
		    value);
	*to = value;
	return 0;
}

static int
get(int value, int *out)
{
	if (out == NULL)
		return -lhi_fail(-EINVAL, "nowhere to put the value (NULL)");
	*out = value;
	return 0;
}

static int
check(const void *attr)
{
	return attr != NULL ? 0 : -lhi_fail(-EINVAL, "no attributes were given "
	    "(NULL)");
}

int
lh_mutexattr_init(lh_mutexattr_t *a)
{
	const lh_mutexattr_t usual = { .type = PTHREAD_MUTEX_DEFAULT,
	    .robust = PTHREAD_MUTEX_STALLED };
	int error = check(a);

	if (error == 0)
		*a = usual;
	return error;
}

int lh_mutexattr_destroy(lh_mutexattr_t *a) { return check(a); }

int
lh_mutexattr_settype(lh_mutexattr_t *a, int type)
{
	int error = check(a);

	return error != 0 ? error : set(&a->type, type, type >= 0 &&
	    type <= PTHREAD_MUTEX_ADAPTIVE_NP);
}

int
lh_mutexattr_gettype(const lh_mutexattr_t *a, int *type)
{
	int error = check(a);

	return error != 0 ? error : get(a->type, type);
}

int
lh_mutexattr_setrobust(lh_mutexattr_t *a, int robust)
{
	int error = check(a);

	return error != 0 ? error : set(&a->robust, robust,
	    robust == PTHREAD_MUTEX_STALLED || robust == PTHREAD_MUTEX_ROBUST);
}

int
lh_mutexattr_getrobust(const lh_mutexattr_t *a, int *robust)
{
	int error = check(a);

	return error != 0 ? error : get(a->robust, robust);
}

int
lh_mutexattr_setpshared(lh_mutexattr_t *a, int shared)
{
	int error = check(a);

	return error != 0 ? error : set(&a->shared, shared,
	    is_shared_value(shared));
}

int
lh_mutexattr_getpshared(const lh_mutexattr_t *a, int *shared)
{
	int error = check(a);

	return error != 0 ? error : get(a->shared, shared);
}

int
lh_mutexattr_setprotocol(lh_mutexattr_t *a, int protocol)
{
	int error = check(a);

	if (error != 0 || protocol == PTHREAD_PRIO_NONE)
		return error;
	return protocol != PTHREAD_PRIO_INHERIT &&
	    protocol != PTHREAD_PRIO_PROTECT ? -lhi_fail(-EINVAL, "no such "
	    "protocol") : -lhi_fail(-EOPNOTSUPP, "no priority is inherited or "
	    "protected");
}

int
lh_mutexattr_getprotocol(const lh_mutexattr_t *a, int *protocol)
{
	int error = check(a);

	return error != 0 ? error : get(PTHREAD_PRIO_NONE, protocol);
}

int
lh_rwlockattr_init(lh_rwlockattr_t *a)
{
	int error = check(a);

	if (error == 0)
		*a = (lh_rwlockattr_t){ .kind = 0 };
	return error;
}

int lh_rwlockattr_destroy(lh_rwlockattr_t *a) { return check(a); }

int
lh_rwlockattr_setpshared(lh_rwlockattr_t *a, int shared)
{
	int error = check(a);

	return error != 0 ? error : set(&a->shared, shared,
	    is_shared_value(shared));
}

int
lh_rwlockattr_getpshared(const lh_rwlockattr_t *a, int *shared)
{
	int error = check(a);

	return error != 0 ? error : get(a->shared, shared);
}

int
lh_rwlockattr_setkind_np(lh_rwlockattr_t *a, int kind)
{
	int error = check(a);

	return error != 0 ? error : set(&a->kind, kind, kind >= 0 &&
	    kind <= PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

int
lh_rwlockattr_getkind_np(const lh_rwlockattr_t *a, int *kind)
{
	int error = check(a);

	return error != 0 ? error : get(a->kind, kind);
}
