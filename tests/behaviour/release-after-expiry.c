/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G11: a release past the deadline frees the key and succeeds
 * if nobody had noticed the expiry; if somebody had, it returns -ESTALE and
 * does not change what has become of the key since.
 *
 * Otherwise a late release would free the key under its next holder.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh_lease
expired(struct lh *lh)
{
	struct lh_lease l;

	is(t_acquire(lh, "k", t_ms(25), 0, &l), 0, "a short lease");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	return l;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *b = t_actor(table), *c = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease l;

	l = expired(lh);
	is(lh_release(lh, &l), 0, "unnoticed: released");
	is(lh_release(lh, &l), 0, "twice");
	is(t_do_acquire(b, "k", 3600000, 0), 0, "the key is free");
	cmp(b->lease.token, >, l.token, "larger token");
	is(t_do_release(b), 0, "released");

	l = expired(lh);
	is(t_do_acquire(b, "k", 3600000, 0), 0, "noticed by who took it");
	is(b->lease.notes, LH_NOTE_PREVIOUS_EXPIRED, "which has the note");
	t_begin_acquire(c, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "and another waits");
	is(lh_release(lh, &l), -ESTALE, "the late release says lost");
	ok(t_has_detail(), "with a reason");
	is(lh_release(lh, &l), -ESTALE, "also the second time");
	is(t_do_verify(b), 0, "the holder holds");
	is(t_waiters(lh, "k"), 1, "the waiter waits");
	ok(!t_answered(c), "and was not let in");
	is(t_do_release(b), 0, "released");
	is(t_result(c), 0, "now it is");
	is(c->lease.notes, 0, "after a clean release");
	is(t_do_release(c), 0, "released");
	is(lh_release(lh, &l), -ESTALE, "the old one is still lost");

	l = expired(lh);
	is(t_holders(lh, "k"), 0, "noticed by who asked");
	is(lh_release(lh, &l), -ESTALE, "the late release says lost");
	is(t_do_acquire(b, "k", 3600000, 0), 0, "the key is free");
	is(t_do_release(b), 0, "and well");
	t_actor_end(b);
	t_actor_end(c);
	t_close(lh);
	return done();
}
