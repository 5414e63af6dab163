/* SPDX-License-Identifier: MIT */
/* Who is in the way, and what they do.  See explain.c. */
#ifndef LHI_EXPLAIN_H
#define LHI_EXPLAIN_H

#include "proc/attachment.h"

/*
 * An acquire that was to be explained is about to return `error`; its wait, if
 * it came to that, is claim ci, still in the queue.  Kept for the thread if
 * it is an error that others are the reason for.
 */
void lhi_explain_failure(struct lh *lh, const struct lhi_ref *ref, uint32_t ci,
    int error);

/* It has left the queue, and there is time: what do they do? */
void lhi_explain_closer(void);

/* It begins: nothing is known of it yet. */
void lhi_explain_forget(void);

#endif
