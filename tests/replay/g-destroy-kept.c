/* SPDX-License-Identifier: MIT */
/*
 * lh_destroy() (leasehold/key.h): a key that turns out to be in use stays kept,
 * also if another process made it a kept key at the same time.  The destroyer
 * is stopped before each of its accesses to shared memory, while another
 * process keeps the key and holds it.
 *
 * Otherwise the key would be evicted as soon as it is idle, although a process
 * had asked to keep it.
 */
#include "sweep.h"

struct destroy {
	struct sweep s;
	struct lh *lh;
	int n;
};

static int
destroy(void *arg)
{
	struct destroy *d = arg;

	sweep_now(&d->s, NULL, d->n);
	return lh_destroy(d->lh, "k");
}

static void
play_all(void)
{
	const char *table = sweep_begin();
	struct lh *lh = replay_open(table, 0);
	struct destroy d = { .lh = replay_open(table, 0) };
	bool stands = true;
	struct lh_lease l;
	int n, kept = 0;

	for (n = 1; stands; n++) {
		(void)lh_destroy(lh, "k");
		is(replay_try(lh, "k", &l), 0, "the key exists");
		is(lh_release(lh, &l), 0, "and is free");
		d.n = n;
		sweep_go(&d.s, destroy, &d);
		stands = sweep_stands(&d.s);
		is(lh_key_create(lh, "k"), 0, "another process keeps it");
		is(replay_try(lh, "k", &l), 0, "and holds it");
		(void)sweep_end(&d.s);
		is(lh_release(lh, &l), 0, "until the destroyer has ended");
		if (lh_evict(lh, "k", 0) == 0)
			kept++;
		else
			diag("not kept: stopped before access %d", n);
	}
	is(kept, n - 1, "the key stays, wherever its destroyer was stopped");
	t_close(d.lh);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 0, "destroy kept");
	return done();
}
