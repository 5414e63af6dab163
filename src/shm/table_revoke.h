/* SPDX-License-Identifier: MIT */
/* Removed tables grant nothing: see table_revoke.c. */
#ifndef LHI_TABLE_REVOKE_H
#define LHI_TABLE_REVOKE_H

#include "shm/view.h"

/*
 * Ends all granting in a table that has the flag RETIRED; what is held stays
 * held.  By whoever holds the removal byte, before the table's name is free.
 * Again is harmless.  False: a word keeps changing, which use does not explain.
 */
bool lhi_table_revoke(struct lhi_view *v);

#endif
