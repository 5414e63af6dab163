/* SPDX-License-Identifier: MIT */
/* A set of inode numbers, kept sorted. */
#ifndef LHI_INODE_SET_H
#define LHI_INODE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lhi_inode_set {
	ino_t *ino;
	size_t n, room;
	size_t max;		/* it may have, by the caller */
};

/* Returns 1: added; 0: it has it already; -1: there is no room. */
int lhi_inode_set_add(struct lhi_inode_set *s, ino_t ino);

bool lhi_inode_set_has(const struct lhi_inode_set *s, ino_t ino);

/* Empties it. */
void lhi_inode_set_free(struct lhi_inode_set *s);

#endif
