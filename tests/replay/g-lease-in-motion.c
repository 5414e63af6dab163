/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9, crash rows V1 and SE5: two threads present one lease at
 * once.  One converts it or hands it over, and is stopped; the other extends,
 * releases, converts, or hands over the lease, or sets its value.  The answers
 * of the two must be true together, and nothing may be left behind.
 *
 * Otherwise one of them would take the lease for lost while it is held, or the
 * key would stay held by nobody.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;

struct call {
	struct lh_lease lease;
	struct lh_session *to;
	uint32_t mode;
};

static int
convert(void *arg)
{
	struct call *c = arg;

	return lh_convert(lh, &c->lease, c->mode);
}

static int
hand_over(void *arg)
{
	struct call *c = arg;

	return lh_handoff(lh, &c->lease, c->to);
}

static int
acquire(struct lh *at, uint32_t mode, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(5000, 0);

	o.mode = mode;
	return lh_acquire(at, "k", &o, l);
}

/* Acquires a lease, and stops a call with it at that point. */
static struct lh_lease
begun(struct call *c, int (*fn)(void *), const char *point, uint32_t from)
{
	is(acquire(lh, from, &c->lease), 0, "a lease");
	c->mode = from == LH_SHARED ? LH_EXCLUSIVE : LH_SHARED;
	replay_stop("presenter", point, fn, c);
	return c->lease;
}

/* Checks that nobody holds the key. */
static void
all_is_free(void)
{
	struct lh_lease n;

	is(replay_try(other, "k", &n), 0, "the key is free");
	is(lh_release(other, &n), 0, "release");
	is(t_findings(lh), 0, "nothing is wrong");
}

/* The lease is extended meanwhile: the stopped call succeeds. */
static void
extended(int (*fn)(void *), const char *point, uint32_t from)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct call c = { .to = NULL };
	struct lh_session_info info;
	struct lh_lease l;

	is(lh_session_open(lh, "s", &so, &c.to), 0, "a session");
	l = begun(&c, fn, point, from);
	is(lh_extend(lh, &l, REPLAY_LONG_MS), 0, "extended at %s", point);
	is(lh_verify(lh, &l), 0, "it is held");
	is(replay_finish("presenter"), 0, "the stopped call succeeds");
	is(lh_verify(lh, &c.lease), 0, "its lease is held");
	ok(fn != hand_over || c.lease.expires_ns == l.expires_ns,
	    "with that deadline");
	is(lh_verify(lh, &l), -ESTALE, "and the first one is not");
	is(lh_session_info(c.to, &info), 0, "info");
	is((int)info.leases, fn == hand_over,
	    "the session holds it after a hand-off only");
	is(lh_release(lh, &c.lease), 0, "it is released");
	all_is_free();
	is(lh_session_destroy(c.to), 0, "destroy");
	lh_session_close(c.to);
}

/* An upgrade fails because another reader comes; meanwhile the acquiring thread
 * extends or releases the lease. */
static void
upgraded_in_vain(bool release)
{
	struct call c = { .to = NULL };
	struct lh_lease r, n, l = begun(&c, convert, "convert.announced",
	    LH_SHARED);

	is(acquire(other, LH_SHARED, &r), 0, "another reader comes");
	/* this thread uses its own claims again */
	is(replay_try(lh, "j", &n), 0, "another key");
	is(lh_release(lh, &n), 0, "release");
	is(release ? lh_release(lh, &l) : lh_extend(lh, &l, REPLAY_LONG_MS), 0,
	    "%s meanwhile", release ? "released" : "extended");
	is(replay_finish("presenter"), release ? -ESTALE : -EAGAIN,
	    "the upgrade fails");
	is(lh_verify(lh, &l), release ? -ESTALE : 0, "the lease is %s",
	    release ? "over" : "unchanged");
	if (!release)
		is(lh_release(lh, &l), 0, "release");
	is(lh_release(other, &r), 0, "the other leaves");
	all_is_free();
}

/* The lease is converted, handed over or used to set a value by a second
 * thread: that must wait, or succeeds; it is not lost. */
static void
converted(uint32_t from)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct call c = { .to = NULL };
	struct lh_lease n, l = begun(&c, convert, "convert.announced", from);

	is(lh_session_open(lh, "s", &so, &c.to), 0, "a session");
	n = l;
	is(lh_convert(lh, &n, c.mode), -EAGAIN,
	    "a second conversion must wait");
	ok(t_has_detail(), "with a reason");
	is(lh_convert_wait(lh, &n, c.mode, NULL), -EAGAIN,
	    "also with lh_convert_wait()");
	is(lh_handoff(lh, &n, c.to), -EAGAIN, "so must a hand-off");
	is(lh_verify(lh, &n), 0, "the lease is still held");
	is(lh_lease_recall(lh, "k", l.id, l.token, &n), 0,
	    "and can be recalled");
	ok(n.mode == l.mode && n.expires_ns == l.expires_ns, "unchanged");
	if (from == LH_EXCLUSIVE)
		is(lh_value_set(lh, &l, "v", 1), 0, "its value is set");
	is(replay_finish("presenter"), 0, "and it is converted");
	is(lh_release(lh, &c.lease), 0, "release");
	all_is_free();
	is(lh_session_destroy(c.to), 0, "destroy");
	lh_session_close(c.to);
}

/* Released by the acquiring thread during an upgrade, with no other reader. */
static void
released_alone(void)
{
	struct call c = { .to = NULL };
	struct lh_lease l = begun(&c, convert, "convert.announced", LH_SHARED);

	is(lh_release(lh, &l), 0, "released meanwhile");
	is(replay_finish("presenter"), -ESTALE, "the upgrade comes too late");
	all_is_free();
}

/* The lease is converted before an extension of its old copy returns. */
static void
extended_too_late(void)
{
	struct call c = { .mode = LH_SHARED };
	struct replay_call x = REPLAY_CALL(lh, "k", 200, 0);

	x.lease = begun(&c, convert, "convert.announced", LH_EXCLUSIVE);
	replay_stop("extender", "extend.checked", replay_extend, &x);
	is(replay_finish("presenter"), 0, "the downgrade succeeds");
	is(replay_finish("extender"), -ESTALE,
	    "the old copy cannot be extended");
	t_sleep_ms(300);
	is(lh_verify(lh, &c.lease), 0, "the new lease has its own deadline");
	is(lh_release(lh, &c.lease), 0, "release");
	all_is_free();
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	upgraded_in_vain(false);
	upgraded_in_vain(true);
	released_alone();
	converted(LH_EXCLUSIVE);
	converted(LH_SHARED);
	extended(convert, "convert.announced", LH_EXCLUSIVE);
	extended(convert, "convert.announced", LH_SHARED);
	extended(hand_over, "handoff.taken", LH_EXCLUSIVE);
	extended(hand_over, "handoff.taken", LH_SHARED);
	extended_too_late();
	t_close(other);
	t_close(lh);
	return done();
}
