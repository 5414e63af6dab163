/* SPDX-License-Identifier: MIT */
/*
 * Old mappings and new tables, with one directory of ranges, raise at once.
 *
 * Eight processes grant themselves keys in scope local, with ranges of 64
 * tokens; the table's object is removed by hand again and again, so that some
 * use what is gone, some its successor, some that one's.  All but one stop and
 * die at random points of claiming and raising.  Every grant is noted: when the
 * call began and ended, key, token, table.
 *
 * These must hold.  No token of a key comes twice, whatever table it came
 * from.  Within a table a key's tokens are in the order of the grants.  A
 * table's tokens are above all that were granted before anybody had opened it.
 * Nobody waits for the stopped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fence/crew.h"
#include "proc/attachment.h"
#include "fence/range.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCS 8
#define KEYS 3
#define MOST 1200000		/* three goes */
#define TABLES 4096
#define REMOVE_MS 25

struct grant {
	uint64_t token, table;
	int64_t began_ns, ended_ns;
	unsigned key;
};

static struct log {
	struct crew crew;
	_Atomic unsigned n;
	_Atomic unsigned opened, stale, odd;
	_Atomic int64_t longest_ns;	/* of the one who is never stopped */
	struct {
		_Atomic uint64_t uuid;
		_Atomic int64_t since_ns;	/* the first open's beginning */
	} tables[TABLES];
	struct grant grants[MOST];
} *all;

static char dir[64];
static const char *table;
static int64_t removed_ns;
static bool crew_ended_well = true;

static struct lh_open_opts
options(void)
{
	struct lh_open_opts o = t_open_opts();

	o.max_keys = 64;
	o.fence_dir = dir;
	o.flags = LH_NO_CLOCK_FLOOR;
	return o;
}

/* When was it first opened? */
static void
note_table(uint64_t uuid, int64_t began_ns)
{
	unsigned at = (unsigned)(uuid % TABLES);
	uint64_t is = 0;
	int64_t since;

	while (!atomic_compare_exchange_strong(&all->tables[at].uuid, &is,
	    uuid) && is != uuid) {
		at = (at + 1) % TABLES;
		is = 0;
	}
	since = atomic_load(&all->tables[at].since_ns);
	while ((since == 0 || since > began_ns) &&
	    !atomic_compare_exchange_weak(&all->tables[at].since_ns, &since,
	    began_ns))
		;
}

static int64_t
table_since(uint64_t uuid)
{
	unsigned at = (unsigned)(uuid % TABLES);

	while (all->tables[at].uuid != uuid)
		at = (at + 1) % TABLES;
	return all->tables[at].since_ns;
}

/* One grant; false: this mapping is of no use any more. */
static bool
grant(struct lh *lh)
{
	struct lh_acquire_opts a = t_opts(3600000, 0);
	struct grant g = { .key = crew_chance(2), .table = lh->v.uuid[0] };
	char key[] = "a";
	struct lh_lease l;
	unsigned i;
	int error;

	g.key += crew_chance(3);
	key[0] = (char)('a' + g.key);
	a.scope = LH_LOCAL;
	g.began_ns = t_now_ns();
	error = lh_acquire(lh, key, &a, &l);
	g.ended_ns = t_now_ns();
	if (crew_me == 0 && g.ended_ns - g.began_ns > all->longest_ns)
		all->longest_ns = g.ended_ns - g.began_ns;
	if (error == 0) {
		g.token = l.token;
		i = atomic_fetch_add(&all->n, 1);
		if (i >= MOST)
			return false;
		all->grants[i] = g;
		(void)lh_release(lh, &l);
	} else if (error == -ESTALE) {
		atomic_fetch_add(&all->stale, 1);
		return false;
	} else if (error != -EAGAIN) {
		diag("%d: %s", error, lh_error_detail());
		atomic_fetch_add(&all->odd, 1);
		return false;
	}
	return true;
}

