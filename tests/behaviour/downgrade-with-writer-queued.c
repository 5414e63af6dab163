/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G7: a holder converts from exclusive to shared while a
 * writer waits.  That always succeeds, in one step, so that no writer comes
 * between; the writer stays blocked until the release, and keeps new readers
 * out.  The lease keeps its session and deadline and gets a larger token; the
 * old token and struct are refused.
 *
 * Otherwise a downgrade could lose the key to the waiting writer.
 */
#include <errno.h>
#include "readers.h"

static struct lh *lh;
static struct t_actor *h, *w, *n;

static void
superseded(struct lh_lease *old)
{
	struct lh_lease copy = *old;

	is(lh_verify_token(lh, "k", old->token), -ESTALE,
	    "the token of before is refused");
	is(lh_verify(lh, &copy), -ESTALE, "so is a copy of before");
	is(lh_extend(lh, &copy, 1), -ESTALE, "which extends nothing");
	is(lh_convert(lh, &copy, LH_SHARED), -ESTALE, "converts nothing");
	is(lh_release(lh, &copy), -ESTALE, "and releases nothing");
}

static bool
scene(void *arg)
{
	struct lh_lease old;
	int64_t ns;

	(void)arg;
	is(t_do_acquire(h, "k", HOUR_MS, 0), 0, "a process holds it");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	old = h->lease;
	is(t_do_convert(h, LH_SHARED), 0, "it converts to shared");
	is(h->lease.mode, LH_SHARED, "its lease says so");
	cmp(h->lease.token, >, old.token, "with a larger token");
	is(h->lease.expires_ns, old.expires_ns, "the same deadline");
	ok(h->lease.id[0] == old.id[0] && h->lease.id[1] != old.id[1],
	    "and a new id");
	is(t_do_verify(h), 0, "it is held");
	is(lh_verify_token(lh, "k", h->lease.token), 0, "by its token, too");
	is(lh_verify_token(lh, "k", old.token), -ESTALE, "not by the old");
	is(t_do_convert(h, LH_SHARED), 0, "again: nothing to do");
	t_sleep_ms(t_ms(30));
	ok(!t_answered(w), "the writer stays blocked");
	is(t_do_read(n, "k", HOUR_MS, 0), -EAGAIN,
	    "and bars a reader that comes");
	is(t_do_read(n, "k", HOUR_MS, t_ms(10)), -ETIMEDOUT, "or waits");
	is(t_holders(lh, "k"), 1, "there is one holder");
	ns = t_now_ns();
	is(t_do_release(h), 0, "it releases");
	is(t_result(w), 0, "the writer has it");
	cmp(w->lease.token, >, h->lease.token, "with a larger token");
	is(w->lease.notes, 0, "without a note");
	is(t_do_release(w), 0, "and releases");
	return t_after_ms(w, ns) <= T3_MS;
}

/* In this process, where copies of the lease can be presented. */
static void
same_lease(void)
{
	struct lh_lease l = t_hold(lh, "k"), old = l;
	struct t_view v;

	is(lh_convert(lh, &l, LH_SHARED), 0, "down");
	superseded(&old);
	is(lh_verify(lh, &l), 0, "the lease is held");
	is(lh_extend(lh, &l, 2 * HOUR_MS), 0, "and extended");
	is(t_look(lh, "k", &v), 0, "status");
	is(v.info.mode, LH_SHARED, "tells its mode");
	is(v.info.n_holders, 1, "and one holder");
	is_u64(v.info.token, l.token, "its token");
	is(v.holders[0].mode, LH_SHARED, "the holder's mode");
	is_u64(v.holders[0].id[1], l.id[1], "its id");
	is(v.holders[0].expires_ns, l.expires_ns, "and deadline");
	is(t_do_read(h, "k", HOUR_MS, 0), 0, "another reader enters");
	is(lh_release(lh, &l), 0, "released");
	is(t_do_verify(h), 0, "the other holds it");
	is(t_do_release(h), 0, "released");
	for (int i = 0; i < 200; i++) {
		l = t_hold(lh, "k");
		if (lh_convert(lh, &l, LH_SHARED) != 0 ||
		    lh_release(lh, &l) != 0)
			fail("round %d: %s", i, lh_error_detail());
	}
	is(t_holders(lh, "k"), 0, "many times: it is free");
}

int
main(void)
{
	const char *table = t_table();

	h = t_actor(table);
	w = t_actor(table);
	n = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 3; i++)
		ok(t_tries(3, scene, NULL), "within %lld ms",
		    (long long)T3_MS);
	same_lease();
	t_actor_end(h);
	t_actor_end(w);
	t_actor_end(n);
	t_close(lh);
	return done();
}
