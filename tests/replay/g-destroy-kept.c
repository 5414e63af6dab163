/* SPDX-License-Identifier: MIT */
/*
 * lh_destroy() of a key that turns out to be in use leaves it kept, also if it
 * was made so in the midst of that.
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
		is(replay_try(lh, "k", &l), 0, "a key");
		is(lh_release(lh, &l), 0, "which is free");
		d.n = n;
		sweep_go(&d.s, destroy, &d);
		stands = sweep_stands(&d.s);
		is(lh_key_create(lh, "k"), 0, "somebody keeps it");
		is(replay_try(lh, "k", &l), 0, "and holds it");
		(void)sweep_end(&d.s);
		is(lh_release(lh, &l), 0, "to the end");
		if (lh_evict(lh, "k", 0) == 0)
			kept++;
		else
			diag("not kept: stopped before access %d", n);
	}
	is(kept, n - 1, "it stays, wherever who destroys it was stopped");
	t_close(d.lh);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 0, "destroy kept");
	return done();
}
