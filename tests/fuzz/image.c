/* SPDX-License-Identifier: MIT */
/*
 * Table images: a valid one, then changed words, through everything that the
 * library does with a table (G12).
 *
 * The script.  Its first byte is a set of flags:
 *	SEAL	the header's sum is made to fit
 *	PLACE	and the object's length, to what the counts ask for
 *	LIVING	the sessions in the image cannot be proved dead
 * Then come operations, until its end; the first byte says which:
 *	below 128	a change: which array (the byte), which record (2
 *			bytes), which word of it (1), how (1), with what (8)
 *	others		a call (the byte), with one byte to choose a key by
 * Steps before the first call change the image before it is opened; later ones
 * change the table under its user.  After the last all calls are
 * made once more, so that a short script leaves nothing out.
 *
 * The results of the calls do not matter.  They must return, each within a
 * number of steps, and must not touch other memory.  In the end the
 * table is repaired; if that can be done, it is sound then.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold.h>
#include "fuzz/fuzz.h"
#include "live_files.h"
#include "fuzz/image-base.h"
#include "fuzz/image-calls.h"
#include "base/bits.h"
#include "shm/live_file.h"
#include "shm/table_object.h"
#include "shm/table_place.h"

#define SEAL	0x1u
#define PLACE	0x2u
#define LIVING	0x4u

#define LONGEST (UINT64_C(1) << 21)	/* object that is made */
#define OPS_MAX 200

const char fuzz_name[] = "image";

static char *base, *copy;
static size_t base_len;
static struct lhi_geometry geo;		/* of the base */

struct image_table t;

/* Changes. */

struct array {
	uint64_t off;
	uint32_t stride, n;
};

enum { HEADER, SESSIONS, CHUNKS, CLAIMS, BUCKETS, SLOTS, LONGS, RINGS,
	ANYWHERE, N_OLD, REQUESTS = N_OLD, ASIDES, VALUES, N_LATER,
	RIGHTS = N_LATER, N_ARRAYS };

/* Returns the array that a script's byte means.  Scripts still mean what they
 * meant before there were these. */
static unsigned
array_number(unsigned which)
{
	unsigned old = 128 / N_OLD * N_OLD - N_OLD;

	if (which >= 0xf0)
		return RIGHTS;
	return which < old ? which % N_OLD :
	    N_OLD + (which - old) % (N_LATER - N_OLD);
}

static struct array
array_of(unsigned which)
{
	const struct lhi_geometry *g = &geo;
	const struct array a[N_ARRAYS] = {
		[HEADER] = { 0, sizeof(struct shm_header), 1 },
		[SESSIONS] = { g->sessions_off, sizeof(struct shm_session),
		    g->max_sessions },
		[CHUNKS] = { g->chunks_off, sizeof(struct shm_chunk),
		    g->n_chunks },
		[CLAIMS] = { g->claims_off, sizeof(struct shm_claim),
		    4 * SHM_CHUNK },
		[BUCKETS] = { g->buckets_off, sizeof(shm_u64), g->n_buckets },
		[SLOTS] = { g->slots_off, sizeof(struct shm_slot),
		    g->n_slots },
		[LONGS] = { g->long_off, sizeof(struct shm_long), g->n_long },
		[RINGS] = { g->rings_off, sizeof(struct shm_ring),
		    g->max_sessions },
		[VALUES] = { g->values_off, sizeof(struct shm_value),
		    g->n_values },
		[ANYWHERE] = { 0, sizeof(shm_u64),
		    (uint32_t)(g->rings_off / sizeof(shm_u64)) },
		[REQUESTS] = { g->requests_off, sizeof(struct shm_request),
		    g->n_requests },
		[ASIDES] = { g->asides_off, sizeof(struct shm_claim_note),
		    4 * SHM_CHUNK },
		[RIGHTS] = { g->rights_off, sizeof(struct shm_right),
		    g->n_slots },
	};

	return a[array_number(which)];
}

/* A word of the header that is one, more often than not. */
static unsigned
header_word(unsigned word)
{
	return word & 0x80 ? word % 40 : 2 * word;
}

/* The bits [shift, shift + n) of `old` replaced. */
static uint64_t
put(uint64_t old, unsigned shift, unsigned n, uint64_t value)
{
	uint64_t mask = MASK(n) << shift;

	return (old & ~mask) | (value << shift & mask);
}

