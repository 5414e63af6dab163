/* SPDX-License-Identifier: MIT */
/* Making a key: see key_make.c. */
#ifndef LHI_KEY_MAKE_H
#define LHI_KEY_MAKE_H

#include "shm/key_slot.h"

/*
 * Finds the key, or makes it.  `ci` is a free claim of the caller's own claim
 * cache: the key being made is announced in it, and it is free again
 * afterwards.  Returns 0; -ENOSPC; -EUCLEAN.
 */
int lhi_slot_make(struct lhi_view *v, const struct lhi_key_name *n, uint32_t ci,
    struct lhi_ref *ref);

#endif
