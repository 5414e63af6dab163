/* SPDX-License-Identifier: MIT */
/*
 * Opened keys: no lookup on acquire.
 *
 * A key is 1..255 bytes, any byte but NUL, case-sensitive, never normalised.
 * Opening it finds or makes it in the table once; lh_key_acquire() then costs
 * about as much as an in-process mutex.  Opening a key twice in one attachment
 * gives the same handle, counted: close it as often as you opened it.
 *
 * Keys are made and removed automatically.  Acquiring or opening makes a key
 * that does not exist.  A table that cannot grow any more removes keys that are
 * not held or waited for, the longest unused first, to make room.  A removed
 * key loses nothing but the note on how its last lease ended: its tokens
 * continue.  lh_key_create() makes keys that are never removed.
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
 * Opens a key.  flags: LH_NO_CREATE. Returns 0; -EINVAL, -ENAMETOOLONG, -ENOENT
 * (LH_NO_CREATE), -ENOSPC (the table's keys are used up), -ENOMEM, -ESTALE
 * (table removed), -EUCLEAN, -EPERM.
 */
int lh_key_open(struct lh *lh, const char *key, uint32_t flags,
    struct lh_key **out);

/*
 * Closes a key.  Leases acquired through it stay as they are.  Each
 * lh_key_open() of a name is closed once; the last one closes the handle.
 * Returns 0; -EINVAL (NULL, closed); -EPERM.
 */
int lh_key_close(struct lh_key *key);

/* As lh_acquire(), without the lookup.  Release with lh_release(). */
int lh_key_acquire(struct lh_key *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease);

/*
 * The handle keeps the lease: acquire and release for those who would otherwise
 * use a mutex.  With NULL options this is the fastest pair that there is.
 *
 * lh_key_lock() is lh_key_acquire() with the same options and errors, but
 * -EALREADY if this thread has locked the handle already.  A lock is a lease:
 * it ends at its deadline (30 s without options, unless it is extended), with
 * its session, or when it is broken.
 *
 * lh_key_unlock() is lh_release() of that lease.  After an error, too, the
 * thread does not hold the handle any more.  0; -ESTALE: the lease was lost,
 * and the key may be somebody else's; -EINVAL: this thread has not locked it
 * (or NULL, closed); -EPERM (inherited over fork).
 *
 * lh_key_lease() copies the lease, for its token, lh_verify(), lh_extend() or
 * lh_handoff().  It tells nothing of whether the lease is held still, but that
 * expires_ns is 0 if it is known to have ended.  A lease that is released,
 * converted or handed over by its copy is not the handle's any more: the unlock
 * fails.  0; -EINVAL, -EPERM as above.
 *
 * The hold is the thread's: other threads wait for the key as other processes
 * do, and cannot unlock it.  A thread that ends, or closes the handle, leaves
 * the lease to its deadline.
 */
int lh_key_lock(struct lh_key *key, const struct lh_acquire_opts *opts);
int lh_key_unlock(struct lh_key *key);
int lh_key_lease(struct lh_key *key, struct lh_lease *lease);

/* Makes the key if it does not exist, and keeps it: it is never removed to make
 * room.  Idempotent.  Errors as lh_key_open(). */
int lh_key_create(struct lh *lh, const char *key);

/*
 * Removes the keys that begin with prefix (NULL: all) and were not used for
 * idle_ms; 0: all unused ones.  These stay: keys that are held or waited for,
 * those of lh_key_create(), and those whose last holder died, let its lease
 * expire, or had it broken (the next holder is to know).
 *
 * The time of a key's last use is not recorded, but it is known that it was not
 * used between two calls.  So the first call only notes the state, and a later
 * one removes the keys that were not used since, if that was at least idle_ms
 * ago.
 *
 * Returns how many were removed; -EINVAL (idle_ms below 0), -EUCLEAN, -EPERM.
 */
int64_t lh_evict(struct lh *lh, const char *prefix, int64_t idle_ms);

/*
 * Removes a key that is not held or waited for, also one of lh_key_create(),
 * and the note on how its last lease ended.  If it is made again, its tokens
 * continue (G2).
 *
 * Returns 0 if it is removed or did not exist; -EALREADY: this attachment holds
 * it; -EBUSY: others hold it or wait for it (lh_error_detail() names one), or
 * its lock-delay lasts (lh_error_detail() says for how long); -EINVAL,
 * -ENAMETOOLONG, -EUCLEAN, -EPERM (inherited over fork).
 */
int lh_destroy(struct lh *lh, const char *key);

/*
 * The same, but keeps a key whose robust holder did not release it (lease.h:
 * "Robust keys").  Returns as lh_destroy(), and -ENOTRECOVERABLE: the key has
 * that note.
 */
int lh_destroy_consistent(struct lh *lh, const char *key);

/* Returns the key's name, valid until lh_key_close(); NULL if key is NULL or
 * closed. */
const char *lh_key_name(const struct lh_key *key);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
