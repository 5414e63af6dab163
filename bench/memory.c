/* SPDX-License-Identifier: MIT */
/*
 * Measures how much shared memory one more object takes.
 *
 * It is measured, not computed, with two tables: one made for n objects that
 * holds n, and one made for 2 n that holds 2 n.  The figure is the difference
 * of their st_blocks (pages that have memory, not the length) divided by n.  It
 * is the same whether a table reserves all its memory when it is made or takes
 * it as it grows, as long as n is many times the step it grows by.  Fixed parts
 * cancel.
 *
 *	idle key	nobody holds it, nobody waits
 *	lease		one process holds many, each on a key that is there
 *	waiter		a thread that waits and holds nothing.  A thread keeps
 *			a group of claims to itself, and that counts as its.
 *	process		a session with one lease; it keeps a chunk of claims
 *
 * Memory of the processes themselves is not in it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define N_KEYS		65536u
#define N_LEASES	32768u
#define N_WAITERS	256u
#define N_PROCESSES	256u

/* Claims that a chunk and a thread's group have, to make a table with room. */
#define CHUNK		64u
#define GROUP		8u

#define STACK_SIZE	(64 * 1024)
#define PATIENCE_NS	UINT64_C(10000000000)

static struct lh *lh;
static char table[sizeof(bench.table) + 8];

static double occupied(void)
{
	char path[128];
	struct stat st;

	bench_table_path(path, sizeof(path), table);
	if (stat(path, &st) < 0)
		bench_die("%s: %s", path, strerror(errno));
	return 512.0 * (double)st.st_blocks;
}

static void make_keys(unsigned int n)
{
	char name[32];
	unsigned int i;

	for (i = 0; i < n; i++) {
		bench_key_name(name, i);
		bench_need(lh_key_create(lh, name), "key_create");
	}
}

static double with_keys(unsigned int n)
{
	make_keys(n);
	return occupied();
}

static double with_leases(unsigned int n)
{
	struct lh_lease lease;
	char name[32];
	unsigned int i;

	make_keys(2 * N_LEASES);
	for (i = 0; i < n; i++) {
		bench_key_name(name, i);
		bench_need(lh_acquire(lh, name, NULL, &lease), "acquire");
	}
	return occupied();
}

static struct lh_cancel gone;

static void *wait_in_line(void *arg)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int error;

	opts.cancel = &gone;
	error = lh_acquire(lh, "bench/held", &opts, &lease);
	if (error != -ECANCELED)
		bench_die("a cancelled wait gave %d", error);
	return arg;
}

static int count_waiters(const struct lh_key_info *info, void *arg)
{
	*(unsigned int *)arg = info->n_waiters;
	return 0;
}

static double with_waiters(unsigned int n)
{
	static pthread_t threads[2 * N_WAITERS];
	uint64_t end = bench_clock_ns() + PATIENCE_NS;
	unsigned int i, waiting;
	struct lh_lease lease;
	pthread_attr_t attr;
	double bytes;

	memset(&gone, 0, sizeof(gone));
	bench_need(lh_acquire(lh, "bench/held", NULL, &lease), "acquire");
	bench_need(pthread_attr_init(&attr), "attr_init");
	bench_need(pthread_attr_setstacksize(&attr, STACK_SIZE),
	    "attr_setstacksize");
	for (i = 0; i < n; i++)
		bench_need(pthread_create(&threads[i], &attr, wait_in_line,
		    NULL), "pthread_create");
	do {
		bench_sleep_us(1000);
		bench_need(lh_status(lh, "bench/held", NULL, count_waiters,
		    &waiting), "status");
		if (bench_clock_ns() > end)
			bench_die("%u of %u threads wait", waiting, n);
	} while (waiting < n);
	bytes = occupied();
	bench_need(lh_cancel(&gone), "cancel");
	for (i = 0; i < n; i++)
		bench_need(pthread_join(threads[i], NULL), "pthread_join");
	pthread_attr_destroy(&attr);
	bench_need(lh_release(lh, &lease), "release");
	return bytes;
}

static double with_processes(unsigned int n)
{
	static struct lh *others[2 * N_PROCESSES];
	struct lh_lease lease;
	char name[32];
	unsigned int i;
	double bytes;

	make_keys(2 * N_PROCESSES);
	for (i = 0; i < n; i++) {
		bench_key_name(name, i);
		bench_need(lh_open(&others[i], table, NULL), "lh_open");
		bench_need(lh_acquire(others[i], name, NULL, &lease),
		    "acquire");
	}
	bytes = occupied();
	for (i = 0; i < n; i++)
		bench_need(lh_close(others[i]), "lh_close");
	return bytes;
}

/* Keys beyond the n that are counted are those of the larger table. */
static const struct thing {
	const char *name;
	unsigned int n;
	double (*with)(unsigned int n);
	unsigned int keys, keys_each;		/* max_keys: keys + n * each */
	unsigned int leases, leases_each;
	unsigned int sessions, sessions_each;
} things[] = {
	{ "idle key", N_KEYS, with_keys, 0, 1, 128, 0, 8, 0 },
	{ "lease", N_LEASES, with_leases, 2 * N_LEASES, 0, 2 * CHUNK, 1,
	    8, 0 },
	{ "waiter", N_WAITERS, with_waiters, 16, 0, 2 * CHUNK, GROUP, 8, 0 },
	{ "process", N_PROCESSES, with_processes, 2 * N_PROCESSES, 0,
	    4 * CHUNK, CHUNK, 8, 1 },
};

static double table_with(const struct thing *thing, unsigned int n)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	char path[128];
	double bytes;

	opts.max_keys = thing->keys + n * thing->keys_each;
	opts.max_leases = thing->leases + n * thing->leases_each;
	opts.max_sessions = thing->sessions + n * thing->sessions_each;
	snprintf(table, sizeof(table), "%s.mem", bench.table);
	bench_need(lh_open(&lh, table, &opts), "lh_open");
	bytes = thing->with(n);
	bench_need(lh_close(lh), "lh_close");
	bench_table_path(path, sizeof(path), table);
	if (unlink(path) < 0)
		bench_die("%s: %s", path, strerror(errno));
	return bytes;
}

void bench_memory(void)
{
	const struct thing *thing;
	double once, twice;
	size_t i;

	printf("shared memory, bytes for one more:\n");
	for (i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		thing = &things[i];
		once = table_with(thing, thing->n);
		twice = table_with(thing, 2 * thing->n);
		printf("%-12s %8.1f\n", thing->name,
		    (twice - once) / thing->n);
		fflush(stdout);
	}
	printf("\n");
}
