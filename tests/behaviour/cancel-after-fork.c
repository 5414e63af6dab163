/* SPDX-License-Identifier: MIT */
/*
 * lh_cancel() after fork(): a switch of the parent exists in the child as well,
 * but the parent's waits and stacks do not.  The child cancels its own waits,
 * and no others.
 *
 * Otherwise the child would read stacks that no longer exist, or would end
 * waits of its parent.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct lh_cancel cancel = LH_CANCEL_INIT;
static const char *table;
static struct lh *lh;
static const char *key;

static void *
wait_for_it(void *unused)
{
	struct lh_acquire_opts o = t_opts(3600000, 3600000);
	struct lh_lease l;

	(void)unused;
	o.cancel = &cancel;
	return (void *)(intptr_t)lh_acquire(lh, key, &o, &l);
}

/* A thread waits for what this one holds. */
static unsigned long
begin_to_wait(const char *for_key, struct lh_lease *l)
{
	unsigned long waiter;

	key = for_key;
	lh = t_open(table);
	is(t_acquire(lh, key, 3600000, 0, l), 0, "%s is held", key);
	waiter = t_thread(wait_for_it, NULL);
	ok(t_await_waiters(lh, key, 1), "and waited for");
	return waiter;
}

static void
end_it(unsigned long waiter, struct lh_lease *l)
{
	is(lh_cancel(&cancel), 0, "cancelled");
	is((intptr_t)t_join(waiter), -ECANCELED, "the wait for %s ends", key);
	is(lh_release(lh, l), 0, "released");
	t_close(lh);
}

static int
child(void *unused)
{
	struct lh_lease l;

	(void)unused;
	end_it(begin_to_wait("child's", &l), &l);
	return 0;
}

int
main(void)
{
	unsigned long waiter;
	struct lh_lease l;

	table = t_table();
	waiter = begin_to_wait("parent's", &l);
	is(t_reap(t_fork(child, NULL), t_ms(5000)), 0,
	    "a child cancels its own wait");
	ok(t_await_waiters(lh, key, 1), "the parent's goes on");
	end_it(waiter, &l);
	return done();
}
