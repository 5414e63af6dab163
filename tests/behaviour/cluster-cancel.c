/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: the switch ends every wait for a cluster key: while the shim is
 * asked, in the table's queue behind it, and between the turns of a shim that
 * promises and grants nothing.  Tickets end in the same places with the same
 * results.
 *
 * Otherwise a program could not end its waits while the cluster is down.
 */
#include <errno.h>
#include <poll.h>
#include <leasehold/ticket.h>
#include "op/cluster_check.h"
#include "support/actor.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct t_shim *s;
static struct lh_cancel stop;
static _Atomic int result;

static void *
acquire(void *arg)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), t_long(30000));
	struct lh_lease l;

	o.cancel = &stop;
	result = lh_acquire(lh, arg, &o, &l);
	return NULL;
}

static void
cancelled(const char *what, int says, bool queues)
{
	static char key[] = "cluster:k";
	struct lh_cancel fresh = LH_CANCEL_INIT;
	uint32_t asked = s->wants.count;
	unsigned long t;
	int64_t began;

	t_shim_recall(s);
	stop = fresh;
	result = 1;
	s->says = says;
	t = t_thread(acquire, key);
	ok(t_await(&s->wants, asked + 1, T_HANG_MS), "%s: it is asked", what);
	if (queues)
		ok(t_await_waiters(lh, key, 1), "%s: it waits", what);
	else
		t_sleep_ms(t_long(60));
	is(result, 1, "%s: it goes on", what);
	began = t_now_ns();
	is(lh_cancel(&stop), 0, "%s: cancelled", what);
	(void)t_join(t);
	is(result, -ECANCELED, "%s: and so it ends", what);
	ok(t_since_ms(began) < T3_MS, "%s: soon", what);
	is(t_waiters(lh, key), 0, "%s: nobody waits", what);
	s->says = SHIM_GRANTS;
}

static struct lh_ticket *
start(const char *key, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), wait_ms);
	struct lh_ticket *t = NULL;
	int error = lh_acquire_start(lh, key, &o, &t);

	if (error != 0)
		bail_out("no ticket: %s", lh_error_detail());
	return t;
}

static int
outcome(struct lh_ticket *t, struct lh_lease *l)
{
	struct pollfd on = { lh_ticket_fd(t), POLLIN, 0 };

	if (poll(&on, 1, (int)T_HANG_MS) != 1)
		return T_HUNG;
	return lh_ticket_finish(t, l);
}

static void
tickets(void)
{
	struct lh_ticket *t, *u;
	struct lh_lease l, m;
	struct lh_acquire_opts o = t_opts(t_long(20000), t_long(5000));

	t_shim_recall(s);
	is(outcome(start("cluster:t", t_long(8000)), &l), 0,
	    "a ticket is granted: %s", lh_error_detail());
	ok(token_cluster(l.token) && lh_verify(lh, &l) == 0, "and good");
	t = start("cluster:t", t_long(8000));
	is(lh_ticket_finish(t, &m), -EAGAIN, "a second one waits");
	is(lh_release(lh, &l), 0, "released");
	is(outcome(t, &m), 0, "then it is its turn: %s", lh_error_detail());
	is(lh_release(lh, &m), 0, "released");
	t_shim_recall(s);
	s->says = SHIM_QUEUES;
	t = start("cluster:t", t_long(30000));
	u = start("cluster:t", t_long(150));
	ok(t_await_waiters(lh, "cluster:t", 2), "two wait behind the shim");
	is(outcome(u, &m), -ETIMEDOUT, "one of them is out of time: %s",
	    lh_error_detail());
	s->allowed++;
	is(outcome(t, &l), 0, "the other one is granted: %s",
	    lh_error_detail());
	is(lh_release(lh, &l), 0, "released");
	t_shim_recall(s);
	s->says = SHIM_SILENT;
	t = start("cluster:t", t_long(30000));
	t_sleep_ms(t_long(30));
	is(lh_ticket_cancel(t), 0, "given up while the shim is asked");
	s->says = SHIM_LIES;
	t = start("cluster:t", t_long(30000));
	t_sleep_ms(t_long(30));
	is(lh_ticket_cancel(t), 0, "and while it promises and gives nothing");
	t = start("cluster:t", t_long(200));
	is(outcome(t, &l), -ETIMEDOUT, "which comes to nothing: %s",
	    lh_error_detail());
	s->says = SHIM_AWAY;
	is(lh_acquire_start(lh, "cluster:t", &o, &t) == 0 ? outcome(t, &l) :
	    -EHOSTUNREACH, -EHOSTUNREACH, "away: %s", lh_error_detail());
	is(t_waiters(lh, "cluster:t") + t_holders(lh, "cluster:t"), 0,
	    "nothing is left");
	s->says = SHIM_GRANTS;
	is(outcome(start("cluster:t", t_long(8000)), &l), 0, "and back: %s",
	    lh_error_detail());
	is(lh_release(lh, &l), 0, "released");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	s = t_shim(table);
	cancelled("asked", SHIM_SILENT, false);
	cancelled("queued", SHIM_QUEUES, true);
	cancelled("without a grant", SHIM_LIES, false);
	tickets();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 200, "cluster cancel");
	return done();
}
