/* SPDX-License-Identifier: MIT */
/*
 * G3, where the coarse clock is behind by nearly two of its ticks: it is when
 * the processor that kept it has gone to sleep, and another one takes over with
 * its own next tick (seen: 7.7 ms).  A lease does not end more than 8 ms sooner
 * than asked: acquired, read, or extended, by the thread that has it or by
 * another one.  Nor more than 2 ms later, or, extended, 10 (op/extend.c, I2).
 *
 * The clock that the library reads is replaced by one that lags so.
 */
#include <unistd.h>
#include "base/clock.h"
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 400
#define TICK_NS (4 * NS_PER_MS)
#define LAG_NS (TICK_NS - 200 * INT64_C(1000))	/* at least; and a tick more */
#define TTL_MS 60000

static lhi_gettime_fn *real;
static struct lh *lh;
static struct off {
	int64_t least, most;		/* of what was asked, ns */
} acquired = { INT64_MAX, INT64_MIN }, extended = { INT64_MAX, INT64_MIN };
static int failed;

static int
fake(clockid_t clock, struct timespec *ts)
{
	int64_t ns;

	if (clock != CLOCK_MONOTONIC_COARSE)
		return real(clock, ts);
	ns = t_now_ns() - LAG_NS;
	ns -= ns % TICK_NS;
	*ts = (struct timespec){ ns / NS_PER_SEC, ns % NS_PER_SEC };
	return 0;
}

/* A call that began then gave the lease until end_ns. */
static void
note(struct off *of, int error, int64_t asked_ns, int64_t end_ns)
{
	int64_t by = end_ns - asked_ns - TTL_MS * NS_PER_MS;
	int64_t took = t_now_ns() - asked_ns;

	failed += error != 0;
	of->least = by < of->least ? by : of->least;
	of->most = by - took > of->most ? by - took : of->most;
}

static void
extend(struct lh_lease *l)
{
	int64_t asked_ns = t_now_ns();
	int error = lh_extend(lh, l, TTL_MS);

	note(&extended, error, asked_ns, l->expires_ns);
}

static void *
extend_there(void *l)
{
	extend(l);
	return NULL;
}

static void
once(const char *key, uint32_t mode, int round)
{
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	int64_t asked_ns = t_now_ns();
	struct lh_lease l;
	int error;

	o.mode = mode;
	error = lh_acquire(lh, key, &o, &l);
	note(&acquired, error, asked_ns, l.expires_ns);
	extend(&l);
	if (round % 8 == 0)
		(void)t_join(t_thread(extend_there, &l));
	usleep((useconds_t)(round % 7) * 1000);
	extend(&l);
	failed += lh_release(lh, &l) != 0;
}

static void
play(void)
{
	lh = t_open(t_table());
	real = lhi_gettime;
	lhi_gettime = fake;
	for (int i = 0; i < ROUNDS; i++) {
		once("k", LH_EXCLUSIVE, i);
		once("r", LH_SHARED, i);
		usleep((useconds_t)(i % 11) * 370);
	}
	lhi_gettime = real;
	is(failed, 0, "leases, extended and released");
	cmp(acquired.least, >=, -8 * NS_PER_MS, "not 8 ms too short");
	cmp(acquired.most, <=, 2 * NS_PER_MS, "nor 2 too long");
	cmp(extended.least, >=, -8 * NS_PER_MS, "extended, not 8 too short");
	cmp(extended.most, <=, 10 * NS_PER_MS, "nor 10 too long");
	diag("%lld .. %lld us, and %lld .. %lld",
	    (long long)acquired.least / 1000, (long long)acquired.most / 1000,
	    (long long)extended.least / 1000, (long long)extended.most / 1000);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 100, "coarse clock lags");
	return done();
}
