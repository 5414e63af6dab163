/* SPDX-License-Identifier: MIT */
/* The maps of a user namespace, /proc/self/uid_map and gid_map: see id_map.c.
 */
#ifndef LHI_ID_MAP_H
#define LHI_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct lhi_id_range {
	uint64_t inside, outside, count;
};

/* Calls fn() for each range of the map, until it returns false.  Calls it for
 * none if the map cannot be read.  errno may change. */
void lhi_id_map_walk(const char *path, bool (*fn)(const struct lhi_id_range *r,
    void *arg), void *arg);

#endif
