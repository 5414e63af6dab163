/* SPDX-License-Identifier: MIT */
/*
 * Timing T6: a call for several keys that has won some of them, and waits for
 * the next, is part of a circle of waits like any holder.  Exactly one caller
 * returns -EDEADLK; if it is the call for several keys, it has released what it
 * had won; the other one goes on.
 *
 * Otherwise two programs that acquire several keys would wait for each other
 * for ever.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const struct lh_item items[] = { { .key = "a" }, { .key = "c" } };

struct side {
	struct lh *lh;
	int result;
};

static void *
many(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct side *s = arg;
	struct lh_lease l[2];

	s->result = lh_acquire_many(s->lh, items, 2, &o, l);
	if (s->result == 0)
		is(lh_release_many(s->lh, l, 2), 0, "many: released");
	else
		ok(t_has_detail(), "many: %s", lh_error_detail());
	return NULL;
}

static void
circle(const char *table, int turn)
{
	struct side one = { .lh = t_open(table) };
	struct lh *lh = t_open(table);
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease c = t_hold(lh, "c"), a;
	unsigned long t = t_thread(many, &one);
	int64_t began;
	int error;

	ok(t_await_waiters(lh, "c", 1), "%d: many has 'a', waits for 'c'",
	    turn);
	began = t_now_ns();
	error = lh_acquire(lh, "a", &o, &a);	/* closes the circle */
	cmp(t_since_ms(began), <, T_HANG_MS / 2, "%d: told soon", turn);
	ok(error == 0 || error == -EDEADLK, "%d: a verdict (%d)", turn, error);
	if (error == 0)
		is(lh_release(lh, &a), 0, "%d: 'a' was given back", turn);
	is(lh_release(lh, &c), 0, "%d: 'c' is free", turn);
	t_join(t);
	is((error == -EDEADLK) + (one.result == -EDEADLK), 1, "%d: one was "
	    "told", turn);
	is((error == 0) + (one.result == 0), 1, "%d: the other one went on",
	    turn);
	is(t_holders(lh, "a") + t_holders(lh, "c"), 0, "%d: all is free",
	    turn);
	t_close(one.lh);
	t_close(lh);
}

int
main(void)
{
	for (int turn = 0; turn < 3; turn++)
		circle(t_table(), turn);
	return done();
}
