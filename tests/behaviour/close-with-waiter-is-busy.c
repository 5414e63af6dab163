/* SPDX-License-Identifier: MIT */
/*
 * lh_close() while another thread waits in a call on the attachment returns
 * -EBUSY and changes nothing: leases hold, the waiter goes on and acquires its
 * key, and closing works afterwards.
 *
 * Otherwise the waiting thread would use an attachment that no longer exists.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct lh_lease waited;

static void *
wait_for_it(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)t_acquire(lh, "k", 3600000, 3600000,
	    &waited);
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *b = t_actor(table);
	struct lh *observer = t_open(table);
	struct lh_lease mine;
	unsigned long thread;
	int r;

	lh = t_open(table);
	is(t_do_acquire(b, "k", 3600000, 0), 0, "another process holds k");
	mine = t_hold(lh, "mine");
	thread = t_thread(wait_for_it, NULL);
	ok(t_await_waiters(observer, "k", 1), "a thread waits for it");
	for (int i = 0; i < 3; i++) {
		is(lh_close(lh), -EBUSY, "closing is refused");
		ok(t_has_detail(), "with a reason");
		is(lh_verify(lh, &mine), 0, "the lease is held");
		is(t_waiters(observer, "k"), 1, "the thread waits");
	}
	is(t_acquire(observer, "mine", 1000, 0, &waited), -EAGAIN,
	    "others see the lease");
	is(t_do_release(b), 0, "the other releases");
	r = (int)(intptr_t)t_join(thread);
	is(r, 0, "the thread gets it");
	is(lh_verify(lh, &waited), 0, "and holds it");
	is(lh_close(lh), 0, "now it closes");
	is(t_acquire(observer, "k", 1000, 0, &mine), 0, "both keys are free");
	is(t_acquire(observer, "mine", 1000, 0, &mine), 0, "for others");
	t_actor_end(b);
	t_close(observer);
	return done();
}
