/* SPDX-License-Identifier: MIT */
/* Shared by tests of the reaper: reads of words that disturb nobody. */
#ifndef TESTS_REAPING_H
#define TESTS_REAPING_H

#include "proc/attachment.h"
#include "support/reaper.h"
#include "support/support.h"

/* The lock word of a lease's key, as it is. */
__attribute__((unused)) static uint64_t
reaping_word(struct lh *lh, const struct lh_lease *l)
{
	return sh64_load(&lhi_slot(&lh->v, (uint32_t)l->key)->word);
}

__attribute__((unused)) static unsigned
reaping_mode(struct lh *lh, const struct lh_lease *l)
{
	return word_mode(reaping_word(lh, l));
}

/* Returns the period of a lease's chunk: see reaper/expiry_scan.c. */
__attribute__((unused)) static shm_u64 *
reaping_period(struct lh *lh, const struct lh_lease *l)
{
	return &lh->v.chunks[lid_claim(l->id[1]) / SHM_CHUNK].period;
}

#endif
