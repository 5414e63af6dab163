/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G8: every end of a wait leaves no waiter record: granted,
 * timed out, cancelled, the holder dead or expired, the waiter killed, its
 * attachment refused.  Status and the table check say so, and records do not
 * run out however often it happens.
 *
 * Otherwise a table would slowly fill with waiters that do not exist.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 400

static void
nothing_left(struct lh *lh, const char *after)
{
	is(t_waiters(lh, "k"), 0, "%s: nobody waits", after);
	is(t_findings(lh), 0, "%s: the table is sound", after);
}

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) }, st2 = st;
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct lh_open_opts oo = t_open_opts();
	const char *table = t_table();
	struct lh_acquire_opts o = t_opts(3600000, 1);
	struct t_actor *a, *w;
	struct lh_lease l;
	struct lh *lh;
	int ended = 0, n = t_count(ROUNDS, 60);

	oo.max_leases = 640;
	is(lh_open(&lh, table, &oo), 0, "a table with few records");
	a = t_actor(table);
	w = t_actor(table);
	is(t_do_acquire(a, "k", 3600000, 0), 0, "held");

	is(t_do_acquire(w, "k", 1000, t_ms(15)), -ETIMEDOUT, "a timeout");
	nothing_left(lh, "timed out");
	for (int i = 0; i < n; i++)
		ended += lh_acquire(lh, "k", &o, &l) == -ETIMEDOUT;
	is(ended, n, "many timeouts");
	nothing_left(lh, "timed out often");
	is(lh_cancel(&cancel), 0, "cancelled");
	o.cancel = &cancel;
	o.max_wait_ms = 3600000;
	ended = 0;
	for (int i = 0; i < n; i++)
		ended += lh_acquire(lh, "k", &o, &l) == -ECANCELED;
	is(ended, n, "many cancelled waits");
	nothing_left(lh, "cancelled");

	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "one waits");
	is(t_do_release(a), 0, "released");
	is(t_result(w), 0, "granted");
	nothing_left(lh, "granted");
	is(t_do_release(w), 0, "released");

	is(lh_stats(lh, &st), 0, "statistics");
	for (int i = 0; i < n / 4; i++) {
		is(t_acquire(lh, "k", t_ms(3), T_HANG_MS, &l), 0, "short");
		is(t_do_acquire(w, "k", 3600000, T_HANG_MS), 0,
		    "granted after an expiry");
		is(t_do_release(w), 0, "released");
	}
	nothing_left(lh, "granted after an expiry");
	is(lh_stats(lh, &st2), 0, "statistics");
	cmp(st2.leases_reserved, <=, st.leases_reserved + 64,
	    "records are used again");

	is(t_do_acquire(a, "k", 3600000, 0), 0, "held");
	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "one waits");
	t_actor_kill(a);
	is(t_result(w), 0, "granted after a death");
	nothing_left(lh, "granted after a death");
	t_actor_free(a);
	a = t_actor(table);
	t_begin_acquire(a, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "one waits");
	t_actor_kill(a);
	t_actor_free(a);
	is(t_do_release(w), 0, "released");
	is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0,
	    "a killed waiter is in nobody's way");
	is(lh_release(lh, &l), 0, "released");
	nothing_left(lh, "killed");
	t_actor_end(w);
	t_close(lh);
	return done();
}
