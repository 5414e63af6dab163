/* SPDX-License-Identifier: MIT */
/* The state that is hashed before each step: see state_hash.h. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "crash/scenario.h"
#include "crash/state_hash.h"

/* Where the arrays lie that have no memory before they are used. */
static void
find_arrays(struct state_hash *s)
{
	const struct shm_header *h = s->mem;
	struct lhi_geometry *g = &s->geo;

	memset(g, 0, sizeof(*g));
	if (s->len < sizeof(*h) || sh64_load(&h->magic) != SHM_MAGIC)
		return;
	g->max_sessions = sh32_load(&h->max_sessions);
	g->n_chunks = sh32_load(&h->n_chunks);
	g->n_buckets = sh32_load(&h->n_buckets);
	g->n_slots = sh32_load(&h->n_slots);
	g->n_long = sh32_load(&h->n_long);
	if (lhi_geometry_place(g) != 0 || g->object_len != s->len)
		g->object_len = 0;
}

void
state_hash_find(struct trial *p, struct state_hash *s)
{
	struct stat st;
	int fd;

	s->unrecorded = p->mode == MODE_DOUBLE;
	if (p->sc->toy) {
		s->mem = p->toy;
		s->len = sizeof(p->toy);
		return;
	}
	if (s->mapped)
		return;
	fd = open(trial_object(p), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		s->mem = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED,
		    fd, 0);
		s->len = (size_t)st.st_size;
		s->mapped = s->mem != MAP_FAILED;
		if (!s->mapped)
			s->mem = NULL;
		else
			find_arrays(s);
	}
	close(fd);
}

/* Only cluster keys' have memory. */
static uint64_t
hash_rights(const struct state_hash *s, const char *base, uint64_t sum)
{
	const struct lhi_geometry *g = &s->geo;
	const struct shm_header *h = s->mem;
	const struct shm_slot *slot =
	    (const void *)(base + g->slots_off);
	const struct shm_right *r = (const void *)(base + g->rights_off);

	for (uint32_t i = 1; i < sh32_load(&h->ready_slots); i++) {
		if (sh32_load(&slot[i].key_info) & KEY_CLUSTER)
			sum = XXH3_64bits_withSeed(&r[i], sizeof(r[i]), sum);
	}
	return sum;
}

/* Of each ring what is behind the events: the death word. */
static uint64_t
hash_rings(const struct state_hash *s, const char *base, uint64_t sum)
{
	const struct lhi_geometry *g = &s->geo;
	const size_t from = offsetof(struct shm_ring, reserved1);

	if (!s->unrecorded)
		return XXH3_64bits_withSeed(base + g->rings_off,
		    g->requests_off - g->rings_off, sum);
	for (uint32_t i = 0; i < g->max_sessions; i++)
		sum = XXH3_64bits_withSeed(base + g->rings_off +
			i * sizeof(struct shm_ring) + from,
		    sizeof(struct shm_ring) - from, sum);
	return sum;
}

uint64_t
state_hash_now(const struct state_hash *s)
{
	const struct lhi_geometry *g = &s->geo;
	const struct shm_header *h = s->mem;
	const struct shm_chunk *ch;
	const char *base = s->mem;
	uint64_t sum;

	if (s->mem == NULL || g->object_len == 0)
		return s->mem == NULL ? 0 : XXH3_64bits(s->mem, s->len);
	/* this is what a step costs: not what nobody has used */
	sum = hash_rings(s, base, XXH3_64bits(base, g->rings_off));
	if (sh32_load(&h->ready_requests) != 0)
		sum = XXH3_64bits_withSeed(base + g->requests_off,
		    g->values_off - g->requests_off, sum);
	if (sh32_load(&h->ready_values) != 0)
		sum = XXH3_64bits_withSeed(base + g->values_off,
		    g->asides_off - g->values_off, sum);
	ch = (const struct shm_chunk *)(const void *)(base + g->chunks_off);
	for (uint32_t i = 0; i < g->n_chunks; i++) {
		if (sh64_load(&ch[i].aside) != 0)
			sum = XXH3_64bits_withSeed(base + g->asides_off +
				i * SHM_CHUNK * sizeof(struct shm_claim_note),
			    SHM_CHUNK * sizeof(struct shm_claim_note), sum);
	}
	return hash_rights(s, base, sum);
}

void
state_hash_end(struct state_hash *s)
{
	if (s->mapped)
		munmap((void *)(uintptr_t)s->mem, s->len);
}
