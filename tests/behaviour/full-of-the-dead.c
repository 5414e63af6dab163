/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a table all of whose keys are held by killed processes, or by
 * leases that have expired, has room for other keys.
 *
 * Otherwise a burst of crashes would make a table useless.
 */
#include <errno.h>
#include <stdio.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define KEYS 8

static int
hold_all(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts((int64_t)(intptr_t)arg, 0);
	struct lh_lease l;
	char name[32];

	for (int i = 0; i < KEYS; i++) {
		snprintf(name, sizeof(name), "full-%d", i);
		if (lh_acquire(a->lh, name, &o, &l) != 0)
			return -1;
	}
	return 0;
}

static void
full(bool killed)
{
	struct lh_open_opts o = t_open_opts();
	int64_t ttl_ms = killed ? 3600000 : t_ms(100);
	const char *table = t_table();
	struct t_actor *a;
	struct lh_lease l;
	struct lh *lh;

	o.max_keys = KEYS;
	is(lh_open(&lh, table, &o), 0, "a table of %d keys", KEYS);
	a = t_actor(table);
	t_begin(a, hold_all, (void *)(intptr_t)ttl_ms);
	is(t_result(a), 0, "all of them are held");
	if (killed)
		is(t_acquire(lh, "new", 60000, 0, &l), -ENOSPC, "it is full");
	if (killed)
		t_actor_kill(a);
	else
		t_sleep_ms(ttl_ms + 20);
	is(t_acquire(lh, "new", 60000, 0, &l), 0, "%s: there is room",
	    killed ? "killed" : "run out");
	is(lh_release(lh, &l), 0, "released");
	if (killed)
		t_actor_free(a);
	else
		t_actor_end(a);
	t_close(lh);
}

int
main(void)
{
	full(true);
	full(false);
	return done();
}
