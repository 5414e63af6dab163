/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: a lease past its deadline is lost for good, also when
 * nobody wants the key: it is not extended, not verified, and not revived.  A
 * call that reports it expired has made it so first: after the refusal the key
 * is free for the next caller at once, and the holder's struct is unchanged.
 *
 * Otherwise a holder that is late would go on with a key that others could
 * hold.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh_lease
expired(struct lh *lh, const char *key)
{
	struct lh_lease l;

	is(t_acquire(lh, key, t_ms(25), 0, &l), 0, "a short lease on %s", key);
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	return l;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *b = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease l, copy;

	l = copy = expired(lh, "a");
	is(lh_extend(lh, &l, 3600000), -ESTALE,
	    "past its deadline it is not extended");
	ok(t_has_detail(), "with a reason");
	ok(memcmp(&l, &copy, sizeof(l)) == 0, "its struct is unchanged");
	is(lh_extend(lh, &l, 3600000), -ESTALE, "nor at the second try");
	is(lh_verify(lh, &l), -ESTALE, "nor verified");
	is(lh_verify_token(lh, "a", l.token), -ESTALE, "nor its token");
	is(t_do_acquire(b, "a", 1000, 0), 0, "another can have it at once");
	cmp(b->lease.token, >, l.token, "with a larger token");
	is(b->lease.notes, LH_NOTE_PREVIOUS_EXPIRED, "and the note");
	is(t_do_release(b), 0, "released");
	is(lh_extend(lh, &l, 3600000), -ESTALE, "still lost when it is free");

	l = expired(lh, "b");
	is(lh_verify(lh, &l), -ESTALE, "asked first: not verified");
	ok(t_has_detail(), "with a reason");
	is(lh_extend(lh, &l, 3600000), -ESTALE, "then not extended");
	is(lh_release(lh, &l), -ESTALE, "and not released as if held");
	is(t_do_acquire(b, "b", 1000, 0), 0, "another can have it");
	is(t_do_release(b), 0, "released");

	l = expired(lh, "c");
	is(lh_verify_token(lh, "c", l.token), -ESTALE, "by its token: lost");
	is(lh_verify(lh, &l), -ESTALE, "and by the lease");
	is(t_acquire(lh, "c", 3600000, 0, &copy), 0, "acquired anew");
	is(lh_extend(lh, &l, 1), -ESTALE, "the old lease does not extend it");
	is(lh_verify(lh, &copy), 0, "nor harm it");
	is(lh_release(lh, &copy), 0, "released");

	is(t_acquire(lh, "d", 3600000, 0, &l), 0, "a long lease");
	is(lh_extend(lh, &l, t_ms(20)), 0, "is made short");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	is(lh_extend(lh, &l, 3600000), -ESTALE, "and expires as such");
	t_actor_end(b);
	t_close(lh);
	return done();
}
