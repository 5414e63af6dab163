/* SPDX-License-Identifier: MIT */
/* One mapping a table and process, however many attachments use it. */
#ifndef LHI_MAP_H
#define LHI_MAP_H

#include "shm/table_object.h"

struct lhi_map;

/* In a forked child (proc/fork.h), which may use its parent's mappings if it
 * finds them. */
void lhi_map_child(bool whole);

/*
 * Under lhi_proc_lock().  0; -ENOMEM; -EUCLEAN: mapped already, with another
 * length, or it was truncated since (prim/sigbus.c).
 */
int lhi_map_get(int fd, const struct lhi_object_id *id,
    const struct lhi_geometry *g, struct lhi_map **map);
void lhi_map_put(struct lhi_map *m);

/* Point a view's arrays into the map. */
void lhi_map_view(const struct lhi_map *m, const struct lhi_geometry *g,
    struct lhi_view *v);

#endif
