/* SPDX-License-Identifier: MIT */
/*
 * Opened keys: no lookup on acquire.
 *
 * A key is 1..255 bytes, any byte but NUL, case-sensitive, never normalised.
 * Opening it finds or makes it in the table once; lh_key_acquire() then costs
 * what an in-process mutex costs.  Opening a key twice in one attachment gives
 * the same handle, counted: close as often as you opened.
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

/* 0; -EINVAL; -EPERM.  Leases acquired through it stay as they are. */
int lh_key_close(struct lh_key *key);

/* As lh_acquire(), without the lookup.  Release with lh_release(). */
int lh_key_acquire(struct lh_key *key, const struct lh_acquire_opts *opts,
    struct lh_lease *lease);

/* Make the key if it does not exist; idempotent.  Errors as lh_key_open(). */
int lh_key_create(struct lh *lh, const char *key);

/* The key's name; valid until lh_key_close(). */
const char *lh_key_name(const struct lh_key *key);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
