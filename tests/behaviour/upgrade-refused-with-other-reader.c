/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G8: a reader that is not alone cannot convert to exclusive:
 * the call is refused at once, with everything unchanged, while another reader
 * lives: in another process, stopped, in the same process, in the same thread.
 * Older or younger.  Two that both ask are both refused, and neither hangs.
 * When the other has gone, it succeeds.
 *
 * Otherwise an upgrade would end another reader's lease, or hang.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

static struct lh *lh;
static struct t_actor *r;

static void
refused(struct lh_lease *l, int holders, const char *why)
{
	struct lh_lease before = *l;
	int64_t ns = t_now_ns();

	is(lh_convert(lh, l, LH_EXCLUSIVE), -EAGAIN, "%s: refused", why);
	ok(t_has_detail(), "with a reason");
	cmp(t_since_ms(ns), <=, T3_MS, "at once");
	ok(memcmp(l, &before, sizeof(before)) == 0, "the lease is unchanged");
	is(lh_verify(lh, l), 0, "and held");
	is(lh_verify_token(lh, "k", l->token), 0, "with its token");
	is(t_holders(lh, "k"), holders, "there are as many as before");
	is(lh_convert(lh, l, LH_SHARED), 0, "to shared: nothing to do");
	ok(memcmp(l, &before, sizeof(before)) == 0, "and nothing done");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "readers come and go");
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), -EAGAIN, "writers do not");
}

static void
granted(struct lh_lease *l)
{
	is(lh_convert(lh, l, LH_EXCLUSIVE), 0, "alone: it works");
	is(lh_verify(lh, l), 0, "and is held");
	is(lh_release(lh, l), 0, "and released");
}

static void
another_process(bool elder, bool stopped)
{
	struct lh_lease l;

	if (elder)
		is(t_do_read(r, "k", HOUR_MS, 0), 0, "a process reads");
	l = t_read_hold(lh, "k");
	if (!elder)
		is(t_do_read(r, "k", HOUR_MS, 0), 0, "a process reads");
	if (stopped)
		t_stop(r->pid);
	refused(&l, 2, stopped ? "another, stopped" : "another process");
	if (stopped)
		t_cont(r->pid);
	is(t_do_convert(r, LH_EXCLUSIVE), -EAGAIN, "both ask: refused, too");
	is(r->lease.mode, LH_SHARED, "its lease is shared");
	is(t_do_verify(r), 0, "and held");
	refused(&l, 2, "after the other asked");
	is(t_do_release(r), 0, "the other releases");
	granted(&l);
}

static void
own_other(void)
{
	struct lh_lease a = t_read_hold(lh, "k"), b = t_read_hold(lh, "k");

	refused(&a, 2, "another of this thread");
	refused(&b, 2, "the same the other way round");
	is(lh_release(lh, &a), 0, "one is released");
	granted(&b);
}

/* A waiting writer does not count, and a refusal does not let it in. */
static void
with_waiters(void)
{
	struct t_actor *w = t_actor(lh_table_name(lh));
	struct t_actor *q = t_actor(lh_table_name(lh));
	struct lh_lease l = t_read_hold(lh, "k");

	is(t_do_read(r, "k", HOUR_MS, 0), 0, "a process reads");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	t_queue(lh, q, LH_SHARED, 0, 2);
	for (int i = 0; i < 3; i++)
		is(lh_convert(lh, &l, LH_EXCLUSIVE), -EAGAIN, "refused");
	is(t_do_convert(r, LH_EXCLUSIVE), -EAGAIN, "both");
	t_sleep_ms(t_long(20));
	ok(!t_answered(w) && !t_answered(q), "those who wait wait on");
	is(t_holders(lh, "k"), 2, "two hold it");
	is(t_do_release(r), 0, "one releases");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "then the other can");
	ok(!t_answered(w) && !t_answered(q), "before those who wait");
	is(lh_release(lh, &l), 0, "released");
	is(t_result(w), 0, "the writer's turn");
	is(t_do_release(w), 0, "released");
	is(t_result(q), 0, "the reader's turn");
	is(t_do_release(q), 0, "released");
	t_actor_end(w);
	t_actor_end(q);
}

static void
play(void)
{
	const char *table = t_table();

	r = t_actor(table);
	lh = t_open(table);
	another_process(true, false);
	another_process(false, false);
	another_process(true, true);
	another_process(false, true);
	own_other();
	with_waiters();
	t_actor_end(r);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 30, "upgrade refused with other reader");
	return done();
}