static int
rival(void *arg)
{
	struct lh_open_opts o = options();
	int64_t began_ns;
	struct lh *lh;
	int error;

	while (!atomic_load(&all->crew.enough) && all->n < MOST) {
		began_ns = t_now_ns();
		error = lh_open(&lh, table, &o);
		if (error == -ESTALE || error == -ENOENT)
			continue;		/* removed just now */
		if (error != 0) {
			diag("%d: %s", error, lh_error_detail());
			atomic_fetch_add(&all->odd, 1);
			return 1;
		}
		note_table(lh->v.uuid[0], began_ns);
		atomic_fetch_add(&all->opened, 1);
		while (!atomic_load(&all->crew.enough) && grant(lh))
			;
		(void)lh_close(lh);
	}
	return 0;
}

static void
remove_at_times(void *arg)
{
	if (t_now_ns() < removed_ns + REMOVE_MS * T_NS_PER_MS)
		return;
	(void)unlink(t_object(table));
	removed_ns = t_now_ns();
}

/* --- what came of it ----------------------------------------------------- */

static int
by_token(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->token < y->token ? -1 : x->token > y->token;
}

static void
judge(void)
{
	unsigned n = 0, noted = all->n < MOST ? all->n : MOST;
	unsigned twice = 0, order = 0, below = 0, crossed = 0;
	struct grant *g = all->grants;

	/* of who was killed before it had noted it all there is nothing */
	for (unsigned i = 0; i < noted; i++)
		if (g[i].token != 0)
			g[n++] = g[i];
	qsort(g, n, sizeof(*g), by_token);
	for (unsigned i = 0; i < n; i++) {
		int64_t since = table_since(g[i].table);

		if (i > 0 && g[i].key == g[i - 1].key) {
			twice += g[i].token == g[i - 1].token;
			crossed += g[i].table != g[i - 1].table;
		}
		for (unsigned j = i + 1; j < n && j < i + 300 &&
		    g[j].key == g[i].key; j++) {
			if (g[j].table == g[i].table)
				order += g[j].ended_ns < g[i].began_ns;
			else
				below += g[j].ended_ns < since;
		}
	}
	cmp(n, >, 1000, "%u grants, %u opens, %u stops, %u kills", n,
	    all->opened, all->crew.stops, all->crew.kills);
	cmp(crossed, >, 10, "keys went on in another table %u times", crossed);
	cmp(all->stale, >, 0, "%u times an old mapping was refused",
	    all->stale);
	is(twice, 0, "no token twice");
	is(order, 0, "a key's tokens are in the order of its grants");
	is(below, 0, "a table's tokens are above all that were before it");
	is(all->odd, 0, "no other error");
	ok(crew_ended_well, "they ended well");
}

/*
 * True if all went well, and the member that is never stopped was never late.
 * (It is late when the machine stops, too, which no stopped member causes.)
 */
static bool
contend(void *arg)
{
	atomic_store(&all->crew.enough, false);
	atomic_store(&all->longest_ns, 0);
	crew_ended_well &= crew_run(&all->crew, PROCS,
	    getenv("LH_TEST_LONG") ? 60000 : 2500, rival, NULL,
	    remove_at_times);
	return crew_ended_well &&
	    all->longest_ns / T_NS_PER_MS < t_ms(2000);
}

int
main(void)
{
	char cmd[256];

	all = t_shared(sizeof(*all));
	lhi_range_bits = 6;
	table = t_table();
	snprintf(dir, sizeof(dir), "/dev/shm/lh-rivals.%d", getpid());
	snprintf(cmd, sizeof(cmd), "rm -rf %s && mkdir -m 700 %s", dir, dir);
	if (system(cmd) != 0)
		bail_out("cannot make %s", dir);
	ok(t_tries(3, contend, NULL), "%d processes, and nobody waits for the "
	    "stopped", PROCS);
	judge();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	is(system(cmd), 0, "removed");
	return done();
}
