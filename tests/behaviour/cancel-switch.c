/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8, lh_cancel(): the switch works before a wait begins, while it
 * lasts, twice, for several waits at once and after they have ended.  A
 * cancelled try leaves nothing that could hold the key later, and a grant that
 * was made is kept.
 *
 * Otherwise a program could not end its waits in time, or would lose a key that
 * it was granted.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define MANY	8
#define RACES	200

static struct lh *lh;

struct wait {
	struct lh_cancel *cancel;
	struct lh_lease lease;
	const char *key;
	int64_t wait_ms;
};

static void *
wait_for_it(void *arg)
{
	struct wait *w = arg;
	struct lh_acquire_opts o = t_opts(3600000, w->wait_ms);

	o.cancel = w->cancel;
	return (void *)(intptr_t)lh_acquire(lh, w->key, &o, &w->lease);
}

static void
before(void)
{
	struct lh_cancel c = LH_CANCEL_INIT;
	struct wait w = { .cancel = &c, .key = "k", .wait_ms = 3600000 };
	int64_t began_ns = t_now_ns();
	int r;

	is(lh_cancel(&c), 0, "cancelled before the wait");
	is((intptr_t)wait_for_it(&w), -ECANCELED, "it ends at once");
	ok(t_has_detail(), "with a reason");
	is((intptr_t)wait_for_it(&w), -ECANCELED, "and so does the next");
	is(lh_cancel(&c), 0, "cancelled again");
	is((intptr_t)wait_for_it(&w), -ECANCELED, "it stays so");
	cmp(t_since_ms(began_ns), <=, t_ms(1000), "without waiting");
	/* a key that is free needs no wait: both answers are right, but a
	 * grant must be one and a refusal must leave nothing */
	w.key = "free";
	r = (int)(intptr_t)wait_for_it(&w);
	ok(r == 0 || r == -ECANCELED, "a free key is granted or refused");
	if (r == 0)
		is(lh_release(lh, &w.lease), 0, "granted: released");
	else
		is(t_holders(lh, "free") <= 0, 1, "refused: not held");
}

static void
during(void)
{
	struct lh_cancel c = LH_CANCEL_INIT;
	struct wait w[MANY];
	unsigned long threads[MANY];
	int cancelled = 0;

	for (int i = 0; i < MANY; i++) {
		w[i] = (struct wait){ .cancel = &c, .key = i & 1 ? "k" : "l",
		    .wait_ms = i & 2 ? LH_WAIT_FOREVER : 3600000 };
		threads[i] = t_thread(wait_for_it, &w[i]);
	}
	ok(t_await_waiters(lh, "k", MANY / 2), "several wait for one key");
	ok(t_await_waiters(lh, "l", MANY / 2), "and for another");
	is(lh_cancel(&c), 0, "one switch");
	is(lh_cancel(&c), 0, "twice");
	for (int i = 0; i < MANY; i++)
		cancelled += (intptr_t)t_join(threads[i]) == -ECANCELED;
	is(cancelled, MANY, "ends all of them");
	is(lh_cancel(&c), 0, "once more, when nobody waits");
	is(t_waiters(lh, "k"), 0, "nobody is left");
	is(t_waiters(lh, "l"), 0, "anywhere");
}

static void
ends_with_a_wait(void)
{
	struct lh_cancel c = LH_CANCEL_INIT;
	struct wait w = { .cancel = &c, .key = "free", .wait_ms = 1000 };

	is((intptr_t)wait_for_it(&w), 0, "a switch that is not used: granted");
	is(lh_cancel(&c), 0, "used afterwards");
	is(lh_verify(lh, &w.lease), 0, "it takes nothing back");
	is(lh_release(lh, &w.lease), 0, "released");
	c = (struct lh_cancel)LH_CANCEL_INIT;
	w.wait_ms = 10;
	w.key = "k";
	is((intptr_t)wait_for_it(&w), -ETIMEDOUT, "a timeout is a timeout");
	is(lh_cancel(NULL), -EINVAL, "no switch: refused");
	ok(t_has_detail(), "with a reason");
}

/* Grant and cancel at the same moment: either, but nothing in between. */
static void
race(struct t_actor *a)
{
	int granted = 0, cancelled = 0, held = 0, n = t_count(RACES, 50);

	for (int i = 0; i < n; i++) {
		struct lh_cancel c = LH_CANCEL_INIT;
		struct wait w = { .cancel = &c, .key = "r",
		    .wait_ms = 3600000 };
		struct lh_lease l = t_hold(lh, "r");
		unsigned long thread = t_thread(wait_for_it, &w);
		int r;

		if (!t_await_waiters(lh, "r", 1))
			bail_out("the waiter is missing");
		if (i & 1) {
			lh_cancel(&c);
			lh_release(lh, &l);
		} else {
			lh_release(lh, &l);
			lh_cancel(&c);
		}
		r = (int)(intptr_t)t_join(thread);
		granted += r == 0;
		cancelled += r == -ECANCELED;
		if (r == 0)
			held += lh_release(lh, &w.lease) == 0;
		/* nothing is left: anyone can acquire it at once */
		if (t_do_acquire(a, "r", 1000, 0) != 0 || t_do_release(a) != 0)
			fail("round %d (%d) left a ghost", i, r);
	}
	is(granted + cancelled, n, "each is granted or cancelled");
	is(held, granted, "and what was granted was held");
	diag("%d granted, %d cancelled", granted, cancelled);
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *b = t_actor(table);

	lh = t_open(table);
	is(t_do_acquire(a, "k", 3600000, 0), 0, "another process holds k");
	is(t_do_acquire(b, "l", 3600000, 0), 0, "and another l");
	before();
	during();
	ends_with_a_wait();
	race(a);
	t_actor_end(a);
	t_actor_end(b);
	t_close(lh);
	return done();
}
