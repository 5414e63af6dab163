/* SPDX-License-Identifier: MIT */
/*
 * The places of a table's arrays, and the fingerprint by which two builds agree
 * on them.  A pure function of five counts, so that creator, attacher and
 * checker cannot differ; no other file multiplies counts by sizes.
 */
#include <errno.h>
#include "base/bits.h"
#include "base/hash.h"
#include "fence/range.h"
#include "shm/layout.h"

#define PAGE UINT64_C(4096)

static uint64_t
place_array(uint64_t *off, uint64_t count, uint64_t size)
{
	uint64_t at = *off;

	*off = (at + count * size + PAGE - 1) & ~(PAGE - 1);
	return at;
}

int
lhi_geometry_place(struct lhi_geometry *g)
{
	uint64_t off = sizeof(struct shm_header);

	if (g->max_sessions < 2 || g->max_sessions > 4096 ||
	    g->n_chunks < 3 || g->n_chunks > CLAIMS_MAX / SHM_CHUNK ||
	    g->n_slots < 2 || g->n_slots > SLINK_BUCKET ||
	    g->n_buckets < 1 || (g->n_buckets & (g->n_buckets - 1)) != 0 ||
	    g->n_buckets > SLINK_BUCKET || g->n_long < 1 ||
	    g->n_long > SLINK_BUCKET)
		return -EINVAL;
	g->n_claims = g->n_chunks * SHM_CHUNK;
	for (g->n_requests = 4096; g->n_requests < g->n_claims / 8;)
		g->n_requests *= 2;
	g->n_values = g->n_slots / 4 + 64;
	g->sessions_off = place_array(&off, g->max_sessions,
	    sizeof(struct shm_session));
	g->chunks_off =
	    place_array(&off, g->n_chunks, sizeof(struct shm_chunk));
	g->claims_off =
	    place_array(&off, g->n_claims, sizeof(struct shm_claim));
	g->buckets_off = place_array(&off, g->n_buckets, sizeof(shm_u64));
	g->slots_off = place_array(&off, g->n_slots, sizeof(struct shm_slot));
	g->long_off = place_array(&off, g->n_long, sizeof(struct shm_long));
	g->rings_off =
	    place_array(&off, g->max_sessions, sizeof(struct shm_ring));
	g->requests_off = place_array(&off, g->n_requests,
	    sizeof(struct shm_request));
	g->values_off =
	    place_array(&off, g->n_values, sizeof(struct shm_value));
	g->asides_off =
	    place_array(&off, g->n_claims, sizeof(struct shm_claim_note));
	g->rights_off = place_array(&off, g->n_slots, sizeof(struct shm_right));
	g->object_len = off;
	return 0;
}

/* The layout as text: a line for each structure, field and constant. */
static const char layout_text[] =
#define STRUCT(s, size) "struct " #s " " #size "\n"
#define FIELD(offset, type, name, guard, meaning) \
	#offset " " #type " " #name "\n"
#define ARRAY(offset, type, name, n, guard, meaning) \
	#offset " " #type " " #name "[" #n "]\n"
#define END(s)
#include "shm/layout.def"
#define STRUCT(s, size) "struct " #s " " #size "\n"
#define FIELD(offset, type, name, guard, meaning) \
	#offset " " #type " " #name "\n"
#define ARRAY(offset, type, name, n, guard, meaning) \
	#offset " " #type " " #name "[" #n "]\n"
#define END(s)
#include "fence/range_file.def"
#define CONSTANT(name) #name "\n"
#include "shm/constants.def"
;

static const uint64_t constants[] = {
#define CONSTANT(name) (uint64_t)(name),
#include "shm/constants.def"
};

uint64_t
lhi_geometry_fingerprint(void)
{
	/* where the parts of each packed word begin */
	const uint64_t packed[] = {
		word_make(1, 1, 1), state_make(1, 1, 1), link_make(true, 1, 1),
		slink_make(1, 1), vlink_make(1, 1), vown_make(1, 1, 1),
		sess_make(1, 1, 1), sid_make(1, 1), req_make(1, 1, 1, 1),
		right_make(1, 1, 1), lid_make(1, 1, 1), cluster_base(1),
		KEY_LIFE(1u),
	};
	const uint64_t facts[] = {
		lhi_hash(layout_text, sizeof(layout_text)),
		lhi_hash(constants, sizeof(constants)),
		lhi_hash(packed, sizeof(packed)),
		lhi_hash("leasehold", 9),	/* the hash itself */
	};

	return lhi_hash(facts, sizeof(facts));
}
