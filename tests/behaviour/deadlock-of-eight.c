/* SPDX-License-Identifier: MIT */
/* test: slow 9 */
/*
 * Timing T6: eight parties each hold a key and wait for the next one's.
 * Exactly one of them returns -EDEADLK soon after the circle was closed: the
 * one of the lowest priority, and of equals the one that began to wait last.
 * It still holds its key; when it releases it, all others acquire in turn.
 * Processes, threads of one process, and both mixed.
 *
 * Otherwise all would wait for ever, or more than one would give up.
 */
#include "circle.h"

#define N 8

static struct lh *lh;
static struct party *p[N];

/* Whom the rule names. */
struct plan {
	int humble;		/* who has the lowest priority; -1: all equal */
	int last;		/* who closes the circle */
};

static const char *
key(int i)
{
	static char name[N][8];

	snprintf(name[i % N], sizeof(name[0]), "k%d", i % N);
	return name[i % N];
}

static bool
round_of(void *arg)
{
	const struct plan *plan = arg;
	int victim = plan->humble >= 0 ? plan->humble : plan->last, first, who;
	int64_t closed_ns, told_ms, through = 0;

	for (int i = 0; i < N; i++)
		party_has(p[i], key(i), LH_EXCLUSIVE, HOUR_MS);
	for (int i = 1; i <= N; i++) {
		who = (plan->last + i) % N;
		if (i == N)
			t_sleep_ms(t_ms(30));
		party_wants(lh, p[who], key(who + 1), LH_EXCLUSIVE,
		    who == plan->humble ? 1 : 5, 1);
	}
	closed_ns = t_now_ns();
	first = party_first(p, N, T_HANG_MS);
	is(first, victim, "the call that must give way returns -EDEADLK");
	if (first < 0)
		bail_out("no deadlock is reported");
	is(p[first]->result, -EDEADLK, "-EDEADLK");
	told_ms = (p[first]->ended_ns - closed_ns) / T_NS_PER_MS;
	diag("after %lld ms: %s", (long long)told_ms, p[first]->detail);
	t_sleep_ms(t_ms(200));
	is(party_count(p, N), 1, "nobody else is");
	is(p[first]->n, 1, "it has its key");
	is(t_holders(lh, key(first)), 1, "it is held");
	is(party_lets_go(p[first]), 0, "it releases its key");
	for (int i = 1; i < N; i++) {
		who = (first + N - i) % N;
		through += party_result(p[who]) == 0 &&
		    party_lets_go(p[who]) == 0;
	}
	is((int)through, N - 1, "the others get through");
	return told_ms <= T6_MS;
}

static void
rounds(const char *what)
{
	struct plan plan[] = { { -1, N - 1 }, { -1, 3 }, { 2, 6 }, { 6, 6 } };

	for (int i = 0; i < 4; i++)
		ok(t_tries(3, round_of, &plan[i]), "%s: within %lld ms", what,
		    (long long)T6_MS);
	for (int i = 0; i < N; i++)
		party_end(p[i]);
}

int
main(void)
{
	const char *table = t_table();

	lh = t_open(table);
	for (int i = 0; i < N; i++)
		p[i] = party_new(table, NULL);
	rounds("processes");
	for (int i = 0; i < N; i++)
		p[i] = party_new(table, lh);
	rounds("threads");
	for (int i = 0; i < N; i++)
		p[i] = party_new(table, i % 3 == 0 ? NULL : lh);
	rounds("both");
	t_close(lh);
	return done();
}
