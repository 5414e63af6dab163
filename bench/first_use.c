/* SPDX-License-Identifier: MIT */
/*
 * Measures a name that was never used: each pair acquires and releases another
 * one, which makes a key.
 *
 * The table has room for all of them, so that none is evicted, and its memory
 * grows meanwhile, which is part of the price.  The peer is Berkeley DB, which
 * makes a lock object for each name and frees it with the last lock.
 */
#include <stdio.h>

#include <leasehold.h>

#include "bench.h"

#define ROOM (1u << 20)

static struct lh *lh;

static const char *set_up(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	char table[sizeof(bench.table) + 8];

	(void)snprintf(table, sizeof(table), "%s.first", bench.table);
	opts.max_keys = ROOM;
	bench_need(lh_open(&lh, table, &opts), "lh_open");
	return NULL;
}

static void run(uint64_t n)
{
	static unsigned int next;
	struct lh_lease lease;
	char name[32];

	if (next + n > ROOM - 64)
		bench_die("first_use: the table has no room for %llu names "
		    "more", (unsigned long long)n);
	for (; n > 0; n--) {
		bench_key_name(name, FIRST_NEW_NAME + next++);
		bench_need(lh_acquire(lh, name, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

size_t bench_first_use(struct row **out)
{
	static struct row row = {
		"first_use", "bdb-5.3",
		"a name never used: acquire + release; lock_get + lock_put",
		ROW_METRIC, 8, { 0, 0 }, { 0, 0 }, NULL
	};
	struct side sides[2] = {
		{ .name = "first_use", .set_up = set_up, .run = run },
		bench_peer_bdb_new,
	};

	bench_pin();
	for (unsigned int i = 0; i < 2; i++)
		sides[i].missing = sides[i].set_up();
	/* fewer and shorter slices than usual: each name takes room */
	bench_circus(sides, 2, bench.quick ? 31 : 101, 2000000);
	row.ours = sides[0].figures;
	row.theirs = sides[1].figures;
	row.missing = sides[1].missing;
	if (!row.missing)
		sides[1].tear_down();
	bench_need(lh_close(lh), "lh_close");
	bench_unpin();
	*out = &row;
	return 1;
}
