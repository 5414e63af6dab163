/* SPDX-License-Identifier: MIT */
/* How many keys are held and waited for: see load.c. */
#ifndef LHI_LOAD_H
#define LHI_LOAD_H

#include "shm/view.h"

/* The waits for all keys. */
struct lhi_load {
	uint32_t waiters;
	int64_t longest_wait_ns;	/* 0: nobody waits */
};

/* True if the key in slot s, whose lock word is w, is held at that time. */
bool lhi_load_is_held(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns);

/* Counts the waiters of all keys, and how long the longest of them has
 * waited. */
void lhi_load_count_waiters(struct lhi_view *v, int64_t now_ns,
    struct lhi_load *load);

#endif
