/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G5 and G6, timing T3: a writer that waits for readers is stopped,
 * and the readers queued behind it acquire while others go on holding the key;
 * newcomers acquire, too.  When the writer continues, it is in its old place:
 * it keeps newcomers out, and acquires when the readers have gone.
 *
 * Otherwise readers would wait for a stopped writer.
 */
#include <errno.h>
#include "readers.h"

#define READERS 3

static struct lh *lh;
static struct t_actor *h, *w, *r[READERS];

static bool
enter(void *arg)
{
	int64_t stopped_ns, released_ns, worst = 0, barred_ms;
	int entered = 0, waited = 0;

	(void)arg;
	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader holds it");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	for (int i = 0; i < READERS; i++)
		t_queue(lh, r[i], LH_SHARED, 0, i + 2);
	t_sleep_ms(t_ms(10));
	for (int i = 0; i < READERS; i++)
		waited += !t_answered(r[i]);
	is(waited, READERS, "readers wait behind a writer");
	t_stop(w->pid);
	stopped_ns = t_now_ns();
	for (int i = 0; i < READERS; i++) {
		entered += t_result(r[i]) == 0;
		if (t_after_ms(r[i], stopped_ns) > worst)
			worst = t_after_ms(r[i], stopped_ns);
	}
	is(entered, READERS, "it is stopped: they enter");
	is(t_do_verify(h), 0, "the first reader holds on");
	is(t_holders(lh, "k"), READERS + 1, "they are together");
	is(t_waiters(lh, "k"), 1, "the writer still waits");
	ok(t_until(T3_DEAD_MS, t_try(lh, "k", LH_SHARED, 0) == 0),
	    "newcomers are let in");
	for (int i = 0; i < READERS - 1; i++)
		is(t_do_release(r[i]), 0, "readers leave");

	t_cont(w->pid);
	stopped_ns = t_now_ns();
	ok(t_until(T_HANG_MS, t_try(lh, "k", LH_SHARED, 0) == -EAGAIN),
	    "resumed, it bars newcomers");
	barred_ms = t_since_ms(stopped_ns);
	ok(!t_answered(w), "and waits for those inside");
	is(t_do_release(r[READERS - 1]), 0, "one leaves");
	t_sleep_ms(t_ms(10));
	ok(!t_answered(w), "it waits for the other");
	released_ns = t_now_ns();
	is(t_do_release(h), 0, "the other leaves");
	is(t_result(w), 0, "it has the key");
	for (int i = 0; i < READERS; i++)
		if (r[i]->lease.token >= w->lease.token)
			fail("reader %d has the larger token", i);
	is(t_do_release(w), 0, "and releases");
	diag("readers in after %lld ms, newcomers barred after %lld ms, "
	    "writer in after %lld ms", (long long)worst, (long long)barred_ms,
	    (long long)t_after_ms(w, released_ns));
	return worst <= T3_DEAD_MS && barred_ms <= T3_DEAD_MS &&
	    t_after_ms(w, released_ns) <= T3_MS;
}

/* It stays stopped, and all readers leave: the key is free for others. */
static bool
never_resumed(void *arg)
{
	struct lh_lease l;
	int64_t ns;
	int r1;

	(void)arg;
	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader holds it");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	t_stop(w->pid);
	is(t_do_release(h), 0, "and leaves when the writer is stopped");
	ns = t_now_ns();
	r1 = t_read(lh, "k", HOUR_MS, T_HANG_MS, &l);
	is(r1, 0, "a reader gets past it");
	ns = t_since_ms(ns);
	is(lh_release(lh, &l), 0, "released");
	t_cont(w->pid);
	is(t_result(w), 0, "resumed, it has its turn");
	is(t_do_release(w), 0, "and releases");
	diag("after %lld ms", (long long)ns);
	return ns <= T3_DEAD_MS;
}

int
main(void)
{
	const char *table = t_table();

	h = t_actor(table);
	w = t_actor(table);
	for (int i = 0; i < READERS; i++)
		r[i] = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 2; i++)
		ok(t_tries(3, enter, NULL), "within %lld ms",
		    (long long)T3_DEAD_MS);
	ok(t_tries(3, never_resumed, NULL), "within %lld ms",
	    (long long)T3_DEAD_MS);
	t_actor_end(h);
	t_actor_end(w);
	for (int i = 0; i < READERS; i++)
		t_actor_end(r[i]);
	t_close(lh);
	return done();
}
