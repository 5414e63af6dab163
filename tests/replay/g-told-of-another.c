/* SPDX-License-Identifier: MIT */
/*
 * G3, G10: who asks again for a lease that he has, by holder id or request id,
 * is told until when that one lasts.  He is stopped anywhere in that, until the
 * lease has run out and its claim is used for another key, which is held for
 * long: that is not what he is told.
 */
#include <errno.h>
#include "replay.h"

#define PLACES 80		/* loads, of which there are fewer */
#define TTL_MS 30
#define OTHERS 8		/* as many as a thread has claims at hand */

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
	is(enter(NULL), 0, "had");
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
	for (int i = 0; i < 3; i++) {	/* as often as it was entered, or not */
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
	cmp(n, <, PLACES, "which are all");
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
