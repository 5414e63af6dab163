/* SPDX-License-Identifier: MIT */
/* test: tsan */
/*
 * Guarantee G1: many threads use handles, watches and their table at once:
 * nobody hangs, no key is held twice, no event is lost.  Under TSan: no data
 * race.
 *
 * Otherwise a threaded program would lose events or leases at random.
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define THREADS	6
#define KEYS	3

static struct lh *lh;
static struct lh_lock *shared;
static _Atomic int inside[KEYS], wrong, callbacks;
static _Atomic bool stop;
static _Atomic bool quiet;	/* there will be no event any more */

static void
on_event(struct lh_lock *l, const struct lh_event *e, void *arg)
{
	(void)arg;
	atomic_fetch_add(&callbacks, 1);
	if (e->what == LH_EVENT_RENEWED && e->seq % 3 == 0)
		(void)lh_lock_renew_every(l, LH_RENEW_THIRD);
}

/* Hold a key for a moment, in one of the ways there are. */
static void
turn(int key, unsigned i)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = t_opts(t_ms(5000), T_HANG_MS);
	char name[2] = { (char)('a' + key), '\0' };
	struct lh_lock *l;
	struct lh_watch *w;

	o.event = i % 2 ? on_event : NULL;
	o.renew_ms = 1;
	if (lh_lock_open(lh, name, &o, &l) != 0 ||
	    lh_lock_watch(l, 0, &w) != 0 || lh_lock_acquire(l, &a) != 0) {
		atomic_fetch_add(&wrong, 1);
		return;
	}
	atomic_fetch_add(&wrong, atomic_fetch_add(&inside[key], 1) != 0);
	if (i % 4 == 0)
		t_sleep_ms(2);
	atomic_fetch_add(&wrong, lh_lock_valid(l) != 0);
	(void)lh_lock_renew_every(l, i % 3 ? 1 : 0);
	atomic_fetch_sub(&inside[key], 1);
	atomic_fetch_add(&wrong, lh_lock_release(l) != 0);
	if (i % 2)
		lh_watch_close(w);
	atomic_fetch_add(&wrong, lh_lock_close(l) != 0);
	if (!(i % 2))
		lh_watch_close(w);
}

static void *
user(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	for (; !atomic_load(&stop); i++)
		turn((int)(i % KEYS), i);
	return NULL;
}

/* All events of a handle that others use. */
static void *
reader(void *arg)
{
	struct lh_lock_state s = { .size = sizeof(s) };
	struct lh_event e = LH_EVENT_INIT;
	struct lh_watch *w = arg;
	uint64_t seq = 0;

	for (;;) {
		struct pollfd p = { .fd = lh_watch_fd(w), .events = POLLIN };

		if (poll(&p, 1, 100) == 1 && lh_watch_next(w, &e) == 0) {
			atomic_fetch_add(&wrong, e.seq - e.count != seq);
			seq = e.seq;
		} else if (atomic_load(&quiet)) {
			break;
		}
	}
	(void)lh_lock_state(shared, &s);
	atomic_fetch_add(&wrong, s.seq != seq);
	return NULL;
}

static void *
shaker(void *arg)
{
	struct lh_acquire_opts a = t_opts(t_ms(5000), 0);

	(void)arg;
	while (!atomic_load(&stop)) {
		int r = lh_lock_acquire(shared, &a);

		atomic_fetch_add(&wrong, r != 0 && r != -EALREADY &&
		    r != -EBUSY && r != -EAGAIN);
		(void)lh_lock_valid(shared);
		r = lh_lock_release(shared);
		/* -ENOLCK: before its first acquire has ended */
		atomic_fetch_add(&wrong, r != 0 && r != -ENOLCK);
	}
	return NULL;
}

int
main(void)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	unsigned long t[THREADS + 4];
	struct lh_watch *w[2];
	int n = 0;

	lh = t_open(t_table());
	o.event = on_event;
	is(lh_lock_open(lh, "shared", &o, &shared), 0, "a shared handle");
	for (int i = 0; i < 2; i++) {
		is(lh_lock_watch(shared, 0, &w[i]), 0, "watched");
		t[n++] = t_thread(reader, w[i]);
	}
	for (int i = 0; i < 2; i++)
		t[n++] = t_thread(shaker, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		t[n++] = t_thread(user, (void *)(i * 7));
	t_sleep_ms(1500);
	atomic_store(&stop, true);
	while (n > 2)
		t_join(t[--n]);
	is(lh_lock_release(shared), 0, "released");
	atomic_store(&quiet, true);
	while (n > 0)
		t_join(t[--n]);
	is(lh_lock_close(shared), 0, "closed");
	for (int i = 0; i < 2; i++)
		lh_watch_close(w[i]);
	cmp(atomic_load(&callbacks), >, 0, "callbacks were called");
	is(atomic_load(&wrong), 0, "nothing was wrong");
	t_close(lh);
	return done();
}
