/* SPDX-License-Identifier: MIT */
/* Describes what blocks a waiter. See blocker.c. */
#ifndef TOOLS_BLOCKER_H
#define TOOLS_BLOCKER_H

#include <stdint.h>
#include <leasehold.h>

/* Writes a description of what blocks a waiter of that rank and mode.  A rank
 * of 0 means that the waiter is not in the queue. */
#define BLOCKER_TEXT_MAX 512
const char *blocker_text(char buf[BLOCKER_TEXT_MAX], struct lh *lh,
    const struct lh_key_info *info, uint32_t mode, uint32_t rank);

/* Returns the queued writer that goes before a reader of that rank, or NULL. */
const struct lh_party *blocker_first_writer(const struct lh_key_info *info,
    uint32_t rank);

#endif
