/* SPDX-License-Identifier: MIT */
/* test: slow 3 */
/*
 * Guarantee G1: several keys are acquired in one order whatever the order of
 * the items.  Four processes ask for overlapping sets in opposite orders,
 * without a time limit.  They never wait for each other in a circle, until each
 * has acquired thousands of sets.  No two hold one key at once, which counters
 * under the keys show.
 *
 * Otherwise programs that name their keys in different orders would deadlock.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCS 4
#define KEYS 6
#define SET 4
#define SETS 3000		/* of each; check-all: ten times */

struct shared {
	const char *table;
	_Atomic int stop;
	_Atomic int next;
	_Atomic uint32_t inside[KEYS];	/* exclusive holders, now */
	_Atomic uint64_t done[PROCS];
	_Atomic int clash;
};

static const char *const names[KEYS] = { "k0", "k1", "k2", "k3", "k4", "k5" };

/* Sets that begin anywhere, forwards or backwards. */
static void
choose(struct lh_item items[SET], int which[SET], int me, uint64_t round)
{
	for (int i = 0; i < SET; i++) {
		int at = (int)(round + (uint64_t)i) % KEYS;

		which[i] = me % 2 == 0 ? at : KEYS - 1 - at;
		items[i] = (struct lh_item){ .key = names[which[i]],
		    .mode = (round + (uint64_t)i) % 5 == 0 ? LH_SHARED :
		    LH_EXCLUSIVE };
	}
}

static int
work(void *arg)
{
	struct shared *s = arg;
	struct lh_acquire_opts o = t_opts(60000, LH_WAIT_FOREVER);
	struct lh *lh = t_open(s->table);
	int me = atomic_fetch_add(&s->next, 1), which[SET];
	struct lh_item items[SET];
	struct lh_lease l[SET];

	for (uint64_t n = 0; !atomic_load(&s->stop); n++) {
		choose(items, which, me, n);
		is(lh_acquire_many(lh, items, SET, &o, l), 0, "had");
		for (int i = 0; i < SET; i++)
			if (items[i].mode == LH_EXCLUSIVE &&
			    atomic_fetch_add(&s->inside[which[i]], 1) != 0)
				atomic_store(&s->clash, 1);
		for (int i = 0; i < SET; i++)
			if (items[i].mode == LH_EXCLUSIVE)
				atomic_fetch_sub(&s->inside[which[i]], 1);
		is(lh_release_many(lh, l, SET), 0, "released");
		atomic_fetch_add(&s->done[me], 1);
	}
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

int
main(void)
{
	struct shared *s = t_shared(sizeof(*s));
	uint64_t times = getenv("LH_TEST_LONG") ? 10 : 1;
	pid_t pids[PROCS];
	int stuck = 0;
	int64_t from = t_now_ns();
	struct lh *lh;

	s->table = t_table();
	lh = t_open(s->table);
	for (int i = 0; i < PROCS; i++)
		pids[i] = t_fork(work, s);
	for (int i = 0; i < PROCS; i++)
		while (atomic_load(&s->done[i]) < times * SETS &&
		    t_since_ms(from) < (int64_t)times * T_HANG_MS)
			t_sleep_ms(5);
	for (int i = 0; i < PROCS; i++)
		stuck += atomic_load(&s->done[i]) < times * SETS;
	atomic_store(&s->stop, 1);
	for (int i = 0; i < PROCS; i++)
		is(t_reap(pids[i], T_HANG_MS), 0, "it ended (%" PRIu64
		    " sets)", atomic_load(&s->done[i]));
	is(stuck, 0, "everyone got on to the end");
	is(atomic_load(&s->clash), 0, "nobody met another one");
	for (int i = 0; i < KEYS; i++)
		is(t_holders(lh, names[i]) + t_waiters(lh, names[i]), 0,
		    "'%s' is free", names[i]);
	t_close(lh);
	return done();
}
