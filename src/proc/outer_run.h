/* SPDX-License-Identifier: MIT */
/* The `leasehold run` that this process is a job of.  See outer_run.c. */
#ifndef LHI_OUTER_RUN_H
#define LHI_OUTER_RUN_H

#include "proc/attachment.h"

/* Writes into the attachment's session which session's job this process is, if
 * its environment names a lease of that table which is still held. */
void lhi_outer_run_note(struct lh *lh, bool system_wide);

#endif
