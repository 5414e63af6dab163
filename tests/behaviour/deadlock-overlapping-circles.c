/* SPDX-License-Identifier: MIT */
/*
 * Timing T6: circles that share a wait.  Two readers of a key wait for the keys
 * of a writer that waits for both: two circles.  If the shared wait is the one
 * that must give way, it alone returns -EDEADLK; if each reader must, both do,
 * because each closes a circle of its own.  Callers outside the circles never
 * do: neither other waiters of the same queues, nor holders of keys that only
 * those wait for.
 *
 * Otherwise a circle would stay, or a caller outside it would be refused.
 */
#include "support/part.h"
#include "circle.h"

static struct lh *lh;
static struct party *w, *r[2], *by[2], *p[5];

/* r0, r1 read k, and want a, b; w holds a, b, and wants k; by0 waits for k, by1
 * for a, and holds c. */
static void
stage(uint32_t w_priority, uint32_t r_priority)
{
	party_has(by[1], "c", LH_EXCLUSIVE, HOUR_MS);
	party_has(w, "a", LH_EXCLUSIVE, HOUR_MS);
	party_has(w, "b", LH_EXCLUSIVE, HOUR_MS);
	party_has(r[0], "k", LH_SHARED, HOUR_MS);
	party_has(r[1], "k", LH_SHARED, HOUR_MS);
	party_wants(lh, by[0], "k", LH_EXCLUSIVE, 0, 1);
	party_wants(lh, by[1], "a", LH_EXCLUSIVE, 0, 1);
	party_wants(lh, r[0], "a", LH_EXCLUSIVE, r_priority, 2);
	party_wants(lh, r[1], "b", LH_EXCLUSIVE, r_priority, 1);
	party_wants(lh, w, "k", LH_EXCLUSIVE, w_priority, 2);
}

static bool
shared_one_gives_way(void *arg)
{
	int64_t ns = t_now_ns();
	int first;

	(void)arg;
	stage(1, 2);
	first = party_first(p, 5, T_HANG_MS);
	ok(first >= 0 && p[first] == w, "the shared wait returns -EDEADLK");
	is(w->result, -EDEADLK, "-EDEADLK");
	ns = (w->ended_ns - ns) / T_NS_PER_MS;
	diag("%s", w->detail);
	t_sleep_ms(t_long(300));
	is(party_count(p, 5), 1, "nobody else is");
	is(party_lets_go(w), 0, "it releases its key");
	is(party_result(r[0]), 0, "a reader goes on");
	is(party_result(r[1]), 0, "and the other");
	is(party_lets_go(r[0]), 0, "released");
	is(party_lets_go(r[1]), 0, "released");
	is(party_result(by[0]), 0, "then who waited outside");
	is(party_result(by[1]), 0, "in either queue");
	is(party_lets_go(by[0]), 0, "released");
	is(party_lets_go(by[1]), 0, "released");
	return ns <= T6_MS;
}

static bool
each_gives_way(void *arg)
{
	int64_t ns = t_now_ns(), told;

	(void)arg;
	stage(9, 2);
	is(party_result(r[0]), -EDEADLK, "a reader returns -EDEADLK");
	is(party_result(r[1]), -EDEADLK, "and the other");
	told = r[0]->ended_ns > r[1]->ended_ns ? r[0]->ended_ns :
	    r[1]->ended_ns;
	told = (told - ns) / T_NS_PER_MS;
	t_sleep_ms(t_long(300));
	is(party_count(p, 5), 2, "nobody else is");
	is(party_lets_go(r[0]), 0, "one reader releases its key");
	ok(!party_answered(w), "there is the other");
	is(party_lets_go(r[1]), 0, "it releases its key");
	party_follows(w, "the writer goes on");
	is(party_result(by[0]), 0, "then who waited outside");
	is(party_result(by[1]), 0, "in either queue");
	is(party_lets_go(by[0]), 0, "released");
	is(party_lets_go(by[1]), 0, "released");
	diag("both told after %lld ms", (long long)told);
	return told <= T6_MS;
}

/* A caller that waits for a circle, and closes none, goes on waiting. */
static void
beside(void)
{
	struct party *q[] = { r[0], r[1], by[0] };

	party_has(r[0], "a", LH_EXCLUSIVE, HOUR_MS);
	party_has(r[1], "b", LH_EXCLUSIVE, HOUR_MS);
	party_wants(lh, by[0], "a", LH_EXCLUSIVE, 0, 1);
	party_wants(lh, r[0], "b", LH_EXCLUSIVE, 7, 1);
	party_wants(lh, r[1], "a", LH_EXCLUSIVE, 5, 2);
	is(party_first(q, 3, T_HANG_MS), 1,
	    "one of the circle returns -EDEADLK");
	is(r[1]->result, -EDEADLK, "-EDEADLK");
	t_sleep_ms(t_long(300));
	is(party_count(q, 3), 1, "not the humblest, which is outside");
	is(party_lets_go(r[1]), 0, "it releases its key");
	is(party_result(r[0]), 0, "the other goes on");
	is(party_lets_go(r[0]), 0, "released");
	is(party_result(by[0]), 0, "then who waited outside");
	is(party_lets_go(by[0]), 0, "released");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	for (int i = 0; i < 2; i++) {
		p[i] = r[i] = party_new(table, NULL);
		p[i + 2] = by[i] = party_new(table, NULL);
	}
	p[4] = w = party_new(table, NULL);
	ok(t_tries(3, shared_one_gives_way, NULL), "in time");
	ok(t_tries(3, each_gives_way, NULL), "in time");
	beside();
	for (int i = 0; i < 5; i++)
		party_end(p[i]);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "deadlock overlapping circles");
	return done();
}
