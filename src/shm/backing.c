/* SPDX-License-Identifier: MIT */
/*
 * Extents: how much of this table may be accessed.
 *
 * The object is a sparse file of the greatest length that the table may need.
 * Five counts in its header say how much of each array has memory
 * (backing_grow.c raises them). The parts before the claims have all of theirs
 * from the beginning; the users of the rings give them memory.
 *
 * The counts are data like any other, and can be damaged.  A process that opens
 * a table compares them with its geometry, and the file with them.  A repair
 * asks the file itself: memory that was given is data in it, once it was
 * touched, and growth touches memory before it counts it.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "shm/backing.h"
#include "shm/backing_grow.h"
#include "shm/table_words.h"

#define PAGE UINT64_C(4096)

struct lhi_backing
lhi_backing_first(const struct lhi_geometry *g)
{
	struct lhi_backing e = {
		.slots = g->n_slots < GROW_SLOTS ? g->n_slots : GROW_SLOTS,
		.chunks = g->n_chunks < GROW_CHUNKS ? g->n_chunks :
		    GROW_CHUNKS,
		.longs = g->n_long < GROW_LONGS ? g->n_long : GROW_LONGS,
	};

	while (1u << e.level < e.slots && 1u << e.level < g->n_buckets)
		e.level++;
	return e;
}

void
lhi_backing_spans(const struct lhi_geometry *g, const struct lhi_backing *e,
    struct lhi_span s[LHI_SPANS])
{
	s[0] = (struct lhi_span){ 0, g->claims_off };
	s[1] = (struct lhi_span){ g->claims_off,
	    (uint64_t)e->chunks * SHM_CHUNK * sizeof(struct shm_claim) };
	s[2] = (struct lhi_span){ g->buckets_off, sizeof(shm_u64) << e->level };
	s[3] = (struct lhi_span){ g->slots_off,
	    (uint64_t)e->slots * sizeof(struct shm_slot) };
	s[4] = (struct lhi_span){ g->long_off,
	    (uint64_t)e->longs * sizeof(struct shm_long) };
	s[5] = (struct lhi_span){ g->values_off,
	    (uint64_t)e->values * sizeof(struct shm_value) };
}

bool
lhi_backing_of(const struct shm_header *h, const struct lhi_geometry *g,
    struct lhi_backing *e)
{
	e->slots = sh32_load(&h->ready_slots);
	e->chunks = sh32_load(&h->ready_chunks);
	e->longs = sh32_load(&h->ready_longs);
	e->level = sh32_load(&h->bucket_level);
	e->values = sh32_load(&h->ready_values);
	return e->slots >= 2 && e->slots <= g->n_slots && e->chunks >= 2 &&
	    e->chunks <= g->n_chunks && e->longs >= 1 &&
	    e->longs <= g->n_long && e->level < 32 &&
	    1u << e->level <= g->n_buckets && e->values <= g->n_values;
}

bool
lhi_backing_backed(int fd, const struct shm_header *h,
    const struct lhi_geometry *g)
{
	struct lhi_span s[LHI_SPANS];
	struct lhi_backing e;
	struct stat st;
	uint64_t want = 0;

	(void)lhi_backing_of(h, g, &e);
	lhi_backing_spans(g, &e, s);
	for (int i = 0; i < LHI_SPANS; i++)
		want += (s[i].len + PAGE - 1) & ~(PAGE - 1);
	return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 >= want;
}

/*
 * Returns how many of the n items at `at` lie before the end of the data there.
 */
static int
count_backed(int fd, uint64_t at, uint64_t size, uint32_t n, uint32_t *count)
{
	uint64_t end = at + n * size;
	off_t from = (off_t)at, to = (off_t)at;

	while ((from = lseek(fd, from, SEEK_DATA)) >= 0 &&
	    (uint64_t)from < end) {
		to = lseek(fd, from, SEEK_HOLE);
		if (to < 0)
			return -errno;
		from = to;
	}
	if (from < 0 && errno != ENXIO)
		return -errno;
	if ((uint64_t)to > end)
		to = (off_t)end;
	if (((uint64_t)to - at) / size > *count)
		*count = (uint32_t)(((uint64_t)to - at) / size);
	return 0;
}

int
lhi_backing_seen(int fd, const struct lhi_geometry *g, struct lhi_backing *e)
{
	uint32_t buckets = 0;
	int error;

	*e = lhi_backing_first(g);
	error = count_backed(fd, g->slots_off, sizeof(struct shm_slot),
	    g->n_slots, &e->slots);
	if (error == 0)
		error = count_backed(fd, g->buckets_off, sizeof(shm_u64),
		    g->n_buckets, &buckets);
	if (error == 0)
		error = count_backed(fd, g->claims_off,
		    SHM_CHUNK * sizeof(struct shm_claim), g->n_chunks,
		    &e->chunks);
	if (error == 0)
		error = count_backed(fd, g->long_off, sizeof(struct shm_long),
		    g->n_long, &e->longs);
	if (error == 0)
		error = count_backed(fd, g->values_off,
		    sizeof(struct shm_value), g->n_values, &e->values);
	/* before there are more slots than buckets, the buckets are doubled;
	 * and used, even if there never were more slots */
	while ((1u << e->level < e->slots || (1u << e->level < buckets &&
	    !lhi_mutant_on(buckets_uncounted))) &&
	    1u << e->level < g->n_buckets)
		e->level++;
	return error;
}

int
lhi_backing_fail_map(const char *path, uint64_t len)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return lhi_fail(-ENOMEM, "no memory to map %llu bytes of %s",
		    (unsigned long long)len, path);
	return lhi_fail(-ENOMEM, "no memory to map %llu bytes of %s: this "
	    "process may have %llu KiB of addresses (ulimit -v); raise that "
	    "limit, or use a table with fewer keys (remove this one, if it "
	    "exists, then 'leasehold init --keys 10000 --leases 16384%s'); "
	    "a table maps addresses for all keys that it may have, and takes "
	    "memory as it grows", (unsigned long long)len, path,
	    (unsigned long long)limit.rlim_cur / 1024, TABLE_WORDS(path));
}
