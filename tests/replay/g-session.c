/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G3 and G4, named sessions (crash rows SE1 to SE3). A renewal
 * races the session's end: only one of them may win.  Two processes make one
 * name at once: both must have the same session.  A process that keeps a chunk
 * of claims is stopped while the session is destroyed, or is killed: the claims
 * must stay its own, or be used again.
 *
 * Otherwise a session's key would be granted to others while the session counts
 * as alive, or its claims would be lost.
 */
#include <errno.h>
#include "replay.h"

#define TTL_MS t_long(600)

static struct lh *lh, *other;
static struct lh_session *s, *again;

struct open_call {
	struct lh *lh;
	const char *name;
	int64_t ttl_ms;
	uint32_t flags;
	struct lh_session *s;
};

static int
open_it(void *arg)
{
	struct open_call *c = arg;
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = c->ttl_ms;
	o.flags = c->flags;
	return lh_session_open(c->lh, c->name, &o, &c->s);
}

static struct lh_session *
session(struct lh *at, const char *name, int64_t ttl_ms)
{
	struct open_call c = { at, name, ttl_ms, 0, NULL };

	is(open_it(&c), 0, "session '%s'", name);
	return c.s;
}

static int
renew(void *arg)
{
	int64_t ms = lh_session_renew(arg);

	return ms < 0 ? (int)ms : 0;
}

static int
into(struct lh *at, struct lh_session *to, const char *key,
    struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = to;
	o.more = &more;
	return lh_acquire(at, key, &o, l);
}

static void
begin(struct lh_lease *l, int64_t *end_ns)
{
	struct lh_session_info info;

	s = session(lh, "a", TTL_MS);
	is(into(lh, s, "k", l), 0, "a lease in it");
	is(lh_session_info(s, &info), 0, "info");
	*end_ns = info.expires_ns;
}

/* The renewal is stopped until the session has ended, and others have acquired
 * the key. */
static void
renewal_late(const char *point)
{
	struct lh_lease l, n;
	int64_t end;

	begin(&l, &end);
	replay_stop("renewer", point, renew, s);
	t_sleep_until(end + 5 * T_NS_PER_MS);
	is(replay_try(other, "k", &n), 0, "%s: the end comes first", point);
	is(replay_finish("renewer"), -ESTALE, "the renewal fails");
	is(lh_verify(other, &n), 0, "the next holder's lease is held");
	is(lh_release(other, &n), 0, "release");
	lh_session_close(s);
}

/* Swapped in time, but the clock is looked at too late: undone. */
static void
renewal_undone(void)
{
	struct lh_lease l, n;
	int64_t end;

	begin(&l, &end);
	t_sleep_ms(t_long(250));
	replay_stop("renewer", "named.renewed", renew, s);
	t_sleep_until(end + 5 * T_NS_PER_MS);
	is(replay_try(other, "k", &n), -EAGAIN,
	    "swapped: the session is alive for others");
	is(replay_finish("renewer"), -ESTALE, "but late, and undone");
	is(replay_try(other, "k", &n), 0, "then others acquire the key");
	is(lh_release(other, &n), 0, "release");
	lh_session_close(s);
}

/* Another process renews the session in the same unit of time: it stays alive,
 * because that call has returned success. */
static void
renewal_on_top(void)
{
	struct lh_session_info info;
	struct lh_lease l, n;
	int64_t end;

	begin(&l, &end);
	again = session(other, "a", t_long(1000));
	is(lh_session_info(s, &info), 0, "info");
	end = info.expires_ns;
	t_sleep_until(end - t_long(300) * T_NS_PER_MS);
	replay_stop("renewer", "named.renewed", renew, s);
	is(renew(again), 0, "another renews it");
	t_sleep_until(end + 5 * T_NS_PER_MS);
	is(replay_finish("renewer"), 0, "the late one finds it alive");
	is(replay_try(other, "k", &n), -EAGAIN, "and so do others");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(again);
	lh_session_close(s);
}

