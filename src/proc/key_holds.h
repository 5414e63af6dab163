/* SPDX-License-Identifier: MIT */
/* Leases that a thread holds by lh_key_lock(): see key_holds.c. */
#ifndef LHI_KEY_HOLDS_H
#define LHI_KEY_HOLDS_H

#include "proc/attachment.h"

/* Sets *l to the lease of claim 0, which is held exclusively. */
void lhi_key_holds_lease(struct lhi_claim_cache *m, struct lh_lease *l);

/* Removes the mark of claim 0.  If that is held by lh_key_lock(), its lease
 * goes to the list. */
void lhi_key_holds_unmark(struct lhi_claim_cache *m);

/* Forgets all holds: the thread ends, or the attachment does. */
void lhi_key_holds_free(struct lhi_claim_cache *m);

#endif
