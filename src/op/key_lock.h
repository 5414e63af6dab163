/* SPDX-License-Identifier: MIT */
/* Opened keys that keep their own lease, inside: see key_lock.c. */
#ifndef LHI_KEY_LOCK_H
#define LHI_KEY_LOCK_H

#include <leasehold/key.h>

/* As lh_key_lock(); the options are not NULL, and have policy strict, mode
 * exclusive, and else only a time to wait. */
int lhi_key_lock_strict(struct lh_key *key,
    const struct lh_acquire_opts *opts);

#endif
