/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G10: a call that asks again for a lease that the caller
 * holds, by holder id or request id, returns until when that lease lasts.  It
 * is stopped at each of its loads, until the lease has expired and its claim
 * holds another key for long.  It must not return that key's deadline.
 *
 * Otherwise the caller would rely on a lease of 30 ms for an hour.
 */
#include <errno.h>
#include "replay.h"

#define PLACES 80		/* loads; the call has fewer */
#define TTL_MS 30
#define OTHERS 8		/* as many as a thread keeps claims */

static struct lh *lh;
static struct lh_lease lease;
static bool by_holder;
static uint64_t number;

static int
enter(void *unused)
{
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	(void)unused;
	if (by_holder)
		more.holder = "me";
	else
		more.request[1] = number;
	o.more = &more;
	return lh_acquire(lh, "k", &o, &lease);
}

static bool
stopped_at(int n)
{
	struct lh_lease others[OTHERS], l;
	char name[8];
	bool stands;
	int e;

	number++;
	is(enter(NULL), 0, "acquired");
	replay_hold_nth("again", "load", n);
	replay_go("again", enter, NULL);
	stands = replay_comes("again");
	t_sleep_ms(TTL_MS + 10);
	for (int i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof(name), "o%d", i);
		is(t_acquire(lh, name, REPLAY_LONG_MS, 0, &others[i]), 0,
		    "another key");
	}
	if (stands)
		replay_release("again");
	e = replay_result("again");
	ok(e != 0 || lease.expires_ns < t_now_ns() + 60000 * T_NS_PER_MS,
	    "at load %d: %d, for %lld ms more", n, e, (long long)
	    ((lease.expires_ns - t_now_ns()) / T_NS_PER_MS));
	for (int i = 0; i < OTHERS; i++)
		is(lh_release(lh, &others[i]), 0, "released");
	/* at least as often as it was entered */
	for (int i = 0; i < 3; i++) {
		l = lease;
		(void)lh_release(lh, &l);
	}
	return stands;
}

static void
play_all(void)
{
	const char *table = replay_begin();
	int n = 1;

	lh = replay_open(table, 0);
	while (n <= PLACES && stopped_at(n))
		n++;
	cmp(n, >, 3, "%d places", n - 1);
	cmp(n, <, PLACES, "which are all places");
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "by request id");
	by_holder = true;
	t_part(play_all, 290, "by holder id");
	return done();
}
