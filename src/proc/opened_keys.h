/* SPDX-License-Identifier: MIT */
/* Opened keys of an attachment, by name: see opened_keys.c. */
#ifndef LHI_OPENED_KEYS_H
#define LHI_OPENED_KEYS_H

#include "proc/attachment.h"

int lhi_opened_keys_begin(struct lh *lh);
void lhi_opened_keys_end(struct lh *lh);

/* Returns the handle of that name with one more reference, or NULL. */
struct lh_key *lhi_opened_keys_find(struct lh *lh, const struct lhi_key_name
    *n);

/* Returns the handle of that name, made if it is missing, with one more
 * reference.  NULL without memory. */
struct lh_key *lhi_opened_keys_add(struct lh *lh, const struct lhi_key_name *n,
    const struct lhi_ref *ref);

/* Drops a reference; the last one frees the handle. */
void lhi_opened_keys_drop(struct lh_key *k);

#endif
