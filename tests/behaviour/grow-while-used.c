/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a table grows while it is used: eight processes make a hundred
 * thousand keys, each of them wanted by two, in a table that begins with a few
 * thousand.  No call fails, no earlier lease is lost, no key is in the table
 * twice, and a later process finds each.
 *
 * Otherwise two processes could make one key twice during growth, and both
 * would hold it.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define PROCS 8
#define HELD 100

static struct shared {
	int n;
	_Atomic int next;
	_Atomic int failures, busy, lost;
} *sh;

static void
name_of(char *buf, int i)
{
	snprintf(buf, 128, i % 7 == 0 ? "%d/%060d" : "%d/%d", i, i);
}

static int
make(struct t_actor *a, void *arg)
{
	struct lh_lease held[HELD], l;
	char name[128];
	int i;

	for (i = 0; i < HELD; i++) {
		snprintf(name, sizeof(name), "own-%d-%d", i,
		    (int)(intptr_t)arg);
		if (t_acquire(a->lh, name, 3600000, 0, &held[i]) != 0)
			atomic_fetch_add(&sh->failures, 1);
	}
	/* each number twice, mostly by two at about the same time */
	while ((i = atomic_fetch_add(&sh->next, 1) / 2) < sh->n) {
		int r;

		name_of(name, i);
		r = t_acquire(a->lh, name, 3600000, 0, &l);
		if (r == 0)
			r = lh_release(a->lh, &l);
		else if (r == -EAGAIN)
			atomic_fetch_add(&sh->busy, 1);
		if (r != 0 && r != -EAGAIN)
			atomic_fetch_add(&sh->failures, 1);
	}
	for (i = 0; i < HELD; i++) {
		if (lh_verify(a->lh, &held[i]) != 0 ||
		    lh_release(a->lh, &held[i]) != 0)
			atomic_fetch_add(&sh->lost, 1);
	}
	return 0;
}

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	const char *table = t_table();
	struct t_actor *a[PROCS];
	struct lh_acquire_opts old = t_opts(3600000, 0);
	struct lh_lease l;
	int found = 0;
	char name[128];
	struct lh *lh;

	sh = t_shared(sizeof(*sh));
	sh->n = t_count(100000, 6000);
	is(lh_open(&lh, table, &o), 0, "a table with the usual sizes");
	for (int i = 0; i < PROCS; i++)
		a[i] = t_actor(table);
	for (intptr_t i = 0; i < PROCS; i++)
		t_begin(a[i], make, (void *)i);
	for (int i = 0; i < PROCS; i++)
		is(t_result_within(a[i], 5 * T_HANG_MS), 0, "process %d", i);
	diag("%d of %d acquires found the key held", sh->busy, 2 * sh->n);
	is(sh->failures, 0, "no call failed");
	is(sh->lost, 0, "no lease was lost");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.keys, sh->n + PROCS * HELD, "every key is there, once");
	old.flags = LH_NO_CREATE;
	for (int i = 0; i < sh->n; i++) {
		name_of(name, i);
		found += lh_acquire(lh, name, &old, &l) == 0 &&
		    lh_release(lh, &l) == 0;
	}
	is(found, sh->n, "and is found");
	for (int i = 0; i < PROCS; i++)
		t_actor_end(a[i]);
	t_close(lh);
	return done();
}
