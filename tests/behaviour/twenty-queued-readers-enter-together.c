/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7, timings T1 and T3: a writer releases to twenty queued
 * readers: all acquire together, soon, without waiting for each other, and the
 * writer queued behind them acquires when the last has left.  The same when the
 * first writer's deadline passes.
 *
 * Otherwise readers would pass the key on one by one.
 */
#include <errno.h>
#include "readers.h"

#define READERS 20

static struct lh *lh;
static struct t_actor *r[READERS], *w, *h;

static bool
enter(void *arg)
{
	bool expire = arg != NULL;
	int64_t from_ns, worst = 0;
	int entered = 0, good = 0, larger = 0;
	struct t_view v;

	is(t_do_acquire(h, "k", expire ? t_ms(400) : HOUR_MS, T_HANG_MS), 0,
	    "a writer holds it");
	for (int i = 0; i < READERS; i++)
		t_queue(lh, r[i], LH_SHARED, 0, i + 1);
	t_queue(lh, w, LH_EXCLUSIVE, 0, READERS + 1);
	is(t_holders(lh, "k"), 1, "all wait for it");
	from_ns = t_now_ns();
	if (expire)
		from_ns = h->lease.expires_ns;
	else
		is(t_do_release(h), 0, "it releases");
	for (int i = 0; i < READERS; i++) {
		entered += t_result(r[i]) == 0;
		if (t_after_ms(r[i], from_ns) > worst)
			worst = t_after_ms(r[i], from_ns);
	}
	is(entered, READERS, "%d readers enter", READERS);
	is(t_look(lh, "k", &v), 0, "status");
	is(v.info.n_holders, READERS, "all at once");
	is(v.info.mode, LH_SHARED, "shared");
	is(v.info.n_waiters, 1, "one waits: the writer");
	for (int i = 0; i < READERS; i++) {
		good += t_do_verify(r[i]) == 0;
		larger += r[i]->lease.token > h->lease.token;
	}
	is(good, READERS, "each holds its lease");
	is(larger, READERS, "with a token larger than the writer's");
	for (int i = 0; i < READERS; i++) {
		if (t_answered(w))
			fail("the writer is in before reader %d left", i);
		if (t_do_release(r[i]) != 0)
			fail("reader %d releases", i);
	}
	is(t_result(w), 0, "they leave, and the writer has it");
	larger = 0;
	for (int i = 0; i < READERS; i++)
		larger += w->lease.token > r[i]->lease.token;
	is(larger, READERS, "with a token larger than theirs");
	is(t_do_release(w), 0, "and releases");
	if (expire)
		is(t_do_release(h), -ESTALE, "the first has lost it");
	diag("the last after %lld ms", (long long)worst);
	return worst <= (expire ? T1_MS : T3_MS);
}

int
main(void)
{
	const char *table = t_table();

	for (int i = 0; i < READERS; i++)
		r[i] = t_actor(table);
	w = t_actor(table);
	h = t_actor(table);
	lh = t_open(table);
	ok(t_tries(3, enter, NULL), "within %lld ms", (long long)T3_MS);
	ok(t_tries(3, enter, h), "past a deadline, within %lld ms",
	    (long long)T1_MS);
	for (int i = 0; i < READERS; i++)
		t_actor_end(r[i]);
	t_actor_end(w);
	t_actor_end(h);
	t_close(lh);
	return done();
}
