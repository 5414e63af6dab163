/* SPDX-License-Identifier: MIT */
/*
 * Values: up to 256 bytes with a key, for any reader: who leads, at which
 * address, how far the work has got.
 *
 *	lh_acquire(lh, "leader", NULL, &lease);
 *	lh_value_set(lh, &lease, "10.0.0.7:4711", 13);
 *	...
 *	lh_value_get(lh, "leader", buf, &len, &token);	// in any process
 *
 * Only an exclusive holder sets a value: with the acquire (struct
 * lh_acquire_more), under the lease, or with its release.  It stays when the
 * lease ends, in whatever way, until another one is set, or it is cleared.  A
 * key with a value is not removed to make room for others.  The value lives as
 * long as the table, and lh_destroy() removes it.
 *
 * A reader gets a value that was set, complete, and the token of the lease
 * under which it was set.  That token is larger than that of a value that was
 * read before, unless both are of the same lease.  A value of a lost lease is
 * not set (-ESTALE). But one that came too late by moments may be visible for
 * moments before it is undone, and stays if its writer is killed just there:
 * readers for which this matters compare the token.
 *
 * A cluster key has no value: other hosts would not see it, or would see an
 * old one.  Every call is -EOPNOTSUPP for it, and an acquire with a value is.
 *
 * Illegal: an address in it that is valid in one process only.
 */
#ifndef LEASEHOLD_VALUE_H
#define LEASEHOLD_VALUE_H

#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LH_VALUE_MAX 256	/* bytes */

/*
 * Sets the value of the lease's key, len bytes of any kind; 0 clears it (and
 * value may be NULL).
 *
 * Returns 0: it is set, and the lease held the key when it was (G3, G11).
 * -ESTALE: lost, or released; the value is as it was.  -EINVAL: more than 256
 * bytes, a shared lease, not a lease; -ENOSPC: the table's room for values is
 * used up; -EAGAIN: other threads keep setting it under the same lease; -EPERM;
 * -EOPNOTSUPP: a cluster key.
 */
int lh_value_set(struct lh *lh, const struct lh_lease *lease,
    const void *value, size_t len);

/*
 * Reads the value of a key, held or not, into value[LH_VALUE_MAX]; *len is its
 * length, 0 if there is none; *token (if token is not NULL) is that of the
 * lease under which it was set, or 0.
 *
 * Returns 0; -ENOENT: no such key; -ESTALE: the table was removed by force, so
 * the value is of no use; -EAGAIN: it changes faster than it can be read;
 * -EINVAL, -ENAMETOOLONG, -EUCLEAN, -EPERM (inherited over fork); -EOPNOTSUPP:
 * a cluster key.
 */
int lh_value_get(struct lh *lh, const char *key, void *value, size_t *len,
    uint64_t *token);

/* Calls lh_value_set(), then lh_release(): if the value could not be set, the
 * lease is not released.  Errors as of both. */
int lh_release_value(struct lh *lh, struct lh_lease *lease,
    const void *value, size_t len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
