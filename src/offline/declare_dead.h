/* SPDX-License-Identifier: MIT */
/* Sessions that cannot be proved dead: see declare_dead.c. */
#ifndef LHI_DECLARE_DEAD_H
#define LHI_DECLARE_DEAD_H

#include "offline/exclusive_use.h"

/*
 * Declares dead, by force, the sessions of a table that cannot be proved dead
 * and whose process is not seen to live.  Locks the bytes of every record that
 * are not locked.  Reports each to fn.  `dry`: only reports.  Locks the
 * table's name for a removal (lhi_exclusive_use_force()).
 *
 * Returns 0: no session lives that could be seen; -EBUSY: some do, or may, and
 * the error names them and `remedy`; or the table is being removed; -errno.
 */
int lhi_declare_dead(struct lhi_exclusive_use *a, bool dry,
    void (*fn)(const char *what, void *arg), void *arg, const char *remedy);

#endif
