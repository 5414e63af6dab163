/* SPDX-License-Identifier: MIT */
/*
 * Values: up to 256 bytes beside a key, for whoever asks: who leads, where it
 * is to be reached, how far the work has got.
 *
 *	lh_acquire(lh, "leader", NULL, &lease);
 *	lh_value_set(lh, &lease, "10.0.0.7:4711", 13);
 *	...
 *	lh_value_get(lh, "leader", buf, &len, &token);	// in any process
 *
 * A value is set by who holds the key alone: with the acquire (struct
 * lh_acquire_more), under the lease, or with its release.  It stays when the
 * lease ends, however that is, until another one is set, or it is cleared; a
 * key that has a value is not forgotten to make room for others.  It lives as
 * long as the table does, and goes with lh_destroy().
 *
 * Whoever reads gets one that was set, whole, and the token of the lease under
 * which it was: larger than that of a value that was read before, if it is not
 * the same lease's.  One of a lease that is lost is not set (-ESTALE); but one
 * that came late by moments may be seen for moments before it is taken back,
 * and stays if its author is killed just there: readers that mind look at the
 * token.
 *
 * Illegal: an address in it that means something in one process only.
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
 * Set the value of the lease's key, len bytes of any kind; 0: it has none from
 * now on (and value may be NULL).
 *
 * 0: it is set, and the lease held the key when it was (G3, G11).  -ESTALE:
 * lost, or released; the value is as it was.  -EINVAL: more than 256 bytes, a
 * shared lease, not a lease; -ENOSPC: the table's room for values is used up;
 * -EAGAIN: other threads set it under the same lease all the time; -EPERM.
 */
int lh_value_set(struct lh *lh, const struct lh_lease *lease,
    const void *value, size_t len);

/*
 * Read the value of a key, held or not, into value[LH_VALUE_MAX]; *len is its
 * length, 0 if there is none; *token (if token is not NULL) that of the lease
 * under which it was set, or 0.
 *
 * 0; -ENOENT: no such key; -EAGAIN: it changes faster than it can be read;
 * -EINVAL, -ENAMETOOLONG, -EUCLEAN, -EPERM (inherited over fork).
 */
int lh_value_get(struct lh *lh, const char *key, void *value, size_t *len,
    uint64_t *token);

/*
 * lh_value_set(), then lh_release(): if the value could not be set, the lease
 * is not released.  Errors as of both.
 */
int lh_release_value(struct lh *lh, struct lh_lease *lease,
    const void *value, size_t len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
