/* SPDX-License-Identifier: MIT */
/* Where the tokens of the next table of a name begin: see table_floor.c. */
#ifndef LHI_TABLE_FLOOR_H
#define LHI_TABLE_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where the tokens of a new table at that path have to begin.  0; -EACCES,
 * -EUCLEAN: what is in the floor's place was not put there by us.
 */
int lhi_table_floor_read(const char *path, uint64_t *floor);

/* The same, in the open directory of that path. */
int lhi_table_floor_in(int dir, const char *path, uint64_t *floor);

/* Removes the floor: tokens may repeat.  0; -ENOENT: there is none; -EACCES,
 * -errno. */
int lhi_table_floor_forget(const char *path);

/* True if a floor of that height leaves room for another table and its
 * removal. */
bool lhi_table_floor_fits(uint64_t to);

/* Returns 0 if it does; or -EUCLEAN, which says what to do. */
int lhi_table_floor_check(const char *path, uint64_t floor);

/* Raise the floor, under the removal lock, to that number; or past all tokens
 * that a table may have given whose ceiling is not known.  0, or -errno. */
int lhi_table_floor_raise(int dir, const char *path, uint64_t to);
int lhi_table_floor_pass(int dir, const char *path);

#endif
