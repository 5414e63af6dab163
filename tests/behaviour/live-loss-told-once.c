/* SPDX-License-Identifier: MIT */
/* test: tsan */
/* test: slow 7 */
/*
 * Guarantee G9, timing T7: however a live lease ends, its handle reports the
 * loss within a second or at the deadline, once, with the reason, and does not
 * acquire again by itself.
 *
 * Otherwise a program would go on working without its key, or would act on one
 * loss twice.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define T7_MS	t_ms(10000)	/* ten times the bound */

struct live {
	struct lh *lh;
	struct lh_lock *lock;
	struct lh_watch *watch;
};

static struct live
live_on(const char *table, int64_t ttl_ms)
{
	struct lh_acquire_opts a = t_opts(ttl_ms, 0);
	struct live h;

	h.lh = t_open(table);
	is(lh_lock_open(h.lh, "k", NULL, &h.lock), 0, "a handle");
	is(lh_lock_watch(h.lock, LH_EVENT_LOST, &h.watch), 0, "watched");
	is(lh_lock_acquire(h.lock, &a), 0, "holds");
	return h;
}

static int
readable(const struct lh_watch *w, int64_t ms)
{
	struct pollfd p = { .fd = lh_watch_fd(w), .events = POLLIN };

	return poll(&p, 1, (int)ms);
}

static void
told(struct live *h, enum lh_loss loss, const char *how)
{
	struct lh_lock_state s = { .size = sizeof(s) };
	struct lh_event e = LH_EVENT_INIT;

	is(readable(h->watch, T7_MS), 1, "%s: the watch reports it", how);
	is(lh_watch_next(h->watch, &e), 0, "%s: by an event", how);
	ok(e.what == LH_EVENT_LOST && e.count == 1, "%s: of its loss", how);
	is(e.loss, loss, "%s: with the reason", how);
	is(lh_lock_valid(h->lock), -ESTALE, "%s: it is not valid", how);
	is(lh_lock_state(h->lock, &s), 0, "%s: its state", how);
	ok(s.status == LH_LOCK_LOST && s.loss == loss, "%s: is lost", how);
	is(readable(h->watch, 50), 0, "%s: that was all", how);
	is(lh_lock_release(h->lock), -ESTALE, "%s: release says so", how);
}

static void
closed(struct live *h)
{
	is(lh_watch_close(h->watch), 0, "watch closed");
	is(lh_lock_close(h->lock), 0, "handle closed");
}

static void
broken(void)
{
	struct live h = live_on(t_table(), 3600000);
	struct lh *other = t_open(lh_table_name(h.lh));
	struct lh_lease mine;

	is(lh_break(other, "k", NULL, 0), 1, "an operator breaks it");
	is(t_acquire(other, "k", 60000, 0, &mine), 0, "and takes the key");
	told(&h, LH_LOSS_BROKEN, "broken");
	is(lh_verify(other, &mine), 0, "the new holder has not noticed");
	is(lh_release(other, &mine), 0, "it releases");
	t_sleep_ms(t_long(50));
	is(t_holders(other, "k"), 0, "a free key is not won back");
	is(lh_lock_acquire(h.lock, NULL), 0, "but on request");
	is(lh_lock_valid(h.lock), 0, "and is held again");
	is(lh_lock_release(h.lock), 0, "and released");
	closed(&h);
	t_close(other);
	t_close(h.lh);
}

static void
expired(void)
{
	struct live h = live_on(t_table(), t_long(60));

	is(lh_lock_renew_every(h.lock, 0), 0, "not renewed");
	told(&h, LH_LOSS_EXPIRED, "expired");
	is(lh_lock_renew_every(h.lock, 1), 0, "renewal wanted too late");
	t_sleep_ms(t_long(50));
	is(t_holders(h.lh, "k"), 0, "does not bring it back");
	closed(&h);
	t_close(h.lh);
}

/* A table whose clock goes on during suspend. */
static void
by_another_clock(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct live h;
	struct lh *lh;

	o.clock = LH_CLOCK_BOOTTIME;
	is(lh_open(&lh, table, &o), 0, "a table on CLOCK_BOOTTIME");
	h = live_on(table, t_long(1000));
	t_sleep_ms(t_long(1200));
	is(lh_lock_valid(h.lock), 0, "renewed by that clock");
	is(lh_lock_renew_every(h.lock, 0), 0, "not any more");
	told(&h, LH_LOSS_EXPIRED, "expired by it");
	closed(&h);
	is(lh_close(h.lh), 0, "detached");
	t_close(lh);
}

static void
retired(void)
{
	const char *table = t_table();
	struct live h = live_on(table, 3600000);

	is(lh_table_remove(table, LH_FORCE), 0, "the table is removed");
	told(&h, LH_LOSS_TABLE, "removed");
	is(lh_lock_acquire(h.lock, NULL), -ESTALE, "nothing to acquire");
	closed(&h);
	is(lh_close(h.lh), 0, "detached");
}

static void
session_ended(void)
{
	const char *table = t_table();
	struct live h = live_on(table, 3600000);
	struct lh *other = t_open(table);

	is(lh_close(h.lh), 0, "its attachment is closed");
	is(t_holders(other, "k"), 0, "the key is free");
	told(&h, LH_LOSS_SESSION, "closed");
	is(lh_lock_acquire(h.lock, NULL), -EINVAL, "no table any more");
	ok(t_has_detail(), "and that is said");
	closed(&h);
	t_close(other);
}

/* Stopped for longer than its ttl. */
static int
sleeper(void *arg)
{
	struct live h = live_on(arg, t_long(100));

	told(&h, LH_LOSS_EXPIRED, "stopped");
	closed(&h);
	lh_close(h.lh);
	return tap_child_status();
}

static void
stopped(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	pid_t pid = t_fork(sleeper, (void *)(uintptr_t)table);
	struct lh_lease mine;

	ok(t_until(T_HANG_MS, t_holders(lh, "k") == 1), "another one holds it");
	t_stop(pid);
	is(t_acquire(lh, "k", 60000, T_HANG_MS, &mine), 0, "and is stopped");
	t_cont(pid);
	is(t_reap(pid, T_HANG_MS), 0, "awake again, it learned of the loss");
	is(lh_verify(lh, &mine), 0, "and has not touched the new lease");
	t_close(lh);
}

static void
play(void)
{
	stopped();
	broken();
	expired();
	by_another_clock();
	retired();
	session_ended();
}

int
main(void)
{
	t_part(play, 60, "live loss told once");
	return done();
}