static uint64_t
changed(unsigned how, uint64_t old, uint64_t v)
{
	switch (how % 16) {
	case 0: return v;
	case 1: return old ^ v;
	case 2: return old + v;
	case 3: return old ^ UINT64_C(1) << v % 64;
	case 4: return put(old, 0, 32, v);
	case 5: return put(old, 32, 32, v);
	case 6: return put(old, 0, CLAIM_BITS, v);	/* of a lock word */
	case 7: return put(old, CLAIM_BITS, 2, v);
	case 8: return put(old, 0, VER_SHIFT, v);
	case 9: return put(old, 1, CLAIM_BITS, v);	/* of a claim link */
	case 10: return put(old, SLOT_TAG_BITS, SLOT_BITS, v); /* slot's */
	case 11: return put(old, ST_SHIFT, 4, v);	/* claim state */
	case 12: return put(old, 0, DEADLINE_BITS, v);
	case 13: return put(old, 56, 8, v);		/* session's */
	case 14: return v & 1 ? UINT64_MAX : INT64_MAX;
	default: return 0;
	}
}

/* The next record from idx on that is in use: most are not. */
static uint32_t
used_request(uint32_t idx)
{
	uint64_t x = 0;

	for (uint32_t i = 0; x == 0 && i < geo.n_requests; i++) {
		uint64_t at;

		idx = (idx + 1) % geo.n_requests;
		at = geo.requests_off + idx * sizeof(struct shm_request);
		if (t.mapped == 0 || at + sizeof(x) <= t.mapped)
			memcpy(&x, t.bytes + at, sizeof(x));
	}
	return idx;
}

static void
change(struct fuzz_input *in, unsigned which)
{
	struct array a = array_of(which);
	uint32_t idx = (uint32_t)fuzz_take(in, 2) % a.n;
	unsigned word = (unsigned)fuzz_take(in, 1);
	unsigned how = (unsigned)fuzz_take(in, 1);
	uint64_t value = fuzz_take(in, 8), x;
	size_t at;

	if (array_number(which) == HEADER)
		word = header_word(word);
	if (array_number(which) == REQUESTS)
		idx = used_request(idx);
	at = a.off + (uint64_t)idx * a.stride + word % (a.stride / 8) * 8;
	if (t.mapped != 0 && at + 8 > t.mapped)
		return;
	memcpy(&x, t.bytes + at, 8);
	if (how & 0x80) {	/* what the record named by value has there */
		uint64_t from = a.off + value % a.n * a.stride +
		    word % (a.stride / 8) * 8;

		if (t.mapped == 0 || from + 8 <= t.mapped)
			memcpy(&x, t.bytes + from, 8);
	} else {
		x = changed(how, x, value);
	}
	memcpy(t.bytes + at, &x, 8);
}

static void
make_living(void)
{
	struct shm_session *se = (struct shm_session *)
	    (void *)(t.bytes + geo.sessions_off);

	for (uint32_t i = 0; i < geo.max_sessions; i++)
		se[i].state.raw |= (uint64_t)SESS_NOPROOF << 48;
}

/* The header is what it says, and the file's length too.  That length. */
static uint64_t
seal(void)
{
	struct shm_header *h = (struct shm_header *)(void *)t.bytes;
	struct lhi_geometry g = {
		.max_sessions = h->max_sessions.raw,
		.n_chunks = h->n_chunks.raw,
		.n_buckets = h->n_buckets.raw,
		.n_slots = h->n_slots.raw,
		.n_long = h->n_long.raw,
	};
	uint64_t len = base_len;

	if ((t.flags & PLACE) && lhi_geometry_place(&g) == 0 &&
	    g.object_len <= LONGEST) {
		len = g.object_len;
		h->object_len.raw = len;
	}
	if (t.flags & (SEAL | PLACE))
		h->header_sum.raw = lhi_object_sum(h);
	return len;
}

