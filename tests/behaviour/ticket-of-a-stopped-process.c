/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G5, timing T3: a stopped process with a ticket delays those behind
 * it only by its turn; a dead one's ticket leaves the queue; when the stopped
 * one continues, its ticket has kept its place.
 *
 * Otherwise one stopped process would block a key for everybody.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS 3600000

static struct lh_ticket *mine;	/* in an actor */

static int
start(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	(void)arg;
	return lh_acquire_start(a->lh, "k", &o, &mine);
}

static int
finish(struct t_actor *a, void *arg)
{
	int error;

	(void)arg;
	while ((error = lh_ticket_finish(mine, &a->lease)) == -EAGAIN)
		t_nap();
	return error;
}

/* Held here; a ticket there, which is stopped (or killed); a waiter here. */
static bool
passed_over(void *arg)
{
	bool stop = arg != NULL;
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh_lease l = t_hold(lh, "k");
	int64_t ns;
	bool soon;

	is(t_do(a, start, NULL), 0, "a ticket");
	ok(t_await_waiters(lh, "k", 1), "waits");
	t_begin_acquire(b, "k", HOUR_MS, HOUR_MS);
	ok(t_await_waiters(lh, "k", 2), "somebody behind it");
	if (stop)
		t_stop(a->pid);
	else
		t_actor_kill(a);
	ns = t_now_ns();
	is(lh_release(lh, &l), 0, "released");
	is(t_result_within(b, T_HANG_MS), 0, "who is behind it gets the key");
	soon = t_since_ms(ns) <= T3_DEAD_MS;
	diag("after %lld ms", (long long)t_since_ms(ns));
	is(t_waiters(lh, "k"), stop ? 1 : 0, "who still waits");
	if (stop)
		t_cont(a->pid);
	t_begin_acquire(b, "other", HOUR_MS, 0);
	is(t_result(b), 0, "it has");
	is(lh_break(lh, "k", NULL, 0), 1, "the key is broken free");
	if (stop) {
		is(t_do(a, finish, NULL), 0, "the ticket's turn");
		is(t_do_release(a), 0, "released");
		t_actor_end(a);
	} else {
		t_actor_free(a);
	}
	is(t_do_release(b), 0, "released");
	t_actor_end(b);
	t_close(lh);
	return soon;
}

int
main(void)
{
	ok(t_tries(3, passed_over, "stop"), "soon, behind a stopped one");
	ok(t_tries(3, passed_over, NULL), "soon, behind a dead one");
	return done();
}
