/* SPDX-License-Identifier: MIT */
/*
 * Opened keys: no lookup on acquire.
 *
 * A key is 1..255 bytes, any byte but NUL, case-sensitive, never normalised.
 * Opening it finds or makes it in the table once; lh_key_acquire() then costs
 * what an in-process mutex costs.  Opening a key twice in one attachment gives
 * the same handle, counted: close as often as you opened.
 *
 * Keys come and go by themselves.  Acquiring or opening makes a key that is not
 * there; a table that can grow no more forgets, to make room, keys that nobody
 * holds or waits for, first those that were not used for long.  A forgotten key
 * loses nothing but the note on how its last lease ended: its tokens go on
 * where they were.  lh_key_create() makes keys that are never forgotten.
 *
 * Illegal: use after the last close, or in a forked child (-EPERM).
 */
#ifndef LEASEHOLD_KEY_H
#define LEASEHOLD_KEY_H

#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh_key;

/*
 * flags: LH_NO_CREATE.
 * 0; -EINVAL, -ENAMETOOLONG, -ENOENT (LH_NO_CREATE), -ENOSPC (the table's keys
 * are used up), -ENOMEM, -ESTALE (table removed), -EUCLEAN, -EPERM.
 */
int lh_key_open(struct lh *lh, const char *key, uint32_t flags,
    struct lh_key **out);

/*
 * Leases acquired through it stay as they are.  Each lh_key_open() of a name is
 * closed once; the last one closes the handle.  0; -EINVAL (NULL, closed);
 * -EPERM.
 */
int lh_key_close(struct lh_key *key);

/* As lh_acquire(), without the lookup.  Release with lh_release(). */
int lh_key_acquire(struct lh_key *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease);

/*
 * Make the key if it does not exist, and keep it: it is not forgotten to make
 * room for others.  Idempotent.  Errors as lh_key_open().
 */
int lh_key_create(struct lh *lh, const char *key);

/*
 * Forget the keys that begin with prefix (NULL: all) and that nobody has used
 * for idle_ms; 0: whether or not.  Keys that are held or waited for stay, and
 * so do those of lh_key_create(), and those whose last holder died, let its
 * lease expire, or was made to give it up (the next one is to know).
 *
 * When a key was last used is not recorded; what is known is that it was not
 * used between two looks.  So the first call only looks, and a later one evicts
 * what has not been used since, if that was at least idle_ms ago.
 *
 * How many it was; -EINVAL (idle_ms below 0), -EUCLEAN, -EPERM.
 */
int64_t lh_evict(struct lh *lh, const char *prefix, int64_t idle_ms);

/*
 * Remove a key that nobody holds or waits for, also one of lh_key_create(); the
 * note on how its last lease ended goes with it.  Its tokens go on where they
 * were if it is made again (G2).
 *
 * 0: it is gone, or was not there; -EALREADY: this attachment holds it; -EBUSY:
 * others do, or wait for it (lh_error_detail() names one); -EINVAL,
 * -ENAMETOOLONG, -EUCLEAN, -EPERM (inherited over fork).
 */
int lh_destroy(struct lh *lh, const char *key);

/* The key's name; valid until lh_key_close().  NULL: key is NULL or closed. */
const char *lh_key_name(const struct lh_key *key);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
