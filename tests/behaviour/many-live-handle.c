/* SPDX-License-Identifier: MIT */
/* test: tsan */
/* test: slow 12 */
/*
 * Guarantees G1 and G9: one live handle over several keys: all are renewed over
 * many ttls, and the handle is valid while all are held.  The loss of one loses
 * all, the others are free, and the watch reports which one it was.  The handle
 * is released and acquired again like any other.
 *
 * Otherwise a program would work with half of the keys that it needs.
 */
#include <errno.h>
#include <poll.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define N 3

static const struct lh_item items[N] = { { .key = "b" },
	{ .key = "c", .mode = LH_SHARED }, { .key = "a" } };

struct live {
	struct lh *lh;
	struct lh *other;
	struct lh_lock *lock;
	struct lh_watch *watch;
};

static struct live
live_on(const char *table, int64_t ttl_ms)
{
	struct lh_acquire_opts a = t_opts(ttl_ms, 0);
	struct live h;

	h.lh = t_open(table);
	h.other = t_open(table);
	is(lh_lock_open_many(h.lh, items, N, NULL, &h.lock), 0, "a handle");
	is(lh_lock_watch(h.lock, LH_EVENT_LOST, &h.watch), 0, "watched");
	is(lh_lock_acquire(h.lock, &a), 0, "holds");
	return h;
}

static void
closed(struct live *h)
{
	is(lh_watch_close(h->watch), 0, "watch closed");
	is(lh_lock_close(h->lock), 0, "handle closed");
	t_close(h->other);
	t_close(h->lh);
}

static int
held(struct live *h)
{
	return t_holders(h->other, "a") + t_holders(h->other, "b") +
	    t_holders(h->other, "c");
}

/* Checks that the watch reports the loss with that key and reason, and that the
 * others are free. */
static void
told(struct live *h, uint32_t which, enum lh_loss loss, const char *how)
{
	struct pollfd p = { .fd = lh_watch_fd(h->watch), .events = POLLIN };
	struct lh_lock_state s = { .size = sizeof(s) };
	struct lh_event e = LH_EVENT_INIT;
	struct lh_lease lease;

	is(poll(&p, 1, (int)t_ms(10000)), 1,
	    "%s: the watch reports it (timing T7)", how);
	is(held(h), 0, "%s: nothing is held any more", how);
	is(lh_watch_next(h->watch, &e), 0, "%s: by an event", how);
	ok(e.what == LH_EVENT_LOST && e.count == 1, "%s: of its loss", how);
	is(e.loss, loss, "%s: with the reason", how);
	is(e.which, which, "%s: and the key", how);
	is(lh_lock_valid(h->lock), -ESTALE, "%s: it is not valid", how);
	is(lh_lock_state(h->lock, &s), 0, "%s: its state", how);
	ok(s.status == LH_LOCK_LOST && s.loss == loss && s.which == which,
	    "%s: says the same", how);
	is(lh_lock_lease(h->lock, which, &lease), 0, "%s: the lease", how);
	is(lease.token, s.lease.token, "%s: is the state's", how);
	is(lease.token, e.token, "%s: and the event's", how);
	is(lh_lock_release(h->lock), -ESTALE, "%s: release says so", how);
	is(held(h), 0, "%s: and does no harm", how);
}

static void
renewed(void)
{
	struct lh_lock_state s = { .size = sizeof(s) };
	struct live h = live_on(t_table(), t_long(1200));
	int64_t until = t_now_ns() + t_long(3600) * T_NS_PER_MS;
	struct lh_lease lease;
	int lost = 0;

	for (; t_now_ns() < until; t_sleep_ms(3))
		lost += lh_lock_valid(h.lock) != 0 || held(&h) != N;
	is(lost, 0, "held over many ttls");
	is(lh_lock_state(h.lock, &s), 0, "its state");
	cmp(s.renewals, >=, 6, "renewed together");
	for (size_t i = 0; i < N; i++) {
		is(lh_lock_lease(h.lock, i, &lease), 0, "lease %zu", i);
		is(lease.mode, items[i].mode, "in its mode");
		is(lh_verify(h.lh, &lease), 0, "is held");
		cmp(lease.expires_ns, >=, s.lease.expires_ns, "no shorter "
		    "than what the state tells");
	}
	is(lh_lock_lease(h.lock, N, &lease), -EINVAL, "there is no more");
	is(lh_lock_acquire(h.lock, NULL), -EALREADY, "it is held already");
	is(lh_lock_release(h.lock), 0, "released");
	is(held(&h), 0, "all are free");
	is(lh_lock_acquire(h.lock, NULL), 0, "acquired again");
	is(lh_lock_valid(h.lock), 0, "and valid");
	is(lh_lock_release(h.lock), 0, "released");
	is(lh_lock_release(h.lock), 0, "twice");
	closed(&h);
}

static void
broken(void)
{
	struct live h = live_on(t_table(), 3600000);
	struct lh_lease mine;

	is(lh_break(h.other, "c", NULL, 0), 1, "an operator breaks one");
	is(t_acquire(h.other, "c", 60000, 0, &mine), 0, "and takes it");
	is(lh_release(h.other, &mine), 0, "for a moment");
	told(&h, 1, LH_LOSS_BROKEN, "broken");
	is(lh_lock_acquire(h.lock, NULL), 0, "all again, on request");
	is(held(&h), N, "all are held");
	is(lh_break(h.other, "a", NULL, 0), 1, "one is broken");
	is(lh_lock_release(h.lock), -ESTALE, "release is the first to see");
	is(held(&h), 0, "all are free");
	closed(&h);
}

static void
expired(void)
{
	struct live h = live_on(t_table(), t_long(60));
	struct lh_lock_state s = { .size = sizeof(s) };

	is(lh_lock_renew_every(h.lock, 0), 0, "not renewed");
	is(lh_lock_state(h.lock, &s), 0, "its state");
	told(&h, s.which, LH_LOSS_EXPIRED, "expired");
	closed(&h);
}

static void
left(void)
{
	struct live h = live_on(t_table(), t_long(300));

	is(lh_lock_close(h.lock), 0, "closed without release");
	is(held(&h), N, "what it held is held");
	ok(t_until(t_long(300) + T1_MS, held(&h) == 0), "to its deadline");
	is(lh_watch_close(h.watch), 0, "watch closed");
	t_close(h.other);
	t_close(h.lh);
}

static void
refused(void)
{
	struct lh *lh = t_open(t_table());
	struct lh_item odd[2] = { { .key = "a" }, { .key = "a" } };
	struct lh_lock *lock;

	is(lh_lock_open_many(lh, odd, 2, NULL, &lock), -EINVAL, "one twice");
	is(lh_lock_open_many(lh, odd, 0, NULL, &lock), -EINVAL, "none");
	is(lh_lock_open_many(lh, odd, 1, NULL, NULL), -EINVAL, "nowhere");
	is(lh_lock_open_many(lh, odd, 1, NULL, &lock), 0, "one");
	is(lh_lock_acquire(lock, NULL), 0, "is acquired again");
	odd[0].key = "changed";
	is(t_holders(lh, "a"), 1, "the key was copied");
	is(lh_lock_release(lock), 0, "and released");
	is(lh_lock_close(lock), 0, "closed");
	t_close(lh);
}

static void
play(void)
{
	renewed();
	broken();
	expired();
	left();
	refused();
}

int
main(void)
{
	t_part(play, 190, "many live handle");
	return done();
}
