/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7, timing T3: a holder converts to shared while readers
 * wait.  The readers in front of the first queued writer acquire within T3 and
 * share the key with the holder; that writer and the readers behind it wait on.
 *
 * Otherwise the readers would wait for a release that does not come.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define FRONT 3

static struct lh *lh;
static struct t_actor *h, *front[FRONT], *w, *behind;

static bool
scene(void *arg)
{
	int64_t ns, worst = 0;
	int entered = 0, larger = 0;
	uint64_t old;

	(void)arg;
	is(t_do_acquire(h, "k", HOUR_MS, 0), 0, "a process holds it");
	old = h->lease.token;
	for (int i = 0; i < FRONT; i++)
		t_queue(lh, front[i], LH_SHARED, 0, i + 1);
	t_queue(lh, w, LH_EXCLUSIVE, 0, FRONT + 1);
	t_queue(lh, behind, LH_SHARED, 0, FRONT + 2);
	ns = t_now_ns();
	is(t_do_convert(h, LH_SHARED), 0, "it converts to shared");
	for (int i = 0; i < FRONT; i++) {
		entered += t_result(front[i]) == 0;
		if (t_after_ms(front[i], ns) > worst)
			worst = t_after_ms(front[i], ns);
		larger += front[i]->lease.token > old;
	}
	is(entered, FRONT, "the readers in front enter");
	is(larger, FRONT, "with larger tokens");
	is(t_holders(lh, "k"), FRONT + 1, "beside the holder");
	is(t_do_verify(h), 0, "who holds on");
	t_sleep_ms(t_long(20));
	ok(!t_answered(w), "the writer waits");
	ok(!t_answered(behind), "and the reader behind it");
	is(t_waiters(lh, "k"), 2, "those two");
	is(t_do_release(h), 0, "the holder releases");
	for (int i = 0; i < FRONT; i++) {
		if (t_answered(w))
			fail("the writer is in too early");
		is(t_do_release(front[i]), 0, "and each reader");
	}
	is(t_result(w), 0, "the writer has it");
	ok(!t_answered(behind), "alone");
	cmp(w->lease.token, >, h->lease.token, "with a larger token");
	is(t_do_release(w), 0, "it releases");
	is(t_result(behind), 0, "and the last reader has it");
	is(t_do_release(behind), 0, "and releases");
	diag("the last after %lld ms", (long long)worst);
	return worst <= T3_MS;
}

static void
play(void)
{
	const char *table = t_table();

	h = t_actor(table);
	for (int i = 0; i < FRONT; i++)
		front[i] = t_actor(table);
	w = t_actor(table);
	behind = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 3; i++)
		ok(t_tries(3, scene, NULL), "within %lld ms",
		    (long long)T3_MS);
	t_actor_end(h);
	for (int i = 0; i < FRONT; i++)
		t_actor_end(front[i]);
	t_actor_end(w);
	t_actor_end(behind);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "downgrade lets queued readers in");
	return done();
}
