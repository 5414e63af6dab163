/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G9: the renewing thread of a live handle of a cluster key
 * is stopped before each of its loads while it checks this host's right.
 * Meanwhile the lease is lost, and the host's next right begins.  The handle
 * must not become valid again by the new right.
 *
 * Otherwise a handle would say "valid" for a lease that was lost with the old
 * right, while another process holds the key.
 */
#include <errno.h>
#include <sched.h>
#include "lent.h"

#define PLACES 30
#define D1_MS 60

static __thread bool is_main;
static _Atomic int left;	/* loads of the renewing thread; 0: not armed */
static _Atomic bool held, go;

static void
on_load(const char *point, const void *addr)
{
	(void)addr;
	if (is_main || left == 0 || strcmp(point, "load") != 0 || --left != 0)
		return;
	held = true;
	while (!go)
		sched_yield();
}

static bool
stopped_at(struct lh *lh, struct lh *other, int n)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lock *l;
	struct lh_lease q;
	int valid = 0;

	held = go = false;
	lent_give(D1_MS);
	is(lh_lock_open(lh, LENT_KEY, NULL, &l), 0, "a handle");
	is(lh_lock_acquire(l, &o), 0, "acquires: %s", lh_error_detail());
	t_sleep_ms(10);
	left = n;
	for (int i = 0; i < D1_MS - 15 && !held; i++)
		t_sleep_ms(1);
	if (!held)
		left = 0;
	t_sleep_ms(20);
	t_sleep_ms(t_ms(D1_MS));
	(void)lhi_cluster_end(&lent_shim->v);
	(void)lh_break(lent_shim, LENT_KEY, NULL, 0);
	lent_give(REPLAY_LONG_MS);
	is(replay_try(other, LENT_KEY, &q), 0,
	    "another process acquires the key");
	go = true;
	for (int64_t end = t_now_ns() + 15000000; t_now_ns() < end;)
		valid += lh_lock_valid(l) == 0;
	is(valid, 0, "at load %d (%s): it is not valid", n, held ? "held" :
	    "not held");
	is(lh_release(other, &q), 0, "released");
	is(lh_lock_close(l), 0, "closed");
	return held;
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh *lh, *other;

	is_main = true;
	lhi_hook = on_load;
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	lent_begin(table);
	for (int n = 1; n <= PLACES; n++)
		(void)stopped_at(lh, other, n);
	t_close(lh);
	t_close(other);
	t_close(lent_shim);
}

int
main(void)
{
	t_part(play_all, 60, "live right");
	return done();
}
