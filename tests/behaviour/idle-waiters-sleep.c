/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, timing T3: 64 processes wait for a key that stays held.  In a
 * second they go to sleep about 150 times, all together, and not 64 times 50.
 * Then the first 32 and the last 16 are stopped at once, and the key is
 * released.  One of those in the middle is granted it within T3.
 *
 * Otherwise a thousand idle waiters would take more than a processor; or, if
 * they slept without a thought, a few stopped ones would keep a free key.
 */
#include <stdio.h>
#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 64
#define STOPPED_FIRST 32
#define STOPPED_LAST 16
#define SLEEPS_MAX 800		/* of 3,200 if each looked every 20 ms */

static struct t_actor *all[WAITERS];

/* How often that process has gone to sleep so far. */
static long
sleeps_of(pid_t pid)
{
	char path[64], line[128];
	long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		(void)sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	if (f != NULL)
		(void)fclose(f);
	return n;
}

static long
sleeps_of_all(void)
{
	long n = 0;

	for (int i = 0; i < WAITERS; i++)
		n += sleeps_of(all[i]->pid);
	return n;
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lh_lease l = t_hold(lh, "k");
	bool had[WAITERS] = { false };
	int64_t began_ns, took;
	long n;
	int who;

	for (int i = 0; i < WAITERS; i++) {
		all[i] = t_actor(table);
		t_begin_acquire(all[i], "k", 3600000, 3600000);
		if (!t_await_waiters(lh, "k", i + 1))
			fail("waiter %d is queued", i);
	}
	t_sleep_ms(1000);	/* each has chosen how long to sleep */
	n = sleeps_of_all();
	t_sleep_ms(1000);
	n = sleeps_of_all() - n;
	diag("%ld sleeps in a second", n);
	cmp(n, <, SLEEPS_MAX, "all waiters together seldom look");

	for (int i = 0; i < WAITERS; i++)
		if (i < STOPPED_FIRST || i >= WAITERS - STOPPED_LAST)
			t_stop(all[i]->pid);
	began_ns = t_now_ns();
	is(lh_release(lh, &l), 0, "released");
	who = t_who(all, WAITERS, had);
	ok(who >= STOPPED_FIRST && who < WAITERS - STOPPED_LAST,
	    "one of the middle is granted the key");
	took = t_since_ms(began_ns);
	cmp(took, <, T3_DEAD_MS, "within T3");
	for (int i = 0; i < WAITERS; i++)
		t_actor_kill(all[i]);
	t_close(lh);
	return done();
}
