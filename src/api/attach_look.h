/* SPDX-License-Identifier: MIT */
/* Attaching without a session: see attach_look.c. */
#ifndef LHI_ATTACH_LOOK_H
#define LHI_ATTACH_LOOK_H

#include "proc/attachment.h"

/*
 * Makes lh an attachment without a session, through a description fd of the
 * live file, which the caller closes.  Returns 0; -EAGAIN: the table is being
 * removed.
 */
int lhi_attach_to_look(struct lh *lh, int fd);

#endif
