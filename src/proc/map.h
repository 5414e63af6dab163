/* SPDX-License-Identifier: MIT */
/* Keeps one mapping for each table, which all attachments of the process share:
 * see map.c. */
#ifndef LHI_MAP_H
#define LHI_MAP_H

#include "shm/table_object.h"

struct lhi_map;

/* Handles fork in a child (proc/fork.h).  The child may use its parent's
 * mappings if the list is consistent. */
void lhi_map_child(bool whole);

/* Maps the table, or adds a reference to its mapping.  Under lhi_proc_lock().
 * Returns 0; -ENOMEM; -EUCLEAN if it is mapped with another length, or was
 * truncated since (prim/sigbus.c). */
int lhi_map_get(int fd, const struct lhi_object_id *id,
    const struct lhi_geometry *g, struct lhi_map **map);
void lhi_map_put(struct lhi_map *m);

/* Sets the view's pointers into the mapping. */
void lhi_map_view(const struct lhi_map *m, const struct lhi_geometry *g,
    struct lhi_view *v);

#endif
