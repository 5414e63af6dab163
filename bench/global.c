/* SPDX-License-Identifier: MIT */
/*
 * Measures the pair with tokens that rise over all keys of a table: every grant
 * takes its token from one word of the table.
 */
#include <stdio.h>
#include <unistd.h>
#include <leasehold.h>
#include "bench.h"

static struct lh *lh;
static struct lh_key *key;
static char name[80];

static const char *set_up(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;

	opts.flags = LH_TOKENS_GLOBAL;
	(void)snprintf(name, sizeof(name), "%s.global", bench.table);
	bench_need(lh_open(&lh, name, &opts), "lh_open, tokens over all keys");
	bench_need(lh_key_open(lh, HOT_KEY, 0, &key), "key_open");
	return NULL;
}

static void run(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void tear_down(void)
{
	char floor[128];

	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
	bench_need(lh_table_remove(name, 0), "lh_table_remove");
	(void)snprintf(floor, sizeof(floor), "/dev/shm/leasehold.%u/%s.floor",
	    (unsigned)geteuid(), name);
	(void)unlink(floor);
}

const struct side bench_global = {
	.name = "x_global", .set_up = set_up, .run = run,
	.tear_down = tear_down,
};