/* Beside the object; a descriptor. */
static int
make_live_file(uint64_t uuid)
{
	char leaf[TABLE_LEAF_MAX], path[sizeof(t.path) + TABLE_LEAF_MAX];

	lhi_live_file_leaf(leaf, t.path, uuid);
	(void)snprintf(path, sizeof(path), "%.*s/%s",
	    (int)(strrchr(t.path, '/') - t.path), t.path, leaf);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* It stands where it says, beside its live file; otherwise the header stays as
 * sound as it was. */
static void
place_object(int fd)
{
	struct shm_header *h = (struct shm_header *)(void *)t.bytes;
	int live;

	if (h->header_sum.raw != lhi_object_sum(h))
		return;
	live = make_live_file(h->uuid[0].raw);
	if (live < 0 || lhi_place_set(h, fd) != 0 ||
	    lhi_place_set_live(h, live) != 0)
		fuzz_finding("cannot make the live file of %s", t.path);
	(void)close(live);
	h->header_sum.raw = lhi_object_sum(h);
}

static void
write_object(void)
{
	uint64_t len = seal(), data = geo.rings_off;
	int fd = open(t.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	/* from the rings on only where there is something in them */
	if (fd >= 0)
		place_object(fd);
	for (uint64_t at = geo.rings_off; at < base_len; at += 8)
		if (*(uint64_t *)(void *)(t.bytes + at) != 0)
			data = at + 8;
	if (fd < 0 || ftruncate(fd, (off_t)len) != 0 ||
	    pwrite(fd, t.bytes, data, 0) != (ssize_t)data ||
	    ftruncate(fd, (off_t)len) != 0)
		fuzz_finding("cannot make %s", t.path);
	if (len > base_len && fallocate(fd, 0, 0, (off_t)len) != 0)
		fuzz_finding("no memory for %s", t.path);
	(void)close(fd);
}

static void
show_finding(const char *finding, void *arg)
{
	(void)arg;
	(void)fprintf(stderr, "%s\n", finding);
}

/* A table, attached, or false: it is refused. */
static bool
open_table(void)
{
	int fd;

	write_object();
	fuzz_steps("lh_open", STEPS);
	image_dump(NULL);
	image_dump(t.path);
	if (image_open(&t.lh) != 0) {
		t.lh = NULL;
		return false;
	}
	fd = open(t.path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	t.mapped = (size_t)lseek(fd, 0, SEEK_END);
	t.bytes = mmap(NULL, t.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    0);
	(void)close(fd);
	if (t.bytes == MAP_FAILED)
		fuzz_finding("cannot map %s", t.path);
	return true;
}

static bool
play(struct fuzz_input *in)
{
	bool opened = false;

	for (int i = 0; i < OPS_MAX && in->left > 0; i++) {
		unsigned op = (unsigned)fuzz_take(in, 1);

		if (op < 128) {
			change(in, op);
			continue;
		}
		if (!opened && !open_table())
			return false;
		opened = true;
		image_call(op, (unsigned)fuzz_take(in, 1));
	}
	return opened || open_table();
}

/* If the table can be repaired, it is sound afterwards, and can be used. */
static void
repair(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int n;

	fuzz_steps("lh_table_repair", STEPS);
	(void)lh_table_repair(t.name, LH_DRY_RUN, NULL, NULL);
	if (lh_table_repair(t.name, 0, NULL, NULL) < 0)
		return;
	fuzz_steps("after a repair", STEPS);
	if (image_open(&t.lh) != 0)
		fuzz_finding("lh_open: %s", lh_error_detail());
	n = lh_check(t.lh, show_finding, NULL);
	if (n != 0)
		fuzz_finding("%d findings", n);
	o.max_wait_ms = 0;
	if (lh_acquire(t.lh, THE_X, &o, &lease) != 0 ||
	    lh_acquire(t.lh, "after", &o, &lease) != 0)
		fuzz_finding("lh_acquire: %s", lh_error_detail());
	image_close();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	memcpy(copy, base, base_len);
	t.bytes = copy;
	t.mapped = 0;
	t.flags = (unsigned)fuzz_take(&in, 1);
	if (t.flags & LIVING)
		make_living();
	if (play(&in)) {
		for (unsigned i = 0; i < image_n_calls; i++)
			image_call(i, i);
		fuzz_steps("lh_close", STEPS);
		image_close();
	}
	repair();
	fuzz_steps("lh_table_remove", STEPS);
	if (lh_table_remove(t.name, 0) != 0)
		(void)lh_table_remove(t.name, LH_FORCE);
	image_close();
	if (t.mapped != 0)
		(void)munmap(t.bytes, t.mapped);
	(void)unlink(t.path);
	remove_live_files(t.path);
	(void)unlink(t.floor);
	return 0;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	unsigned uid = (unsigned)geteuid();

	(void)argc;
	(void)argv;
	fuzz_steps("the base", UINT64_MAX);
	(void)snprintf(t.name, sizeof(t.name), "fuzz-%d", (int)getpid());
	(void)snprintf(t.path, sizeof(t.path), "/dev/shm/leasehold.%u/%s.table",
	    uid, t.name);
	(void)snprintf(t.floor, sizeof(t.floor),
	    "/dev/shm/leasehold.%u/%s.floor", uid, t.name);
	base = image_base(&base_len);
	copy = malloc(base_len);
	if (copy == NULL || lhi_object_check((struct shm_header *)(void *)base,
	    "the base", (off_t)base_len, &geo) != 0)
		fuzz_finding("the base is no table: %s", lh_error_detail());
	return 0;
}
