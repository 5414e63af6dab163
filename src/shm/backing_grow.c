/* SPDX-License-Identifier: MIT */
/*
 * Growth: gives an array of the table more memory in its place.
 *
 * The object has its greatest length from the beginning, and every process has
 * all of it mapped.  But it is a sparse file, and an access to a place without
 * memory is SIGBUS if there is none left.  So no process accesses anything at
 * or beyond the `ready` count of its array, and a count is raised only when the
 * memory is there.
 *
 *	1 fallocate: the pages belong to the object now, or ENOSPC
 *	2 populate them through the mapping: they are in use now
 *	3 raise the count
 *
 * Any number of processes may do it at once, and be killed or stopped anywhere:
 * steps 1 and 2 change nothing that is visible, and step 3 only raises.  Step 2
 * is not just for speed.  An interrupted fallocate returns those pages of its
 * range that were not touched yet, even if another process got them.  For the
 * same reason it is done in pieces, small enough to be completed between two
 * signals, and parts begin on pages: used pages are not allocated again.
 *
 * An array grows by an eighth, and at least by an amount that makes the calls
 * rare.  Slots bring buckets: before there are more slots than buckets, the
 * number of buckets is doubled (key_index.c moves no key for that).
 *
 * A crash or stop before step 3 leaves memory that the next process finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/backing_grow.h"

#define PIECE (UINT64_C(1) << 19)
#define PAGE UINT64_C(4096)
#define INTERRUPTED_MAX 10000

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int
back_piece(int fd, char *base, uint64_t off, uint64_t len)
{
	for (int i = 0; i < INTERRUPTED_MAX; i++) {
		if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)off,
		    (off_t)len) != 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		lhi_point("grow.backed");
		if (base == NULL || madvise(base + off, len,
		    MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
			return 0;	/* EINVAL: an older kernel */
		if (errno != EINTR && errno != EAGAIN)
			return errno == EFAULT ? -ENOSPC : -errno;
	}
	return -EINTR;
}

int
lhi_grow_back(int fd, char *base, uint64_t off, uint64_t len)
{
	uint64_t end = (off + len + PAGE - 1) & ~(PAGE - 1);
	int error = 0;

	for (off &= ~(PAGE - 1); error == 0 && off < end; off += PIECE)
		error = back_piece(fd, base, off, end - off < PIECE ?
		    end - off : PIECE);
	return error;
}

int
lhi_grow_part(struct lhi_view *v, uint64_t off, uint64_t len, const char *use,
    const char *lacks)
{
	int saved = errno, fd = lhi_view_fd(v), error;
	struct stat st = { 0 };
	bool cut;

	error = fd < 0 ? -errno : lhi_grow_back(fd, (char *)v->hdr, off, len);
	cut = error != 0 && fd >= 0 && fstat(fd, &st) == 0 &&
	    (uint64_t)st.st_size < off + len;
	errno = saved;
	if (fd < 0)
		return lhi_view_no_fd(v, error, use);
	if (cut)
		return lhi_damaged(v, "its object was truncated",
		    (uint64_t)st.st_size, off + len);
	return error == 0 ? 0 : lhi_fail(-ENOSPC, "there is no memory for %s "
	    "in %s (%s): make room in shared memory (remove what is not needed "
	    "from /dev/shm, or enlarge it), or lift the limit of the control "
	    "group", lacks, v->path, strerror(-error));
}

/* Gives memory to an array at `at`, whose items are of `size`, from item
 * `from`. */
static int
back_array(struct lhi_view *v, const char *what, uint64_t at, uint64_t size,
    uint32_t from, uint32_t to)
{
	char lacks[60];

	(void)snprintf(lacks, sizeof(lacks), "more than %u %s", from, what);
	return lhi_grow_part(v, at + from * size, (to - from) * size,
	    "let it grow", lacks);
}

static int
raise_count(struct lhi_view *v, shm_u32 *count, uint32_t to)
{
	uint32_t now, n = 0;

	do {
		now = sh32_load(count);
	} while (now < to && !sh32_cas(count, now, to) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	return LHI_REACHED(n, LHI_SWAPS_MAX) ?
	    lhi_damaged_restless(v, "a ready count", to) : 1;
}

/* Returns the new size of an array of n: multiples of 1,024 keep parts on
 * pages. */
static uint32_t
next_size(uint32_t n, uint32_t max)
{
	uint32_t by = n / 8 < 1024 ? 1024 : n / 8 > 65536 ? 65536 : n / 8;
	uint32_t to = (n + by) / 1024 * 1024;

	return to < max ? to : max;
}

static int
grow_array(struct lhi_view *v, const char *what, shm_u32 *count, uint32_t from,
    uint32_t to, uint64_t at, uint64_t size)
{
	int error = back_array(v, what, at, size, from, to);

	if (error != 0)
		return error;
	lhi_point("grow.ready");
	return raise_count(v, count, to);
}

static int
grow_buckets(struct lhi_view *v, uint32_t slots)
{
	uint32_t n, rounds = 0;
	int error = 0;

	while (error >= 0 && (n = lhi_buckets_ready(v)) < slots &&
	    n < v->geo.n_buckets && LHI_WITHIN(rounds, LHI_GROWS_MAX)) {
		error = back_array(v, "buckets", v->geo.buckets_off,
		    sizeof(shm_u64), n, 2 * n);
		if (error == 0)
			error = raise_count(v, &v->hdr->bucket_level,
			    (uint32_t)__builtin_ctz(2 * n));
	}
	if (LHI_REACHED(rounds, LHI_GROWS_MAX))
		return lhi_damaged_restless(v, "the level of buckets", n);
	return error < 0 ? error : 0;
}

int
lhi_grow_slots(struct lhi_view *v)
{
	uint32_t from = lhi_slots_ready(v);
	uint32_t to = next_size(from, v->geo.n_slots);
	int error;

	if (from >= to)
		return 0;
	error = grow_buckets(v, to);
	return error != 0 ? error : grow_array(v, "keys",
	    &v->hdr->ready_slots, from, to, v->geo.slots_off,
	    sizeof(struct shm_slot));
}

int
lhi_grow_longs(struct lhi_view *v)
{
	uint32_t from = lhi_longs_ready(v);
	uint32_t to = next_size(from, v->geo.n_long);

	return from >= to ? 0 : grow_array(v, "long keys", &v->hdr->ready_longs,
	    from, to, v->geo.long_off, sizeof(struct shm_long));
}

int
lhi_grow_values(struct lhi_view *v)
{
	uint32_t from = lhi_ready(&v->hdr->ready_values, v->geo.n_values);
	uint32_t to = next_size(from, v->geo.n_values);

	return from >= to ? 0 : grow_array(v, "values", &v->hdr->ready_values,
	    from, to, v->geo.values_off, sizeof(struct shm_value));
}

int
lhi_grow_chunks(struct lhi_view *v)
{
	uint32_t from = lhi_chunks_ready(v);
	uint32_t by = from / 8 < 64 ? 64 : from / 8;
	uint32_t to = v->geo.n_chunks - from < by ? v->geo.n_chunks :
	    from + by;

	return from >= to ? 0 : grow_array(v, "times 64 leases",
	    &v->hdr->ready_chunks, from, to, v->geo.claims_off,
	    SHM_CHUNK * sizeof(struct shm_claim));
}
