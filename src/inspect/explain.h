/* SPDX-License-Identifier: MIT */
/* Explains who blocks a key and what those processes do: see explain.c. */
#ifndef LHI_EXPLAIN_H
#define LHI_EXPLAIN_H

#include "inspect/snapshot.h"

struct lhi_explanation {
	struct lhi_snapshot sn;
	struct {
		char name[SHM_KEY_MAX + 1];
	} *waits;		/* keys that the examined holders wait for */
};

/* Takes the snapshot for an acquire with LH_EXPLAIN that is about to return
 * `error`.  ci: its claim, still in the queue, or 0 if it did not wait.  Kept
 * for the thread if other processes are the reason for the error. */
void lhi_explain_failure(struct lh *lh, const struct lhi_ref *ref, uint32_t ci,
    int error);

/* Completes the explanation, after the acquire has left the queue. */
void lhi_explain_finish(void);

/* Adds what each party does, after the snapshot was taken. */
void lhi_explain_add_details(struct lhi_explanation *x);

/* Returns the explanation of this thread's last failure, or NULL. */
struct lhi_explanation *lhi_explain_last(void);

/* Frees a struct lhi_explanation. */
void lhi_explain_drop(void *arg);

/* Drops the thread's explanation, at the start of an acquire. */
void lhi_explain_forget(void);

#endif
