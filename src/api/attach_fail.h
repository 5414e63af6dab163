/* SPDX-License-Identifier: MIT */
/* Why a process gets no session: see attach_fail.c. */
#ifndef LHI_ATTACH_FAIL_H
#define LHI_ATTACH_FAIL_H

#include "shm/view.h"

/* Returns -EAGAIN: the table seems to be removed or repaired. */
int lhi_attach_fail_removal(const struct lhi_view *v);

/* Returns error, after it has named the process that has locked the bytes of
 * sessions that do not live, if there is one. */
int lhi_attach_fail_full(struct lhi_view *v, int error);

/* Returns -EBUSY, after the last attempt ended with -EAGAIN: names the process
 * that removes or repairs the table, or that has locked its live file. */
int lhi_attach_fail_busy(const char *name, bool system);

#endif
