/* SPDX-License-Identifier: MIT */
/*
 * Eight processes claim ranges in one directory as fast as they can, and stop
 * and die anywhere in it: no number twice, none that a file does not stand for,
 * each claim larger than those that ended before it began.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "fence/crew.h"
#include "fence/range.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCS 8
#define MOST 60000

static struct log {
	struct crew crew;
	_Atomic unsigned n;
	_Atomic uint64_t highest;	/* that was returned */
	_Atomic unsigned low;		/* not above what had been */
	_Atomic unsigned failed;
	_Atomic int64_t longest_ns;	/* of the one who is never stopped */
	uint64_t got[MOST];
} *all;

static char dir[64];
static bool crew_ended_well = true;

static void
raise_to(_Atomic uint64_t *to, uint64_t n)
{
	uint64_t was = atomic_load(to);

	while (was < n && !atomic_compare_exchange_weak(to, &was, n))
		;
}

static int
claim_on(void *arg)
{
	uint64_t uuid[2] = { 5, (uint64_t)crew_me }, before, n;
	int64_t began_ns, took_ns;
	unsigned i;

	while (!atomic_load(&all->crew.enough)) {
		before = atomic_load(&all->highest);
		began_ns = t_now_ns();
		if (lhi_range_claim(dir, uuid, 1, &n) != 0) {
			diag("%s", lh_error_detail());
			atomic_fetch_add(&all->failed, 1);
			continue;
		}
		took_ns = t_now_ns() - began_ns;
		if (n <= before)
			atomic_fetch_add(&all->low, 1);
		raise_to(&all->highest, n);
		i = atomic_fetch_add(&all->n, 1);
		if (i >= MOST)
			return 0;
		all->got[i] = n;
		if (crew_me == 0 && took_ns > all->longest_ns)
			all->longest_ns = took_ns;
	}
	return 0;
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
look_at_files(void)
{
	uint64_t files[4 * RANGE_KEEP], n, highest = all->highest;
	unsigned count = 0, at = 0, lost = 0;
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		n = strtoull(e->d_name, NULL, 10);
		if (n != 0 && count < 4 * RANGE_KEEP)
			files[count++] = n;
	}
	if (d != NULL)
		closedir(d);
	qsort(files, count, sizeof(n), by_size);
	cmp(count, >=, RANGE_KEEP, "%u files are there", count);
	cmp(files[count - 1], >=, highest, "the highest is");
	/* of the last ones that were returned, each has its file */
	for (unsigned i = 0; i < all->n && i < MOST; i++) {
		n = all->got[i];
		while (at < count && files[at] < n)
			at++;
		if (n >= files[count - RANGE_KEEP] && n != 0 &&
		    (at == count || files[at] != n))
			lost++;
	}
	is(lost, 0, "no file of the last %d is missing", RANGE_KEEP);
}

/*
 * True if all went well, and the member that is never stopped was never late.
 * (It is late when the machine stops, too, which no stopped member causes.)
 */
static bool
claim_for_a_while(void *arg)
{
	atomic_store(&all->crew.enough, false);
	atomic_store(&all->longest_ns, 0);
	crew_ended_well &= crew_run(&all->crew, PROCS,
	    getenv("LH_TEST_LONG") ? 60000 : 1500, claim_on, NULL, NULL);
	return crew_ended_well &&
	    all->longest_ns / T_NS_PER_MS < t_ms(2000);
}

int
main(void)
{
	unsigned twice = 0, n;
	char cmd[256];

	all = t_shared(sizeof(*all));
	snprintf(dir, sizeof(dir), "/dev/shm/lh-claimants.%d", getpid());
	snprintf(cmd, sizeof(cmd), "rm -rf %s && mkdir -m 700 %s", dir, dir);
	if (system(cmd) != 0)
		bail_out("cannot make %s", dir);
	ok(t_tries(3, claim_for_a_while, NULL), "%d processes claim, and "
	    "nobody waits for the stopped", PROCS);
	n = all->n < MOST ? all->n : MOST;
	qsort(all->got, n, sizeof(all->got[0]), by_size);
	for (unsigned i = 1; i < n; i++)
		twice += all->got[i] == all->got[i - 1] && all->got[i] != 0;
	cmp(n, >, 500, "%u claims, %u stops, %u kills", n, all->crew.stops,
	    all->crew.kills);
	cmp(all->crew.kills, >, 0, "some were killed");
	is(twice, 0, "no number twice");
	is(all->low, 0, "each above those that had ended");
	is(all->failed, 0, "none failed");
	ok(crew_ended_well, "they ended well");
	look_at_files();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	is(system(cmd), 0, "removed");
	return done();
}