/* The caller that ends the session has read the end before a timely renewal. */
static void
stale_ender(void)
{
	struct replay_call ender = REPLAY_CALL(other, "k", REPLAY_LONG_MS, 0);
	struct lh_lease l;
	int64_t end;

	begin(&l, &end);
	t_sleep_until(end - t_long(300) * T_NS_PER_MS);
	replay_stop("renewer", "named.renewing", renew, s);
	is(replay_finish("renewer"), 0, "renewed at the last moment");
	t_sleep_until(end + 5 * T_NS_PER_MS);
	replay_go("ender", replay_acquire, &ender);
	is(replay_result("ender"), -EAGAIN, "the session is alive");
	is(lh_verify(lh, &l), 0, "and its lease is held");
	is(lh_session_info(s, &(struct lh_session_info){ 0 }), 0, "info");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

/* Two processes make one name; the first is stopped at that point. */
/* Many renewals at once: the session ends its ttl after the last of them, and
 * the table is sound. */
static void
often_renewed(void)
{
	struct lh_session_info info = { .size = sizeof(info) };
	int failed = 0;

	s = session(lh, "often", 60000);
	for (int i = 0; i < 300; i++)
		failed += lh_session_renew(s) != 60000;
	is(failed, 0, "300 renewals");
	is(lh_session_info(s, &info), 0, "the session's end");
	cmp(info.expires_ns - lh_clock_ns(lh), <=, 60010 * INT64_C(1000000),
	    "  is the ttl from the last of them");
	is(lh_check(lh, NULL, NULL), 0, "  and nothing is damaged");
	is(lh_session_destroy(s), 0, "destroyed");
	lh_session_close(s);
}

static void
makers(const char *point)
{
	struct open_call a = { lh, "m", 60000, 0, NULL };
	struct open_call b = { other, "m", 60000, 0, NULL };
	struct lh_session_info x, y;

	replay_stop("maker", point, open_it, &a);
	is(open_it(&b), 0, "%s: the other makes it", point);
	is(replay_finish("maker"), 0, "the stopped one has it as well");
	is(lh_session_info(a.s, &x), 0, "info");
	is(lh_session_info(b.s, &y), 0, "info");
	ok(x.id == y.id, "it is the same session");
	is(lh_session_destroy(a.s), 0, "destroy");
	is(lh_session_renew(b.s), -ESTALE, "it has ended for both");
	lh_session_close(a.s);
	lh_session_close(b.s);
}

struct handoff_call {
	struct lh *lh;
	struct lh_lease lease;
	struct lh_session *to;
};

static int
hand_over(void *arg)
{
	struct handoff_call *c = arg;

	return lh_handoff(c->lh, &c->lease, c->to);
}

/* The keeper is stopped while the session is destroyed: the claims of its chunk
 * are not reclaimed.  Then it reports that the session has ended, before its
 * lease has moved (-ENOENT: the lease is unchanged) or after that (-ESTALE). */
static void
keeper_stopped(const char *point, int ends)
{
	struct handoff_call c = { .lh = lh };
	struct lh_lease n, m;

	s = session(lh, "k", 60000);
	is(into(lh, s, "first", &m), 0, "it has a chunk");
	again = session(other, "k", 60000);
	c.lease = t_hold(lh, "k");
	c.to = s;
	replay_stop("keeper", point, hand_over, &c);
	is(lh_session_destroy(again), 0, "%s: destroyed", point);
	is(replay_try(other, "first", &n), 0, "the key that it held is free");
	is(lh_release(other, &n), 0, "release");
	/* other sessions use the chunk meanwhile */
	for (int i = 0; i < 3; i++) {
		lh_session_close(again);
		again = session(other, "k", 60000);
		is(into(other, again, "first", &n), 0, "another session");
		is(lh_verify(other, &n), 0, "holds");
		is(lh_session_destroy(again), 0, "and is destroyed");
	}
	is(replay_finish("keeper"), ends,
	    "it reports that the session has ended");
	is(lh_verify(lh, &c.lease), ends == -ENOENT ? 0 : -ESTALE,
	    "its lease is %s", ends == -ENOENT ? "unchanged" : "lost");
	is(t_findings(lh), 0, "the table is sound");
	if (lh_release(lh, &c.lease) != 0) {
		is(replay_try(lh, "k", &n), 0, "the key is free as well");
		is(lh_release(lh, &n), 0, "release");
	}
	lh_session_close(again);
	lh_session_close(s);
}

static int
open_and_hand_over(void *arg)
{
	struct lh *mine = replay_open(arg, 0);
	struct lh_session *to = session(mine, "k", 60000);
	struct lh_lease l = t_hold(mine, "theirs");

	return lh_handoff(mine, &l, to);
}

/* The keeper of the only chunk is killed: others use its claims. */
static void
keeper_killed(const char *table)
{
	struct lh_stats before = { .size = sizeof(before) }, after = before;
	struct lh_lease n, m;

	s = session(lh, "k", 60000);
	is(into(lh, s, "first", &m), 0, "it has a chunk");
	replay_hold("child", "handoff.announced");
	(void)replay_fork("child", open_and_hand_over, (void *)table);
	replay_wait_held("child");
	is(lh_stats(lh, &before), 0, "stats");
	replay_kill("child");
	is(into(lh, s, "second", &n), 0, "killed: its chunk is taken over");
	is(lh_stats(lh, &after), 0, "stats");
	cmp(after.leases_reserved, <=, before.leases_reserved,
	    "no other chunk was needed");
	is(into(lh, s, "theirs", &n), 0,
	    "the key that the dead process held is free");
	is(lh_session_destroy(s), 0, "destroy");
	is(t_findings(lh), 0, "the table is sound");
	lh_session_close(s);
}

static void
play_all(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	keeper_killed(table);
	often_renewed();
	other = replay_open(table, 0);
	renewal_late("named.renewing");
	renewal_undone();
	renewal_on_top();
	stale_ender();
	makers("named.reserved");
	makers("named.pending");
	makers("named.alone");
	keeper_stopped("tenant.keeper", -ENOENT);
	keeper_stopped("handoff.announced", -ESTALE);
	keeper_stopped("handoff.taken", -ESTALE);
	keeper_stopped("handoff.swapped", -ESTALE);
	keeper_stopped("handoff.let_go", -ESTALE);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 240, "session");
	return done();
}
