/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 C: error details name the right key, holder and cause, or say that
 * they do not know.  The lease's claim may be in another use by now, or belong
 * to a named session; the key may be reserved for a lock-delay; a hand-over's
 * session may have ended.
 *
 * Otherwise an operator would act on a process or key that has nothing to do
 * with the failure.
 */
#include <errno.h>
#include <string.h>
#include "session.h"

static struct lh *lh, *other;

static bool
said(const char *words)
{
	if (strstr(lh_error_detail(), words) != NULL)
		return true;
	diag("%s", lh_error_detail());
	return false;
}

static void
claim_used_for_another_key(void)
{
	struct lh_lease a = t_hold(lh, "a"), copy = a, b;

	is(lh_release(lh, &a), 0, "released");
	b = t_hold(lh, "b");
	is(lh_verify(lh, &copy), -ESTALE, "a copy of it is lost");
	ok(said("the lease on 'a' is lost"), "its own key is named");
	ok(said("how is not known any more"), "and that its end is not known");
	is(lh_release(lh, &b), 0, "released");
}

static void
forgotten_key(void)
{
	struct lh_lease a = t_hold(lh, "forgotten"), copy = a;

	is(lh_release(lh, &a), 0, "released");
	is(lh_destroy(lh, "forgotten"), 0, "forgotten");
	is(lh_verify(lh, &copy), -ESTALE, "a copy of the lease is lost");
	ok(said("the lease on a key that was forgotten since is lost"),
	    "no key is named");
}

static void
held_by_a_session(void)
{
	struct lh_session *s = open_session(lh, "job", 30000, 0, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease l, no;

	more.session = s;
	more.policy = LH_POLICY_STRICT;
	o.more = &more;
	is(lh_acquire(lh, "disk", &o, &l), 0, "acquired into a session");
	is(t_acquire(other, "disk", 1000, 0, &no), -EAGAIN, "busy");
	ok(said("held by session 'job' for"), "the session holds it");
	ok(said("that session ends in "), "until it ends");
	ok(said("unless it is renewed"), "if it is not renewed");
	is(lh_session_destroy(s), 0, "destroyed");
	lh_session_close(s);
	s = open_session(lh, "job", 30000, 0, 0);
	is(acquire_into(lh, s, "disk", LH_EXCLUSIVE, &l), 0, "by a deadline");
	is(lh_extend(lh, &l, 5000), 0, "that is sooner than the session's");
	is(t_acquire(other, "disk", 1000, 0, &no), -EAGAIN, "busy");
	ok(said("its lease ends in "), "the error gives that end");
	is(lh_session_destroy(s), 0, "destroyed");
	lh_session_close(s);
}

static void
kept_back(void)
{
	struct lh_session *s = open_session(lh, "d", t_long(100), 60000, 0);
	struct lh_lease l, no;
	int got = acquire_into(lh, s, "tape", LH_EXCLUSIVE, &l);

	ok(got == 0 || got == -ESTALE, "acquired, if in time");
	ok(t_until(T_HANG_MS, t_holders(other, "tape") == 0), "it has ended");
	is(t_acquire(other, "tape", 1000, 0, &no), got == 0 ? -EAGAIN : 0,
	    "kept back");
	ok(got != 0 || said("nobody is granted it for "), "says so");
	lh_session_close(s);
}

static void
handed_to_an_ended_session(void)
{
	struct lh_session *s = open_session(lh, "target", 30000, 0, 0);
	struct lh_lease l = t_hold(lh, "h"), lost = l;

	is(lh_session_destroy(s), 0, "the target has ended");
	is(lh_handoff(lh, &l, s), -ENOENT, "no such session");
	ok(said("has ended: the lease is as it was"), "says so");
	is(lh_verify(lh, &l), 0, "it is held still");
	is(lh_release(lh, &l), 0, "released");
	lh_session_close(s);
	s = open_session(lh, "target", 30000, 0, 0);
	is(lh_handoff(lh, &lost, s), -ESTALE, "a lost lease: stale");
	ok(said("the lease on 'h' is lost"), "says so");
	lh_session_close(s);
}

int
main(void)
{
	const char *table = t_table();

	lh = t_open(table);
	other = t_open(table);
	claim_used_for_another_key();
	forgotten_key();
	held_by_a_session();
	kept_back();
	handed_to_an_ended_session();
	t_close(other);
	t_close(lh);
	return done();
}
