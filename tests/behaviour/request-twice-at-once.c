/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: threads that make one request at the same time get one lease;
 * a repeated request that still waits is waited for, within the caller's own
 * time.
 *
 * Otherwise a client that retries early would hold the key twice.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define THREADS 4

static struct lh *lh;
static _Atomic int ready;

struct asker {
	uint64_t id;
	uint32_t mode;
	int64_t wait_ms;
	struct lh_cancel *cancel;
	int result;
	struct lh_lease lease;
};

static void *
ask(void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct asker *a = arg;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, a->wait_ms);

	o.mode = a->mode;
	o.cancel = a->cancel;
	o.more = &more;
	more.request[0] = a->id;
	a->result = lh_acquire(lh, "k", &o, &a->lease);
	return NULL;
}

static void *
ask_together(void *arg)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < THREADS)
		(void)sched_yield();
	return ask(arg);
}

static void
together(int rounds)
{
	struct asker a[THREADS];
	int granted = 0, same = 0, released = 0, alone = 0;
	unsigned long t[THREADS];

	for (int r = 0; r < rounds; r++) {
		atomic_store(&ready, 0);
		for (int i = 0; i < THREADS; i++) {
			a[i] = (struct asker){ .id = 1000 + (uint64_t)r,
			    .mode = r & 1 ? LH_SHARED : LH_EXCLUSIVE,
			    .wait_ms = T_HANG_MS };
			t[i] = t_thread(ask_together, &a[i]);
		}
		for (int i = 0; i < THREADS; i++)
			t_join(t[i]);
		for (int i = 0; i < THREADS; i++) {
			granted += a[i].result == 0;
			same += a[i].lease.token == a[0].lease.token &&
			    a[i].lease.id[1] == a[0].lease.id[1];
		}
		alone += t_holders(lh, "k") == 1;
		for (int i = 0; i < THREADS; i++)
			released += lh_release(lh, &a[i].lease) == 0;
	}
	is(granted, rounds * THREADS, "%d threads, %d times: all are granted",
	    THREADS, rounds);
	is(same, rounds * THREADS, "the same lease");
	is(alone, rounds, "which is one");
	is(released, rounds * THREADS, "and all may release it");
	is(t_holders(lh, "k"), 0, "then it is free");
}

static void
waits(void)
{
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct lh_lease held = t_hold(lh, "k");
	struct asker first = { .id = 1, .wait_ms = T_HANG_MS },
	    second = first, try = first, late = first, off = first;
	unsigned long t, u, v;
	const uint64_t id[2] = { 1, 0 };
	int64_t before;

	t = t_thread(ask, &first);
	ok(t_await_waiters(lh, "k", 1), "a request waits");
	try.wait_ms = 0;
	ask(&try);
	is(try.result, -EBUSY, "a try of the same: it is under way");
	ok(t_has_detail(), "with a reason");
	late.wait_ms = t_long(30);
	before = t_now_ns();
	ask(&late);
	is(late.result, -ETIMEDOUT, "a wait for it times out");
	cmp(t_since_ms(before), >=, t_long(30), "not before its time");
	cmp(t_since_ms(before), <=, t_long(30) + T4_MS, "nor long after");
	is(lh_release_request(lh, NULL, id), -EBUSY, "nothing to release yet");
	u = t_thread(ask, &second);
	off.cancel = &cancel;
	v = t_thread(ask, &off);
	t_sleep_ms(20);
	is(lh_cancel(&cancel), 0, "one of them is cancelled");
	t_join(v);
	is(off.result, -ECANCELED, "and says so");
	is(t_waiters(lh, "k"), 1, "one waits in the queue");
	is(lh_release(lh, &held), 0, "the holder releases");
	t_join(t);
	t_join(u);
	is(first.result, 0, "the first is granted");
	is(second.result, 0, "so is the second");
	is(second.lease.token, first.lease.token, "the same");
	is(lh_release(lh, &second.lease), 0, "released by the second");
	is(lh_release(lh, &first.lease), 0, "and by the first");
}

static void
play(void)
{
	lh = t_open(t_table());
	together(t_count(100, 10));
	waits();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 50, "request twice at once");
	return done();
}
