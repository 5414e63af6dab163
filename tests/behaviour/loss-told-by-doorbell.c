/* SPDX-License-Identifier: MIT */
/*
 * Timing T7: a lease that another process ends is known to its live handle at
 * once, not only at the next look.  That holds in each of several attachments
 * of a process, while the renewing thread is busy with others, and when a
 * reaper ends the lease.
 *
 * Otherwise a program would work for up to a second without its key.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/reaper.h"
#include "support/support.h"
#include "tap.h"

#define SOON_MS	t_long(200)	/* ten times the bound */
#define TABLES	3
#define ROUNDS	50

struct live {
	struct lh *lh;
	struct lh_lock *lock;
	struct lh_watch *watch;
	struct t_actor *other;
};

static int
break_it(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_break(a->lh, "k", NULL, 0);
}

static int
readable(const struct live *h, int64_t ms)
{
	struct pollfd p = { .fd = lh_watch_fd(h->watch), .events = POLLIN };

	return poll(&p, 1, (int)ms);
}

static struct live
live_on(const char *table)
{
	struct live h;

	h.other = t_actor(table);
	h.lh = t_open(table);
	is(lh_lock_open(h.lh, "k", NULL, &h.lock), 0, "a handle");
	is(lh_lock_watch(h.lock, LH_EVENT_LOST, &h.watch), 0, "watched");
	return h;
}

static void
done_with(struct live *h)
{
	is(lh_watch_close(h->watch), 0, "watch closed");
	is(lh_lock_close(h->lock), 0, "handle closed");
	t_close(h->lh);
	t_actor_end(h->other);
}

/* Returns after how many us the loss was reported; -1: it was not. */
static int64_t
lose(struct live *h)
{
	struct lh_acquire_opts a = t_opts(3600000, 0);
	struct lh_event e = LH_EVENT_INIT;
	int64_t us;

	if (lh_lock_acquire(h->lock, &a) != 0 ||
	    t_do(h->other, break_it, NULL) != 1 ||
	    readable(h, T_HANG_MS) != 1)
		return -1;
	us = (t_now_ns() - h->other->began_ns) / 1000;
	return lh_watch_next(h->watch, &e) == 0 &&
	    e.loss == LH_LOSS_BROKEN ? us : -1;
}

static bool
each_soon(void *arg)
{
	struct live *h = arg;
	int64_t worst = 0;
	bool told = true;

	for (int i = 0; i < ROUNDS && told; i++) {
		int64_t us = lose(&h[i % TABLES]);

		told = us >= 0;
		if (us > worst)
			worst = us;
	}
	diag("told after %lld us at most", (long long)worst);
	return told && worst < SOON_MS * 1000;
}

/* Not renewed, and past its deadline: others end it before its thread does. */
static void
by_the_reaper(void)
{
	const char *table = t_table();
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(t_long(50), 0);
	struct t_reaping *rp;
	struct live h;

	o.renew_ms = 0;
	h.lh = t_open(table);
	rp = t_reaping(table);
	is(lh_lock_open(h.lh, "k", &o, &h.lock), 0, "a handle");
	is(lh_lock_watch(h.lock, LH_EVENT_LOST, &h.watch), 0, "watched");
	is(lh_lock_acquire(h.lock, &a), 0, "that is not renewed");
	is(readable(&h, t_long(50) + SOON_MS), 1, "reports its end");
	is(t_reaping_end(rp, NULL), 0, "beside a reaper");
	is(lh_watch_close(h.watch), 0, "watch closed");
	is(lh_lock_close(h.lock), 0, "handle closed");
	t_close(h.lh);
}

static void
play(void)
{
	struct live h[TABLES];
	struct lh_lock *idle;

	for (int i = 0; i < TABLES; i++)
		h[i] = live_on(t_table());
	ok(lose(&h[0]) >= 0, "one attachment reports the loss");
	is(lh_lock_open(h[1].lh, "idle", NULL, &idle), 0, "another handle");
	is(lh_lock_acquire(idle, NULL), 0, "that holds");
	ok(t_tries(3, each_soon, h), "each reports it at once, several times");
	is(lh_lock_valid(idle), 0, "and that one still holds");
	is(lh_lock_release(idle), 0, "released");
	is(lh_lock_close(idle), 0, "closed");
	for (int i = 0; i < TABLES; i++)
		done_with(&h[i]);
	by_the_reaper();
}

int
main(void)
{
	t_part(play, 200, "loss told by doorbell");
	return done();
}
