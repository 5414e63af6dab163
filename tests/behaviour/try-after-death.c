/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, amendment C16, issue 21 D1: a try never says "busy" of a holder
 * that is dead and reaped.  Each of a hundred tries right after waitpid()
 * acquires the key, in each mode and under each policy, however the holder
 * ended.
 *
 * Otherwise programs ported from robust mutexes, which try once, would fail.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 25
#define KEYS 3			/* a key is tried again soon */

struct way {
	const char *table;
	const char *name;
	uint32_t mode, policy;
	bool killed;		/* else it exits without closing */
	char key[8];
};

static int
hold_and_end(void *arg)
{
	const struct way *w = arg;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh *lh = t_open(w->table);
	struct lh_lease l;

	more.policy = w->policy;
	o.more = &more;
	o.mode = w->mode;
	if (lh_acquire(lh, w->key, &o, &l) != 0)
		bail_out("the child cannot acquire: %s", lh_error_detail());
	if (w->killed)
		(void)kill(getpid(), SIGKILL);
	_exit(0);
}

static void
play(struct lh *lh, struct way *w)
{
	int busy = 0, other = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct lh_lease l;
		int error;

		(void)snprintf(w->key, sizeof(w->key), "k%d", i % KEYS);
		(void)t_reap(t_fork(hold_and_end, w), T_HANG_MS);
		error = t_acquire(lh, w->key, 1000, 0, &l);
		busy += error == -EAGAIN;
		other += error != 0 && error != -EAGAIN;
		while (error == -EAGAIN)
			error = t_acquire(lh, w->key, 1000, 0, &l);
		if (error == 0)
			(void)lh_release(lh, &l);
	}
	is(busy, 0, "%s: no try returns busy", w->name);
	is(other, 0, "%s: nor anything else", w->name);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct way ways[] = {
		{ table, "exits", LH_EXCLUSIVE, LH_POLICY_LEASE, false, "" },
		{ table, "killed", LH_EXCLUSIVE, LH_POLICY_LEASE, true, "" },
		{ table, "strict", LH_EXCLUSIVE, LH_POLICY_STRICT, true, "" },
		{ table, "shared", LH_SHARED, LH_POLICY_LEASE, true, "" },
		{ table, "shared, strict", LH_SHARED, LH_POLICY_STRICT, false,
		    "" },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		play(lh, &ways[i]);
	t_close(lh);
	return done();
}
