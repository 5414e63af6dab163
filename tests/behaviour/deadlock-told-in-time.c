/* SPDX-License-Identifier: MIT */
/*
 * Timing T6: measures how long after two parties began to wait for each other
 * one of them returns -EDEADLK. The first has waited for longer or shorter; the
 * one that must give way has the lower priority, and waits last or first.
 *
 * Otherwise a deadlock would be found only after minutes.
 */
#include <stdlib.h>
#include "support/part.h"
#include "circle.h"

#define ROUNDS 60

static int
later(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
play(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct party *p[2] = { party_new(table, NULL), party_new(table, NULL) };
	int n = t_count(ROUNDS, 12), wrong = 0;
	int64_t ms[ROUNDS], closed;

	for (int i = 0; i < n; i++) {
		int victim = i % 2;

		party_has(p[0], "a", LH_EXCLUSIVE, HOUR_MS);
		party_has(p[1], "b", LH_EXCLUSIVE, HOUR_MS);
		party_wants(lh, p[0], "b", LH_EXCLUSIVE, 1 + (uint32_t)victim,
		    1);
		t_sleep_ms(i * 37 % 400);
		closed = t_now_ns();
		party_wants(lh, p[1], "a", LH_EXCLUSIVE, 2 - (uint32_t)victim,
		    1);
		wrong += party_result(p[victim]) != -EDEADLK;
		ms[i] = (p[victim]->ended_ns - closed) / T_NS_PER_MS;
		wrong += party_lets_go(p[victim]) != 0;
		wrong += party_result(p[1 - victim]) != 0;
		wrong += party_lets_go(p[1 - victim]) != 0;
	}
	is(wrong, 0,
	    "each time the call that must give way returns, and no other");
	qsort(ms, (size_t)n, sizeof(ms[0]), later);
	cmp(ms[n - 1 - n / 100], <=, T6_MS, "within %lld ms",
	    (long long)T6_MS);
	diag("p50 %lld ms, p99 %lld ms, of %d", (long long)ms[n / 2],
	    (long long)ms[n - 1 - n / 100], n);
	party_end(p[0]);
	party_end(p[1]);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "deadlock told in time");
	return done();
}
