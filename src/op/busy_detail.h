/* SPDX-License-Identifier: MIT */
/* Collects who holds a busy key, for lh_error_detail().  The slow paths of
 * acquire call it. */
#ifndef LHI_BUSY_DETAIL_H
#define LHI_BUSY_DETAIL_H

#include "shm/view.h"

/* Note who holds s, whose word was w, and return `code`. */
int lhi_busy_detail_fail(struct lhi_view *v, struct shm_slot *s, uint64_t w, int
    code);

/* An attempt with claim ci failed: for counters and recorder. */
void lhi_busy_detail_count(struct lhi_view *v, struct shm_slot *s, uint32_t ci,
    bool shared, int error);

#endif
