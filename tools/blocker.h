/* SPDX-License-Identifier: MIT */
/* Who blocks a wait, in words.  See blocker.c. */
#ifndef TOOLS_BLOCKER_H
#define TOOLS_BLOCKER_H

#include <stdint.h>
#include <leasehold.h>

/*
 * Writes who stands between the key and the waiter of that rank (0: it is not
 * in the queue) and mode.
 */
#define BLOCKER_TEXT_MAX 512
const char *blocker_text(char buf[BLOCKER_TEXT_MAX], struct lh *lh,
    const struct lh_key_info *info, uint32_t mode, uint32_t rank);

/* Returns the queued writer that a reader of that rank comes after, or NULL. */
const struct lh_party *blocker_first_writer(const struct lh_key_info *info,
    uint32_t rank);

#endif
