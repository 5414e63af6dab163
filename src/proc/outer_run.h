/* SPDX-License-Identifier: MIT */
/* Finds the `leasehold run` of which this process is a job: see outer_run.c. */
#ifndef LHI_OUTER_RUN_H
#define LHI_OUTER_RUN_H

#include "proc/attachment.h"

/* Writes into the attachment's session which session's job this process is, if
 * its environment names a held lease of that table. */
void lhi_outer_run_note(struct lh *lh, bool system_wide);

#endif
