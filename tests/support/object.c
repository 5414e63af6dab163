/* SPDX-License-Identifier: MIT */
/* See object.h. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

struct t_object
t_map_object(const char *table)
{
	int fd = open(t_object(table), O_RDWR | O_CLOEXEC);
	struct t_object o = { 0 };
	struct lhi_geometry *g = &o.geo;
	struct shm_header h;
	char *base;

	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
		bail_out("cannot read %s", table);
	g->max_sessions = sh32_load(&h.max_sessions);
	g->n_chunks = sh32_load(&h.n_chunks);
	g->n_buckets = sh32_load(&h.n_buckets);
	g->n_slots = sh32_load(&h.n_slots);
	g->n_long = sh32_load(&h.n_long);
	if (lhi_geometry_place(g) != 0)
		bail_out("%s is no table", table);
	base = mmap(NULL, g->object_len, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		bail_out("cannot map %s", table);
	o.h = (struct shm_header *)base;
	o.sessions = (struct shm_session *)(base + g->sessions_off);
	o.chunks = (struct shm_chunk *)(base + g->chunks_off);
	o.claims = (struct shm_claim *)(base + g->claims_off);
	o.buckets = (shm_u64 *)(base + g->buckets_off);
	o.slots = (struct shm_slot *)(base + g->slots_off);
	o.longs = (struct shm_long *)(base + g->long_off);
	o.rings = (struct shm_ring *)(base + g->rings_off);
	o.requests = (struct shm_request *)(base + g->requests_off);
	o.values = (struct shm_value *)(base + g->values_off);
	o.asides = (struct shm_claim_note *)(base + g->asides_off);
	o.rights = (struct shm_right *)(base + g->rights_off);
	return o;
}

void
t_unmap_object(struct t_object *o)
{
	munmap(o->h, o->geo.object_len);
}

uint32_t
t_slot_of(const struct t_object *o, const char *key)
{
	char want[SHM_KEY_INLINE] = "";
	size_t len = strlen(key);

	memcpy(want, key, len < sizeof(want) ? len : sizeof(want));
	for (uint32_t i = 1; i < sh32_load(&o->h->ready_slots); i++) {
		const struct shm_slot *s = &o->slots[i];

		if (word_mode(sh64_load(&s->word)) != WORD_NONE &&
		    (sh32_load(&s->key_info) & KEY_LEN) == len &&
		    memcmp(s->key, want, sizeof(want)) == 0)
			return i;
	}
	bail_out("there is no key %s", key);
}
