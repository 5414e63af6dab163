/* SPDX-License-Identifier: MIT */
/* test: check-all: it takes minutes and gigabytes */
/*
 * Guarantee G8: a table of ten million keys: all are made, each is found, a
 * thousand are held at once, and the rest can be evicted and made again.  (A
 * million in a short run, fewer in slow builds; LH_TEST_LONG makes it ten, in
 * some minutes and 2 GB of shared memory.)
 *
 * Otherwise a large table would lose keys, or become slow with its size.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define MILLION 1000000
#define HELD 1000

static struct lh *lh;

static int
how_many(void)
{
	return getenv("LH_TEST_LONG") != NULL ? 10 * MILLION :
	    t_count(MILLION, 20000);
}

/* In an order that is not that of making; 7919 divides none of the counts. */
static void
name_of(char *buf, int n, int i)
{
	snprintf(buf, 32, "%d", (int)((int64_t)i * 7919 % n));
}

static void
each(const char *what, int n, struct lh_acquire_opts *o)
{
	int64_t ns = t_now_ns();
	struct lh_lease l;
	char name[32];
	int good = 0;

	for (int i = 0; i < n; i++) {
		name_of(name, n, o->flags == 0 ? i : i * 3 % n);
		good += lh_acquire(lh, name, o, &l) == 0 &&
		    lh_release(lh, &l) == 0;
	}
	is(good, n, "%d keys are %s", n, what);
	diag("%lld ns each", (long long)((t_now_ns() - ns) / n));
}

int
main(void)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_open_opts open = LH_OPEN_OPTS_INIT;
	struct lh_lease held[HELD];
	int n = how_many(), good = 0;
	char name[32];
	int64_t ns;
	const char *table = t_table();

	alarm(n > MILLION ? 900 : 180);		/* more than is usual */
	open.max_keys = (uint32_t)n;
	is(lh_open(&lh, table, &open), 0, "a table for %d keys", n);
	each("made", n, &o);
	o.flags = LH_NO_CREATE;
	each("found", n, &o);
	o.flags = 0;
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.keys, n, "count them");
	is(st.max_keys, n, "of as many");
	for (int i = 0; i < HELD; i++) {
		name_of(name, n, i);
		good += lh_acquire(lh, name, &o, &held[i]) == 0;
	}
	is(good, HELD, "a thousand are held");
	ns = t_now_ns();
	is(lh_evict(lh, NULL, 0), n - HELD, "all others are forgotten");
	diag("%lld ns each", (long long)((t_now_ns() - ns) / n));
	good = 0;
	for (int i = 0; i < HELD; i++)
		good += lh_verify(lh, &held[i]) == 0 &&
		    lh_release(lh, &held[i]) == 0;
	is(good, HELD, "those that were held were not");
	each("made again", n, &o);
	/* one more takes the place of another */
	is(t_acquire(lh, "one more", 1000, 0, &held[0]), 0, "one more");
	is(lh_release(lh, &held[0]), 0, "released");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.keys, n, "there are as many as can be");
	t_close(lh);
	return done();
}
