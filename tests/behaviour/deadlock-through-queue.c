/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7, timing T6: circles that lead through the order of a queue and
 * not only through holders: a reader that a waiting writer keeps out waits for
 * that writer.  Circles of readers that wait to upgrade, with other keys in
 * between.
 *
 * Otherwise such callers would wait for each other for ever.
 */
#include "support/part.h"
#include "circle.h"

static struct lh *lh;
static struct party *a, *b, *c, *p[3];

/*
 * a reads k and wants c's key; b waits to write k; c wants to read k, which is
 * free to it but for b.
 */
static bool
barred_reader(void *arg)
{
	int64_t ns;
	int told;

	(void)arg;
	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_has(c, "c", LH_EXCLUSIVE, HOUR_MS);
	party_wants(lh, b, "k", LH_EXCLUSIVE, 3, 1);
	party_wants(lh, c, "k", LH_SHARED, 2, 2);
	party_wants(lh, a, "c", LH_EXCLUSIVE, 1, 1);
	ns = t_now_ns();
	told = party_first(p, 3, T_HANG_MS);
	is(told, 0, "by rule: the one of the lowest priority");
	is(a->result, -EDEADLK, "-EDEADLK");
	ns = (a->ended_ns - ns) / T_NS_PER_MS;
	diag("after %lld ms: %s", (long long)ns, a->detail);
	ok(strstr(a->detail, "in whose queue stands first") != NULL,
	    "the error describes the place in the queue");
	t_sleep_ms(t_long(200));
	is(party_count(p, 3), 1, "nobody else");
	is(party_lets_go(a), 0, "it releases its key");
	party_follows(b, "the writer goes on");
	party_follows(c, "then the reader");
	return ns <= T6_MS;
}

/* The writer itself is the one to give way: then the reader comes in. */
static void
writer_gives_way(void)
{
	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_has(c, "c", LH_EXCLUSIVE, HOUR_MS);
	party_wants(lh, b, "k", LH_EXCLUSIVE, 1, 1);
	party_wants(lh, a, "c", LH_EXCLUSIVE, 3, 1);
	party_wants(lh, c, "k", LH_SHARED, 1, 2);
	is(party_first(p, 3, T_HANG_MS), 2, "the last of the lowest");
	is(c->result, -EDEADLK, "returns -EDEADLK");
	is(party_lets_go(c), 0, "it releases its key");
	party_follows(a, "the first goes on");
	party_follows(b, "and the writer");

	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_has(c, "c", LH_EXCLUSIVE, HOUR_MS);
	party_wants(lh, b, "k", LH_EXCLUSIVE, 1, 1);
	party_wants(lh, a, "c", LH_EXCLUSIVE, 3, 1);
	party_wants(lh, c, "k", LH_SHARED, 0, 2);
	is(party_result(c), -EDEADLK, "the lowest, wherever it stands");
	is(party_lets_go(c), 0, "it releases its key");
	party_follows(a, "the first goes on");
	party_follows(b, "and the writer");
}

/* Not a circle: the reader in the queue holds nothing that is wanted. */
static void
no_circle(void)
{
	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_has(c, "c", LH_EXCLUSIVE, HOUR_MS);
	party_wants(lh, b, "k", LH_EXCLUSIVE, 0, 1);
	party_wants(lh, c, "k", LH_SHARED, 0, 2);
	t_sleep_ms(t_long(400));
	is(party_count(p, 3), 1, "only one call returns: the others wait");
	is(party_lets_go(a), 0, "released");
	party_follows(b, "the writer goes on");
	party_follows(c, "then the reader");
}

/* a waits to upgrade k, which b reads, too; b wants what a holds. */
static bool
upgrade(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	int victim = arg != NULL;
	struct party *v = p[victim], *other = p[1 - victim];
	int64_t ns;

	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_has(b, "k", LH_SHARED, HOUR_MS);
	party_has(a, "a", LH_EXCLUSIVE, HOUR_MS);
	o.priority = victim == 0 ? 1 : 5;
	party_begin(a, UPGRADE, "k", &o);
	ok(t_await_waiters(lh, "k", 1), "one waits to upgrade");
	party_wants(lh, b, "a", LH_EXCLUSIVE, 3, 1);
	ns = t_now_ns();
	is(party_first(p, 2, T_HANG_MS), victim, "one of two returns -EDEADLK");
	is(v->result, -EDEADLK, "-EDEADLK");
	ns = (v->ended_ns - ns) / T_NS_PER_MS;
	diag("after %lld ms: %s", (long long)ns, v->detail);
	is(v->lease[0].mode, LH_SHARED, "its lease is shared");
	is(t_holders(lh, "k"), 2, "both still read");
	is(party_lets_go(v), 0, "it releases its key");
	party_follows(other, "the other goes on");
	return ns <= T6_MS;
}

/* A thread that reads twice, and wants one of them for itself. */
static void
own_other_lease(void)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_has(a, "k", LH_SHARED, HOUR_MS);
	party_begin(a, UPGRADE, "k", &o);
	is(party_result(a), -EDEADLK, "its own other lease is in its way");
	diag("%s", a->detail);
	is(party_lets_go(a), 0, "released");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	p[0] = a = party_new(table, NULL);
	p[1] = b = party_new(table, NULL);
	p[2] = c = party_new(table, NULL);
	ok(t_tries(3, barred_reader, NULL), "in time");
	writer_gives_way();
	no_circle();
	ok(t_tries(3, upgrade, NULL), "in time");
	ok(t_tries(3, upgrade, lh), "in time");
	own_other_lease();
	for (int i = 0; i < 3; i++)
		party_end(p[i]);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "deadlock through queue");
	return done();
}
