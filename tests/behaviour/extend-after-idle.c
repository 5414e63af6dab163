/* SPDX-License-Identifier: MIT */
/*
 * G3, Lease: the deadline of an extend counts from now also in a thread that
 * has not looked at the clock for longer than the ttl; an extend never costs a
 * healthy lease.  (Once it did: the fast path installed a deadline counted from
 * the last tick the thread had seen, and looked at the clock only then.)
 *
 * And: who releases a lease that had run out leaves word of it (the note) to
 * the next holder.
 */
#include <errno.h>
#include "support/support.h"
#include "tap.h"

static void
extend_after_a_wait(struct lh *a, struct lh *b)
{
	struct lh_lease l, other;

	is(t_acquire(a, "x", 100, 0, &l), 0, "the thread saw the clock");
	is(lh_release(a, &l), 0, "released");
	is(t_acquire(b, "k", 130, 0, &other), 0, "somebody else has the key");
	is(t_acquire(a, "k", 100, 5000, &l), 0, "and runs out of time");
	is(lh_extend(a, &l, 100), 0, "extended right after the grant");
	cmp(l.expires_ns, >=, t_now_ns() + 60 * T_NS_PER_MS,
	    "the deadline counts from now");
	is(lh_release(a, &l), 0, "and is held until released");
}

static void
late_release(struct lh *a, struct lh *b)
{
	struct lh_lease l, next;

	is(t_acquire(a, "n", 100, 0, &l), 0, "held for 100 ms");
	t_sleep_ms(150);
	is(lh_extend(a, &l, 100), -ESTALE, "too late to extend");
	is(lh_release(a, &l), -ESTALE, "and to release");
	is(t_acquire(b, "n", 1000, 0, &next), 0, "the next one");
	is(next.notes, LH_NOTE_PREVIOUS_EXPIRED, "is told");
	is(lh_release(b, &next), 0, "released");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *a = t_open(table), *b = t_open(table);

	for (int i = 0; i < 3; i++)
		extend_after_a_wait(a, b);
	late_release(a, b);
	t_close(b);
	t_close(a);
	return done();
}
