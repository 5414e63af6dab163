/* SPDX-License-Identifier: MIT */
/* test: alone: it defines clock_gettime() */
/*
 * Guarantees G2 and G3: the wall clock is set, a year ahead and a year back,
 * while leases are held and waited for: nothing changes.  Leases and waits last
 * as long as before, and tokens grow; only times that people read follow the
 * clock.  A durable table that is made again while the clock is a year behind
 * goes on above the earlier tokens.  The program's own clock_gettime() moves
 * CLOCK_REALTIME alone.
 *
 * Otherwise a correction of the clock would end all leases.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "fence.h"
#include "support/actor.h"
#include "support/part.h"

#define YEAR_S (365 * 24 * 3600)

static _Atomic int64_t set_s;	/* by which it is wrong */

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ts);

	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		ts->tv_sec += (time_t)set_s;
	return r;
}

static int64_t
told_ms(struct lh *lh)
{
	return lh_epoch_ms(lh, lh_clock_ns(lh));
}

/* In this thread, for a lease of its own. */
static int
wait_for(struct lh *lh, const char *key, int64_t ttl_ms, int64_t wait_ms,
    struct lh_lease *lease)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);

	o.flags = LH_NO_DEADLOCK;
	return lh_acquire(lh, key, &o, lease);
}

static void
play(int64_t by_s)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lh_lease held, brief, none;
	int64_t before = told_ms(lh), began;
	uint64_t token;

	set_s = 0;
	held = t_hold(lh, "held");
	is(t_acquire(lh, "brief", t_long(300), 0, &brief), 0, "a brief lease");
	set_s = by_s;
	began = t_now_ns();
	is(lh_verify(lh, &held), 0, "the clock is set by %lld s: still held",
	    (long long)by_s);
	is(lh_verify(lh, &brief), 0, "the brief one, too");
	is(lh_extend(lh, &held, 60000), 0, "it can be extended");
	is(wait_for(lh, "held", 1000, t_long(50), &none), -ETIMEDOUT,
	    "a wait ends");
	cmp(t_since_ms(began), >=, t_long(50), "not early");
	is(wait_for(lh, "brief", 60000, t_long(10000), &none), 0,
	    "the brief lease runs out");
	cmp(t_now_ns(), >=, brief.expires_ns, "not early");
	cmp(t_now_ns(), <, brief.expires_ns + T1_MS * T_NS_PER_MS, "nor late");
	is(lh_release(lh, &none), 0, "release");
	token = held.token;
	is(lh_release(lh, &held), 0, "release");
	held = t_hold(lh, "held");
	cmp(held.token, >, token, "the next token is larger");
	cmp((told_ms(lh) - before) / 1000 / (by_s / YEAR_S), >=, YEAR_S - 60,
	    "times for people follow the clock");
	is(lh_release(lh, &held), 0, "release");
	t_close(lh);
	set_s = 0;
}

/* The floor by the clock is for the case that everything else is lost. */
static void
durable(void)
{
	struct lh_open_opts o = fence_opts();
	const char *table = t_table();
	uint64_t last = 0;
	struct lh *lh;

	o.flags = 0;
	is(lh_open(&lh, table, &o), 0, "a durable table");
	fence_larger(lh, "k", &last, "durable");
	t_close(lh);
	set_s = -YEAR_S;
	is(unlink(t_object(table)), 0, "memory is lost, the clock a year back");
	is(lh_open(&lh, table, &o), 0, "it is made anew");
	fence_larger(lh, "k", &last, "after that");
	t_close(lh);
	set_s = 0;
}

static void
both_ways(void)
{
	lhi_gettime = clock_gettime;	/* also for what goes around it */
	play(YEAR_S);
	play(-YEAR_S);
	durable();
}

int
main(void)
{
	t_part(both_ways, 100, "wall clock set");
	return done();
}
