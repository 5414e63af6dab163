/* SPDX-License-Identifier: MIT */
/* A set of inode numbers: see inode_set.h. */
#include <stdlib.h>
#include <string.h>
#include "offline/inode_set.h"

/* Returns where that number is, or belongs. */
static size_t
place_of(const struct lhi_inode_set *s, ino_t ino)
{
	size_t low = 0, high = s->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->ino[mid] < ino)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool
lhi_inode_set_has(const struct lhi_inode_set *s, ino_t ino)
{
	size_t at = place_of(s, ino);

	return at < s->n && s->ino[at] == ino;
}

int
lhi_inode_set_add(struct lhi_inode_set *s, ino_t ino)
{
	size_t at = place_of(s, ino), room;
	ino_t *more;

	if (at < s->n && s->ino[at] == ino)
		return 0;
	if (s->n == s->max)
		return -1;
	if (s->n == s->room) {
		room = s->room == 0 ? 64 : 2 * s->room;
		more = reallocarray(s->ino, room, sizeof(*more));
		if (more == NULL)
			return -1;
		s->ino = more;
		s->room = room;
	}
	memmove(&s->ino[at + 1], &s->ino[at], (s->n - at) * sizeof(s->ino[0]));
	s->ino[at] = ino;
	s->n++;
	return 1;
}

void
lhi_inode_set_free(struct lhi_inode_set *s)
{
	free(s->ino);
	s->ino = NULL;
	s->n = s->room = 0;
}
