/* SPDX-License-Identifier: MIT */
/* Who is in the way, and what they do.  See explain.c. */
#ifndef LHI_EXPLAIN_H
#define LHI_EXPLAIN_H

#include "inspect/snapshot.h"

struct lhi_explanation {
	struct lhi_snapshot sn;
	struct {
		char name[SHM_KEY_MAX + 1];
	} *waits;		/* of the holders, as many as are looked at */
};

/*
 * An acquire that was to be explained is about to return `error`; its wait, if
 * it came to that, is claim ci, still in the queue.  Kept for the thread if
 * it is an error that others are the reason for.
 */
void lhi_explain_failure(struct lh *lh, const struct lhi_ref *ref, uint32_t ci,
    int error);

/* It has left the queue, and there is time: what do they do? */
void lhi_explain_finish(void);

/* Adds what each party does, once the snapshot is taken. */
void lhi_explain_add_details(struct lhi_explanation *x);

/* The one that this thread keeps of its last failure, or NULL. */
struct lhi_explanation *lhi_explain_last(void);

/* Frees a struct lhi_explanation. */
void lhi_explain_drop(void *arg);

/* It begins: nothing is known of it yet. */
void lhi_explain_forget(void);

#endif
