/* SPDX-License-Identifier: MIT */
/* Removed tables grant nothing: see table_revoke.c. */
#ifndef LHI_TABLE_REVOKE_H
#define LHI_TABLE_REVOKE_H

#include "shm/view.h"

/*
 * Ends all granting in a table that has the flag RETIRED; leases that are held
 * stay held.  For the holder of the removal byte, before the table's name is
 * free.  May be repeated.  Returns false if a word keeps changing, which use
 * does not explain.  fd is the object.
 */
bool lhi_table_revoke(struct lhi_view *v, int fd);

#endif
