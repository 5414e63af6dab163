/* SPDX-License-Identifier: MIT */
/* Writing a key into its slot: see key_write.c. */
#ifndef LHI_KEY_WRITE_H
#define LHI_KEY_WRITE_H

#include "shm/key_bytes.h"

/* Writes the key into a slot that the caller has reserved, whose gen is set.
 * Returns 0; -ENOSPC; -EUCLEAN. */
int lhi_key_write(struct lhi_view *v, struct shm_slot *s,
    const struct lhi_key_name *n);

#endif
