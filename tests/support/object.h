/* SPDX-License-Identifier: MIT */
/* A table's object, as whoever may write to it can map it, and damage it. */
#ifndef TESTS_OBJECT_H
#define TESTS_OBJECT_H

#include "base/bits.h"
#include "prim/shared.h"
#include "shm/layout.h"

struct t_object {
	struct shm_header *h;
	struct shm_session *sessions;
	struct shm_chunk *chunks;
	struct shm_claim *claims;
	shm_u64 *buckets;
	struct shm_slot *slots;
	struct shm_long *longs;
	struct shm_ring *rings;
	struct shm_request *requests;
	struct shm_value *values;
	struct shm_claim_note *asides;
	struct shm_right *rights;
	struct lhi_geometry geo;
};

/* Bails out unless it is a table. */
struct t_object t_map_object(const char *table);
void t_unmap_object(struct t_object *o);

/* The slot whose inline key is that; bails out if there is none. */
uint32_t t_slot_of(const struct t_object *o, const char *key);

#endif
