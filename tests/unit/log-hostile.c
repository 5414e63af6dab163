/* SPDX-License-Identifier: MIT */
/*
 * Reading the log: wrong arguments are refused; rings of any bit pattern (G12),
 * sealed as events are or not, do no harm and are read or left out; a ring
 * without memory is none; counters of any value are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/bits.h"
#include "base/hash.h"
#include "shm/layout.h"
#include "support/child.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define CHECK_SHIFT 46
#define ROUNDS 200

static int64_t last_ns;
static int n_told, n_disorder;

static int
look(const struct lh_log_entry *e, void *arg)
{
	(void)arg;
	n_told++;
	n_disorder += e->time_ns < last_ns;
	last_ns = e->time_ns;
	if (e->size != sizeof(*e) || strnlen(e->application,
	    sizeof(e->application)) == sizeof(e->application) ||
	    (e->other != LH_NO_RECORD && e->other >= 4096) || e->mode > 1 ||
	    e->ending > 3)
		fail("an event that makes no sense");
	return 0;
}

static int
seven(const struct lh_log_entry *e, void *arg)
{
	(void)e;
	(void)arg;
	return 7;
}

static int
read_log(const char *table)
{
	n_told = n_disorder = 0;
	last_ns = INT64_MIN;
	return lh_log(table, NULL, look, NULL);
}

static void
refusals(const char *table)
{
	struct lh_log_opts o = LH_LOG_OPTS_INIT;
	char name[300];

	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	is(lh_log(table, &o, NULL, NULL), -EINVAL, "nobody to tell");
	ok(t_has_detail(), "with a reason");
	o.size--;
	is(lh_log(table, &o, look, NULL), -EINVAL, "a wrong size");
	o.size++;
	o.flags = LH_NO_CREATE;
	is(lh_log(table, &o, look, NULL), -EINVAL, "an unknown flag");
	o.flags = 0;
	o.key = name;
	is(lh_log(table, &o, look, NULL), -ENAMETOOLONG, "a long key");
	o.key = "";
	is(lh_log(table, &o, look, NULL), -EINVAL, "an empty key");
	o.key = NULL;
	is(lh_log("no.such.table", &o, look, NULL), -ENOENT, "no table");
	is(lh_log("no/name", &o, look, NULL), -EINVAL, "no name");
	o.file = "/dev/null";
	is(lh_log(NULL, &o, look, NULL), -EPROTO, "no image");
	o.file = "/no/such/file";
	is(lh_log(NULL, &o, look, NULL), -ENOENT, "no file");
	ok(t_has_detail(), "with a reason");
	is(lh_log(table, NULL, seven, NULL), 7, "told to end: ends");
	is(lh_log_grants(NULL, 1), -EINVAL, "nothing to switch");
}

static uint64_t
any(void)
{
	uint64_t n = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^
	    (uint64_t)random();

	switch (random() % 4) {
	case 0:
		return n % 200;
	case 1:
		return UINT64_MAX - n % 200;
	default:
		return n;
	}
}

/* Of the event in that place, the latest or of a round before. */
static uint64_t
number(uint64_t place, uint64_t next)
{
	return next - 1 - (next - 1 - place) % SHM_EVENTS -
	    (random() % 2 == 0 ? SHM_EVENTS : 0);
}

static void
spoil(shm_u64 *ring, bool sealed)
{
	uint64_t next = any();

	sh64_store(&ring[0], next);
	for (int i = 4; i < 512; i += 4) {
		uint64_t w[5] = { any(), any(), any(), any(), 0 };

		w[3] &= MASK(CHECK_SHIFT);
		w[4] = number((uint64_t)i / 4 - 1, next);
		if (sealed)
			w[3] |= lhi_hash(w, sizeof(w)) << CHECK_SHIFT;
		else
			w[3] = any();
		for (int k = 0; k < 4; k++)
			sh64_store(&ring[i + k], w[k]);
	}
}

static shm_u64 *
map_rings(const char *table, size_t *n, off_t *at)
{
	int fd = open(t_object(table), O_RDWR);
	struct t_object o = t_map_object(table);
	char *base;

	*n = t_open_opts().max_sessions * sizeof(struct shm_ring);
	*at = (off_t)o.geo.rings_off;
	t_unmap_object(&o);
	base = mmap(NULL, *n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, *at);
	if (fd < 0 || base == MAP_FAILED)
		bail_out("cannot map");
	(void)close(fd);
	return (shm_u64 *)base;
}

/* The page given back to the system: reads as nothing, and stays away. */
static void
without_memory(const char *table, off_t at)
{
	int fd = open(t_object(table), O_RDWR);
	struct stat before, after;

	is(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
	    t_open_opts().max_sessions * (off_t)4096), 0, "no memory");
	is(fstat(fd, &before), 0, "so much is there");
	is(read_log(table), 0, "read");
	is(n_told, 0, "nothing");
	is(fstat(fd, &after), 0, "asked again");
	is(after.st_blocks, before.st_blocks, "reading takes none");
	(void)close(fd);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lh_stats st = { .size = sizeof(st) };
	int bad = 0, disorder = 0, told = 0, all = 0;
	struct lh_lease l;
	shm_u64 *rings;
	size_t n;
	off_t at;

	refusals(table);
	l = t_hold(lh, "k");
	is(lh_release(lh, &l), 0, "a lease");
	is(read_log(table), 0, "the log");
	is(n_told, 2, "we began, and made a key");
	rings = map_rings(table, &n, &at);
	srandom(1);
	for (int i = 0; i < t_count(ROUNDS, 20); i++) {
		for (int r = 0; r < 3; r++)
			spoil(rings + r * (4096 / 8), i % 2);
		bad += read_log(table) != 0;
		disorder += n_disorder;
		if (i % 2)
			told += n_told;
		else
			all += n_told;
		is(lh_acquire(lh, "k", NULL, &l), 0, "and it works");
		is(lh_convert(lh, &l, LH_SHARED), 0, "writing into that");
		is(lh_release(lh, &l), 0, "any number");
	}
	is(bad, 0, "any bits can be read");
	is(disorder, 0, "in order");
	cmp(told, >, 1000, "sealed events are read");
	cmp(all, <, 1000, "what is not is left out");
	without_memory(table, at);
	is(lh_stats(lh, &st), 0, "statistics");
	(void)munmap(rings, n);
	t_close(lh);
	return done();
}
