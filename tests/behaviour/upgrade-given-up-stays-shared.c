/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3, G8 and G9, timing T4: a wait to upgrade that fails leaves the
 * lease unchanged: its time is over, never early, or it is cancelled; readers
 * that were kept out acquire.  The lease can be extended meanwhile; if it
 * expires or is broken, the call returns -ESTALE, and it is lost for good.
 *
 * Otherwise a failed upgrade would cost the reader its lease.
 */
#include <errno.h>
#include <string.h>
#include "support/part.h"
#include "upgrade.h"

static struct lh *lh;
static struct t_actor *r;
static struct lh_cancel cancel = LH_CANCEL_INIT;

static void
unchanged(struct lh_lease *l, const struct lh_lease *was)
{
	ok(memcmp(l, was, sizeof(*l)) == 0, "the lease is as it was");
	is(lh_verify(lh, l), 0, "and held");
	is(t_waiters(lh, "k"), 0, "nobody is left in the queue");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "readers come and go");
}

static bool
timed_out(void *arg)
{
	struct lh_lease l = t_read_hold(lh, "k"), was = l;
	int64_t ns = t_now_ns(), took;

	(void)arg;
	is(t_upgrade(lh, &l, 50), -ETIMEDOUT, "its time is up");
	took = t_now_ns() - ns;
	ok(t_has_detail(), "with a reason");
	cmp(took, >=, 50 * T_NS_PER_MS, "not early");
	unchanged(&l, &was);
	is(lh_release(lh, &l), 0, "released");
	return took / T_NS_PER_MS - 50 <= T4_MS;
}

static void *
throw_switch(void *arg)
{
	(void)arg;
	(void)t_await_waiters(lh, "k", 1);
	lh_cancel(&cancel);
	return NULL;
}

static void
cancelled(void)
{
	struct lh_lease l = t_read_hold(lh, "k"), was = l;
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	unsigned long t = t_thread(throw_switch, NULL);

	o.cancel = &cancel;
	is(lh_convert_wait(lh, &l, LH_EXCLUSIVE, &o), -ECANCELED, "cancelled");
	t_join(t);
	unchanged(&l, &was);
	is(lh_release(lh, &l), 0, "released");
}

static void
those_outside_come_in(void)
{
	struct t_actor *q = t_actor(lh_table_name(lh));
	struct lh_lease l = t_read_hold(lh, "k"), l2;
	int64_t ended;

	t_begin_read(q, "k", HOUR_MS, HOUR_MS);
	is(t_result(q), 0, "a reader");
	is(t_read(lh, "k", HOUR_MS, 0, &l2), 0, "and another");
	is(t_do_release(q), 0, "left");
	t_begin_upgrade(r, t_long(200));
	ok(t_await_waiters(lh, "k", 1), "an upgrader waits");
	t_begin_read(q, "k", HOUR_MS, HOUR_MS);
	ok(t_await_waiters(lh, "k", 2), "a reader stays outside");
	is(t_result(r), -ETIMEDOUT, "the upgrader gives up");
	is(t_result(q), 0, "the reader comes in");
	ended = t_after_ms(q, r->ended_ns);
	cmp(ended, <=, T3_MS, "at once");
	is(t_do_release(q), 0, "released");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(lh, &l2), 0, "released");
	t_actor_end(q);
}

static void
runs_out(void)
{
	struct lh_lease l, l2;

	is(t_read(lh, "k", t_long(150), 0, &l), 0, "a lease that ends soon");
	is(t_upgrade(lh, &l, HOUR_MS), -ESTALE, "it runs out: said so");
	cmp(t_now_ns(), >=, l.expires_ns, "not early");
	is(lh_verify(lh, &l), -ESTALE, "it is lost");
	is(t_waiters(lh, "k"), 0, "nobody is left in the queue");
	is(t_read(lh, "k", HOUR_MS, 0, &l2), 0, "the key is read");
	is(lh_release(lh, &l2), 0, "released");
}

struct longer {
	struct lh_lease l;
	int result;
};

static void *
keep(void *arg)
{
	struct longer *x = arg;
	struct lh_lease copy = x->l;

	for (int i = 0; i < 4; i++) {
		t_sleep_ms(t_long(60));
		x->result = lh_extend(lh, &copy, t_long(200));
		if (x->result != 0)
			return NULL;
	}
	t_do_release(r);
	return NULL;
}

static void
extended(void)
{
	struct longer x;
	struct lh_lease l;
	unsigned long t;

	is(t_read(lh, "k", t_long(200), 0, &l), 0, "a lease that ends soon");
	x.l = l;
	t = t_thread(keep, &x);
	is(t_upgrade(lh, &l, HOUR_MS), 0, "extended meanwhile: upgraded");
	t_join(t);
	is(x.result, 0, "every time");
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_release(lh, &l), 0, "released");
	is(t_do_read(r, "k", HOUR_MS, 0), 0, "the reader again");
}

static void *
break_it(void *arg)
{
	struct lh_lease *l = arg;

	(void)t_await_waiters(lh, "k", 1);
	if (lh_break(lh, "k", l->id, l->token) != 1)
		fail("not broken");
	return NULL;
}

static void
broken(void)
{
	struct lh_lease l = t_read_hold(lh, "k"), copy = l;
	unsigned long t = t_thread(break_it, &copy);

	is(t_upgrade(lh, &l, HOUR_MS), -ESTALE, "broken: said so");
	t_join(t);
	is(t_waiters(lh, "k"), 0, "nobody is left in the queue");
}

static void
play(void)
{
	const char *table = t_table();

	r = t_actor(table);
	lh = t_open(table);
	is(t_do_read(r, "k", HOUR_MS, 0), 0, "somebody reads");
	ok(t_tries(3, timed_out, NULL), "and at most %lld ms late",
	    (long long)T4_MS);
	cancelled();
	those_outside_come_in();
	runs_out();
	extended();
	broken();
	t_actor_end(r);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 140, "upgrade given up stays shared");
	return done();
}
