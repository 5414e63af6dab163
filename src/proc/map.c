/* SPDX-License-Identifier: MIT */
/*
 * Keeps one mapping for each table and process.  lh_open() and the reaper call
 * it.  Attachments of one table share the mapping, so a race detector sees that
 * threads with different attachments use the same memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "prim/sigbus.h"
#include "proc/map.h"

struct lhi_map {
	struct lhi_map *next;
	dev_t dev;
	ino_t ino;
	char *base;
	size_t len;
	unsigned refs;
};

static struct lhi_map *maps;	/* under lhi_proc_lock() */

void
lhi_map_child(bool whole)
{
	if (!whole)
		maps = NULL;
}

int
lhi_map_get(int fd, const struct lhi_object_id *id,
    const struct lhi_geometry *g, struct lhi_map **map)
{
	struct lhi_map *m;

	for (m = maps; m != NULL; m = m->next) {
		if (m->dev == id->dev && m->ino == id->ino) {
			if (m->len != g->object_len ||
			    lhi_sigbus_struck(m->base))
				return -EUCLEAN;
			m->refs++;
			*map = m;
			return 0;
		}
	}
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	m->base = lhi_sigbus_map(g->object_len, MAP_SHARED, fd);
	if (m->base == MAP_FAILED) {
		free(m);
		return -ENOMEM;
	}
	m->dev = id->dev;
	m->ino = id->ino;
	m->len = g->object_len;
	m->refs = 1;
	m->next = maps;
	maps = m;
	*map = m;
	return 0;
}

void
lhi_map_put(struct lhi_map *m)
{
	struct lhi_map **p;

	if (--m->refs > 0)
		return;
	for (p = &maps; *p != m; p = &(*p)->next)
		;
	*p = m->next;
	lhi_sigbus_unmap(m->base, m->len);
	free(m);
}

void
lhi_map_view(const struct lhi_map *m, const struct lhi_geometry *g,
    struct lhi_view *v)
{
	lhi_view_point(v, m->base, g);
}
