/* SPDX-License-Identifier: MIT */
/*
 * Measures a lock by name when there are a million of them.
 *
 * Then nothing is in a cache any more, and the time is that of memory: the
 * question is how many times one acquisition has to go there, one after the
 * other.  A lookup by name cannot do with less than three:
 *
 *	the bucket	tells which slot the name may have
 *	the slot's line	word to swap, and where the name is
 *	the key's line	is it this name and not another of the same bucket
 *
 * Each address comes out of the line before.  So the peer is a chase of three
 * dependent loads an operation, over as many cells of a slot's size, in memory
 * of the same kind: a file on the same tmpfs, mapped shared, so with the same
 * pages.  It has no hash, no compare, no locked instruction and no clock.  That
 * makes it somewhat hard on us, who need those.  It is also somewhat kind: a
 * slot's two lines are neighbours, which the hardware fetches together when it
 * can, and buckets are small enough that a large cache keeps some.
 *
 * Both visit their million in a random order that is fixed beforehand, each
 * cell or key once before any comes again: nothing is still warm from the last
 * time.  The chase is one cycle through all cells.  The names lie in memory in
 * the order in which they are used, so that reading them is a walk straight on
 * and costs no visit to memory that somebody waits for.
 *
 * The operations of ours follow each other as those of the chase do: what
 * locks the bus lets no later load begin before it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define N_KEYS		1000000u
#define MAX_KEYS	(1u << 20)

struct cell {
	uint32_t next;
	unsigned char rest[124];	/* to the size of a slot */
};

static struct lh *lh;
static char (*names)[32];
static uint32_t next_name;

static struct cell *cells;
static volatile uint32_t at;

/* xorshift64: the same order in every run. */
static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * n >> 32);
}

static const char *ours_set_up(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	char table[sizeof(bench.table) + 8];
	static char why[200];
	char swap[32];
	uint32_t i, k;
	int error;

	snprintf(table, sizeof(table), "%s.1m", bench.table);
	opts.max_keys = MAX_KEYS;
	error = lh_open(&lh, table, &opts);
	if (error) {
		snprintf(why, sizeof(why), "lh_open for %u keys: %s. %s",
		    MAX_KEYS, lh_strerror(error), lh_error_detail());
		return why;
	}
	names = bench_shared(N_KEYS * sizeof(*names));
	for (i = 0; i < N_KEYS; i++) {
		bench_key_name(names[i], i);
		bench_need(lh_key_create(lh, names[i]), "key_create");
	}
	for (i = N_KEYS - 1; i > 0; i--) {
		k = random_below(i + 1);
		memcpy(swap, names[i], sizeof(swap));
		memcpy(names[i], names[k], sizeof(swap));
		memcpy(names[k], swap, sizeof(swap));
	}
	return NULL;
}

static void ours_run(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_acquire(lh, names[next_name], NULL, &lease),
		    "acquire");
		bench_need(lh_release(lh, &lease), "release");
		if (++next_name == N_KEYS)
			next_name = 0;
	}
}

static void ours_tear_down(void)
{
	bench_need(lh_close(lh), "lh_close");
}

static const char *chase_set_up(void)
{
	const size_t size = N_KEYS * sizeof(*cells);
	char path[sizeof(bench.scratch) + 8];
	uint32_t i, k, swap;
	int error;
	int fd;

	snprintf(path, sizeof(path), "%s/cells", bench.scratch);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		bench_die("%s: %s", path, strerror(errno));
	error = posix_fallocate(fd, 0, (off_t)size);
	if (error)
		return "no room in /dev/shm for as much memory again";
	cells = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cells == MAP_FAILED)
		bench_die("mmap: %s", strerror(errno));
	close(fd);
	unlink(path);
	/* One cycle through all: a permutation without shorter ones. */
	for (i = 0; i < N_KEYS; i++)
		cells[i].next = i;
	for (i = N_KEYS - 1; i > 0; i--) {
		k = random_below(i);
		swap = cells[i].next;
		cells[i].next = cells[k].next;
		cells[k].next = swap;
	}
	return NULL;
}

static void chase_run(uint64_t n)
{
	uint32_t i = at;

	for (; n > 0; n--) {
		i = cells[i].next;
		i = cells[i].next;
		i = cells[i].next;
	}
	at = i;
}

size_t bench_million(struct row **out)
{
	static struct side sides[] = {
		{ .name = "x_name_1m", .set_up = ours_set_up,
		    .run = ours_run, .tear_down = ours_tear_down },
		{ .name = "chase", .set_up = chase_set_up,
		    .run = chase_run },
	};
	static struct row row = {
		"x_name_1m", "3-loads",
		"acquire by name + release at random among 10^6; 3 loads "
		"likewise", ROW_METRIC, 1.4, { 0, 0 }, { 0, 0 }, NULL
	};
	size_t i;

	bench_pin();
	for (i = 0; i < 2 && !row.missing; i++)
		row.missing = sides[i].set_up();
	if (!row.missing) {
		bench_circus(sides, 2, bench.quick ? 61 : 151, 12000000);
		row.ours = sides[0].figures;
		row.theirs = sides[1].figures;
	}
	if (lh)
		ours_tear_down();
	bench_unpin();
	*out = &row;
	return 1;
}
