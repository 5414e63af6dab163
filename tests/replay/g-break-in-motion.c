/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9: lh_break() ends a lease also while its holder converts it,
 * hands it over or extends it.
 *
 * A reader that is being upgraded is, for a moment, neither: its claim says
 * that it holds the key alone, and the key's word still leads to readers.  An
 * extension changes the word that a break swaps.  A break must look again in
 * each of these cases, and must find a lease that is being handed over by its
 * name.
 *
 * Otherwise lh_break() would report that nobody held the key, and a holder that
 * is stopped there would keep it for as long as it had asked for.
 */
#include <string.h>
#include "proc/attachment.h"
#include "replay.h"

static struct lh *lh, *op;

static int
convert(void *arg)
{
	struct replay_call *c = arg;

	return lh_convert(c->lh, &c->lease, c->lease.mode == LH_SHARED ?
	    LH_EXCLUSIVE : LH_SHARED);
}

static int
break_it(void *arg)
{
	struct lh_lease *l = arg;

	return l == NULL ? lh_break(op, "k", NULL, 0) :
	    lh_break(op, "k", l->id, l->token);
}

static struct lh_lease
hold_as(uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l;

	o.mode = mode;
	if (lh_acquire(lh, "k", &o, &l) != 0)
		bail_out("not acquired: %s", lh_error_detail());
	return l;
}

/* The holder has lost the lease, and another caller acquires the key. */
static void
is_over(struct lh_lease *l, const char *what)
{
	struct lh_lease next;

	is(lh_verify(lh, l), -ESTALE, "%s: the holder's lease is lost", what);
	is(lh_release(lh, l), -ESTALE, " its release says so");
	is(replay_try(op, "k", &next), 0, " another caller acquires the key");
	is(next.notes, LH_NOTE_PREVIOUS_BROKEN,
	    " and its lease notes the break");
	is(lh_release(op, &next), 0, "  release");
	is(t_findings(lh), 0, "  the table is sound");
}

/* Breaks a lease in that mode, whose conversion is stopped. */
static void
in_conversion(uint32_t mode, const char *point, bool named)
{
	struct replay_call c = REPLAY_CALL(lh, "k", REPLAY_LONG_MS, 0);
	struct lh_lease l = c.lease = hold_as(mode);

	replay_stop("converter", point, convert, &c);
	is(break_it(named ? &l : NULL), 1, "%s, at %s, %s: broken",
	    mode == LH_SHARED ? "up" : "down", point,
	    named ? "by name" : "whoever holds it");
	is(replay_finish("converter"), -ESTALE, "the conversion fails");
	is_over(&c.lease, point);
}

struct hand {
	struct lh_session *to;
	struct lh_lease l;
};

static int
hand_over(void *arg)
{
	struct hand *h = arg;

	return lh_handoff(lh, &h->l, h->to);
}

static void
in_hand_over(uint32_t mode, struct lh_session *to)
{
	struct hand h = { .to = to, .l = hold_as(mode) };
	struct lh_lease l = h.l;

	replay_stop("giver", "handoff.taken", hand_over, &h);
	is(break_it(&l), 1, "mode %u, during a hand-off: broken", mode);
	is(replay_finish("giver"), -ESTALE, "the hand-off fails");
	is_over(&l, "handoff.taken");
}

static void
extended_meanwhile(uint32_t mode, bool named)
{
	struct lh_lease l = hold_as(mode);

	replay_stop("op", "break.seen", break_it, named ? &l : NULL);
	is(lh_extend(lh, &l, 2 * REPLAY_LONG_MS), 0, "extended meanwhile");
	is(replay_finish("op"), 1, "the break finds and ends it");
	is_over(&l, mode == LH_SHARED ? "shared" : "exclusive");
}

int
main(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	const char *table = replay_begin();
	struct lh_session *s;

	so.ttl_ms = REPLAY_LONG_MS;
	lh = replay_open(table, 0);
	op = replay_open(table, 0);
	is(lh_session_open(lh, "s", &so, &s), 0, "a session");
	for (int i = 0; i < 2; i++) {
		uint32_t mode = i == 0 ? LH_SHARED : LH_EXCLUSIVE;

		in_conversion(mode, "convert.prepared", true);
		in_conversion(mode, "convert.announced", false);
		in_conversion(mode, "convert.announced", true);
	}
	extended_meanwhile(LH_SHARED, false);
	extended_meanwhile(LH_SHARED, true);
	extended_meanwhile(LH_EXCLUSIVE, true);
	in_hand_over(LH_SHARED, s);
	in_hand_over(LH_EXCLUSIVE, s);
	lh_session_close(s);
	t_close(op);
	t_close(lh);
	return done();
}
