/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a session ends with a hundred thousand shared leases on one
 * key, by lh_close() or by death.  That takes a time in proportion to their
 * number, not to its square, and a writer acquires the key then.
 *
 * Otherwise the end of one process would stop all users of a key for minutes.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define READERS 100000
#define END_MS t_ms(5000)

static int
read_all(struct lh *lh, int n)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease l;
	int good = 0;

	o.mode = LH_SHARED;
	for (int i = 0; i < n; i++)
		good += lh_acquire(lh, "k", &o, &l) == 0;
	return good;
}

static int
crowd(struct t_actor *a, void *arg)
{
	int n = (int)(intptr_t)arg;

	return read_all(a->lh, n) == n ? 0 : -1;
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	int n = t_count(READERS, 1000);
	struct lh_lease l;
	struct lh *lh, *many;
	struct t_actor *a;
	int64_t ns;

	o.max_leases = 4 * READERS;
	is(lh_open(&lh, table, &o), 0, "a table");
	is(lh_open(&many, table, &o), 0, "an attachment");
	is(read_all(many, n), n, "reads %d times", n);
	is(t_acquire(lh, "k", 1000, 0, &l), -EAGAIN, "no writer gets in");
	ns = t_now_ns();
	is(lh_close(many), 0, "it closes");
	cmp(t_since_ms(ns), <=, END_MS, "soon");
	is(t_acquire(lh, "k", 1000, 0, &l), 0, "a writer has the key");
	is(lh_release(lh, &l), 0, "and gives it back");

	a = t_actor(table);
	t_begin(a, crowd, (void *)(intptr_t)n);
	is(t_result(a), 0, "another one reads %d times", n);
	ns = t_now_ns();
	t_actor_kill(a);
	is(t_acquire(lh, "k", 1000, END_MS, &l), 0, "killed: a writer has it");
	cmp(t_since_ms(ns), <=, END_MS, "soon");
	is(lh_release(lh, &l), 0, "and gives it back");
	t_actor_free(a);
	t_close(lh);
	return done();
}
