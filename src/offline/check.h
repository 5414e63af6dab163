/* SPDX-License-Identifier: MIT */
/* The whole-table checker, over any view: see check.c. */
#ifndef LHI_CHECK_H
#define LHI_CHECK_H

#include "shm/view.h"

/* Returns the number of findings.  Judges a part up to `times` times, a little
 * apart, if others may be changing it (LHI_CHECK_LIVE); once, if nobody is. */
#define LHI_CHECK_LIVE 50
int lhi_check_view(struct lhi_view *v, int times,
    void (*fn)(const char *finding, void *arg), void *arg);

/*
 * Returns 0 if the table's latest range is on disk, or another one could be
 * claimed now, or the table needs none.  Otherwise -EIO, with a detail: the
 * table "is" what `state` says, the directory, and the remedy.  Claims nothing.
 */
int lhi_check_fence(const struct lhi_view *v, const char *state);

/* The same of a sound table.  Also -EIO if the latest range is there, but this
 * process may write the table and not the directory (lhi_range_may_write()). */
int lhi_check_fence_sound(const struct lhi_view *v);

#endif
