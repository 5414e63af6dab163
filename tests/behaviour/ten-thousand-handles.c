/* SPDX-License-Identifier: MIT */
/* test: slow 13 */
/*
 * Timing T7: ten thousand live handles are renewed by one thread, none is lost,
 * and the thread ends some time after the last one was closed.
 *
 * Otherwise a program with many handles would need many threads, or lose
 * leases.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define TTL_MS	t_long(1500)

static int64_t
cpu_ms(void)
{
	return (int64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

static void
play(void)
{
	int n = t_count(10000, 1000), lost = 0, bad = 0, rare = 0;
	struct lh_lock **l = calloc((size_t)n, sizeof(struct lh_lock *));
	struct lh_open_opts open_opts = t_open_opts();
	struct lh_acquire_opts a = t_opts(TTL_MS, 0);
	int before = t_threads();
	int64_t cpu, began;
	struct lh *lh;
	char key[32];

	open_opts.max_keys = 16384;
	if (lh_open(&lh, t_table(), &open_opts) != 0)
		bail_out("no table: %s", lh_error_detail());
	is(t_threads(), before, "a table needs no thread");
	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		bad += lh_lock_open(lh, key, NULL, &l[i]) != 0 ||
		    lh_lock_acquire(l[i], &a) != 0;
	}
	is(bad, 0, "%d handles", n);
	is(t_threads(), before + 1, "one thread");
	cpu = cpu_ms();
	began = t_now_ns();
	t_sleep_ms(2 * TTL_MS);
	cpu = cpu_ms() - cpu;
	diag("%d handles: %lld ms of the processor in %lld ms", n,
	    (long long)cpu, (long long)t_since_ms(began));
	for (int i = 0; i < n; i++) {
		struct lh_lock_state s = { .size = sizeof(s) };

		lost += lh_lock_valid(l[i]) != 0 ||
		    lh_lock_state(l[i], &s) != 0 ||
		    lh_verify(lh, &s.lease) != 0;
		rare += s.renewals < 4;
	}
	is(lost, 0, "all of them are held after two ttls");
	is(rare, 0, "and were renewed every third");
	bad = 0;
	for (int i = 0; i < n; i++)
		bad += lh_lock_release(l[i]) != 0;
	is(bad, 0, "released");
	t_sleep_ms(1200);	/* so that nothing is due any more */
	is(t_threads(), before + 1, "the thread is there as long as they are");
	for (int i = 0; i < n; i++)
		bad += lh_lock_close(l[i]) != 0;
	is(bad, 0, "closed");
	ok(t_until(T_HANG_MS, t_threads() == before), "the thread ends");
	free(l);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "ten thousand handles");
	return done();
}
