/* SPDX-License-Identifier: MIT */
/*
 * G3, in tables with LH_CLOCK_BOOTTIME: one's own deadlines do not suffer from
 * a stop between two readings of clocks.
 *
 * That clock has no coarse reading; "now" was the coarse CLOCK_MONOTONIC and by
 * how much the other is ahead, which takes a reading of each.  A process that
 * was stopped between the two got a "now" that was too early by the whole
 * stop.  An expired lease was extended, and an acquire returned one that was
 * over.  Now "now" is one reading.
 *
 * The clock that the library reads is replaced by one that sleeps there, once.
 */
#include <errno.h>
#include "base/clock.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 3
#define TICKS_MS 20		/* some ticks of the coarse clock */

static lhi_gettime_fn *real;
static clockid_t last;
static int64_t stop_ms;		/* before the other clock is read */

static int
fake(clockid_t clock, struct timespec *ts)
{
	int64_t ms = stop_ms;

	if (clock == CLOCK_MONOTONIC && last == CLOCK_BOOTTIME && ms > 0) {
		stop_ms = 0;
		t_sleep_ms(ms);
	}
	last = clock;
	return real(clock, ts);
}

static void
past_its_deadline(struct lh *lh)
{
	int64_t ttl_ms = t_long(300);
	struct lh_lease l;

	is(t_acquire(lh, "k", ttl_ms, 0, &l), 0, "a lease");
	while (lh_clock_ns(lh) < l.expires_ns + TICKS_MS * NS_PER_MS)
		t_sleep_ms(1);
	stop_ms = ttl_ms;
	is(lh_extend(lh, &l, 100 * ttl_ms), -ESTALE, "is not extended when it "
	    "is over");
	stop_ms = 0;
	is(lh_verify(lh, &l), -ESTALE, "nor held");
	is(lh_release(lh, &l), -ESTALE, "nor released");
}

static void
whole_when_it_comes(struct lh *lh, uint32_t mode)
{
	int64_t ttl_ms = t_long(300);
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	struct lh_lease l;

	o.mode = mode;
	is(lh_acquire(lh, "j", &o, &l), 0, "a lease before");
	is(lh_release(lh, &l), 0, "for the straight path");
	t_sleep_ms(TICKS_MS);
	stop_ms = ttl_ms / 3 * 2;
	is(lh_acquire(lh, "j", &o, &l), 0, "a lease, with a stop");
	cmp(lh_clock_ns(lh), <, l.expires_ns, "is not over");
	stop_ms = 0;
	is(lh_verify(lh, &l), 0, "but held");
	is(lh_release(lh, &l), 0, "release");
}

static void
play(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	real = lhi_gettime;
	lhi_gettime = fake;
	o.clock = LH_CLOCK_BOOTTIME;
	is(lh_open(&lh, t_table(), &o), 0, "a table with that clock");
	past_its_deadline(lh);
	for (int i = 0; i < ROUNDS; i++) {
		whole_when_it_comes(lh, LH_EXCLUSIVE);
		whole_when_it_comes(lh, LH_SHARED);
	}
	t_close(lh);
	lhi_gettime = real;
}

int
main(void)
{
	t_part(play, 100, "boottime stopped between");
	return done();
}
