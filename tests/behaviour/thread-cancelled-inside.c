/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: pthread_cancel() of a thread that is inside a call takes
 * nothing with it that others need: no lock of this process and no place in a
 * queue.  Others can open, use and close the table afterwards.  The
 * cancellation is pending when the call is made, so that it takes effect at the
 * first opportunity: where a call closes descriptors, or must open one again;
 * for that, all are closed every second time.
 *
 * Otherwise one cancelled thread would make the whole process hang.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define WAIT_MS t_ms(80)

struct call {
	const char *name;
	void (*fn)(void);
	bool closes;		/* the attachment, so that it is not used */
};

static const char *table;
static struct lh *lh;
static bool all_closed;

static int
ignore(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static void
do_open(void)
{
	struct lh *more;

	(void)lh_open(&more, table, NULL);
}

static void
do_close(void)
{
	(void)lh_close(lh);
}

static void
do_wait(void)
{
	struct lh_lease l;

	(void)t_acquire(lh, "held", 1000, WAIT_MS, &l);
}

static void
do_try(void)
{
	struct lh_lease l;

	(void)t_acquire(lh, "held", 1000, 0, &l);
}

static void
do_hold(void)
{
	struct lh_lease l;
	struct lh_key *k;

	if (lh_key_open(lh, "a new key", 0, &k) == 0 &&
	    t_acquire(lh, "another", 1000, 0, &l) == 0)
		(void)lh_release(lh, &l);
}

static void
do_look(void)
{
	(void)lh_status(lh, "held", NULL, ignore, NULL);
	(void)lh_list(lh, NULL, ignore, NULL);
	(void)lh_check(lh, NULL, NULL);
}

static const struct call calls[] = {
	{ "lh_open", do_open, false },
	{ "lh_close", do_close, true },
	{ "a wait", do_wait, false },
	{ "a try", do_try, false },
	{ "an acquire and a release", do_hold, false },
	{ "status, list and check", do_look, false },
};

static void *
cancelled(void *arg)
{
	const struct call *c = arg;

	pthread_cancel(pthread_self());
	c->fn();
	pthread_testcancel();
	return NULL;
}

/* In a process of its own, because what goes wrong hangs. */
static int
survive(void *arg)
{
	struct call *c = arg;
	struct lh_lease l;
	struct lh *more;

	lh = t_open(table);
	is(t_acquire(lh, "warm", 1000, 0, &l), 0, "%s: in use", c->name);
	is(lh_release(lh, &l), 0, "released");
	if (all_closed && close_range(3, ~0u, 0) != 0)
		closefrom(3);
	ok(t_join(t_thread(cancelled, c)) == PTHREAD_CANCELED,
	    "%s: the thread is cancelled", c->name);

	more = t_open(table);
	is(t_waiters(more, "held"), 0, "%s: nobody waits", c->name);
	is(t_acquire(more, "k", 1000, 0, &l), 0, "another attachment");
	is(lh_release(more, &l), 0, "works");
	is(t_acquire(more, "held", 1000, t_ms(15), &l), -ETIMEDOUT, "waits");
	is(lh_close(more), 0, "and closes");
	if (!c->closes) {
		is(t_acquire(lh, "k", 1000, 0, &l), 0, "so does the first");
		is(lh_release(lh, &l), 0, "as before");
		is(lh_close(lh), 0, "%s: nobody is said to wait", c->name);
	}
	return tap_child_status();
}

int
main(void)
{
	struct lh_lease held;
	struct lh *own;

	table = t_table();
	own = t_open(table);
	held = t_hold(own, "held");
	for (size_t i = 0; i < 2 * sizeof(calls) / sizeof(calls[0]); i++) {
		all_closed = i % 2;
		is(t_reap(t_fork(survive, (void *)(uintptr_t)&calls[i / 2]),
		    T_HANG_MS), 0, "cancelled in %s%s", calls[i / 2].name,
		    all_closed ? ", descriptors closed" : "");
	}
	is(t_waiters(own, "held"), 0, "nobody waits");
	is(lh_verify(own, &held), 0, "the holder holds");
	is(lh_release(own, &held), 0, "and releases");
	t_close(own);
	return done();
}
