/* SPDX-License-Identifier: MIT */
/*
 * Who releases a lease of a named session is killed, or stopped, when the key
 * is free and the claim is not yet: the claim comes back, the key, which others
 * have had since, does not go with the session, and who was only stopped is not
 * told that the lease was lost.
 */
#include <errno.h>
#include <stdio.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_session *s;

static int
strict(struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 2000);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = s;
	more.policy = LH_POLICY_STRICT;
	o.more = &more;
	return lh_acquire(lh, "k", &o, l);
}

static int
leases_in(void)
{
	struct lh_session_info info = { 0 };

	is(lh_session_info(s, &info), 0, "info");
	return (int)info.leases;
}

struct child {
	char table[64];
	struct lh_lease lease;
};

static int
child_releases(void *arg)
{
	struct child *x = arg;

	return lh_release(replay_open(x->table, 0), &x->lease);
}

static int
release(void *arg)
{
	return lh_release(other, arg);
}

/* Another lease on the key, in the same session: in the claim that is left. */
static void
claim_is_back(void)
{
	struct lh_lease l;

	is(strict(&l), 0, "another lease");
	is(leases_in(), 1, "has its claim");
	is(lh_verify(lh, &l), 0, "and is held");
	is(lh_value_set(lh, &l, "new", 3), 0, "a value is set");
	is(lh_release(lh, &l), 0, "release");
	is(leases_in(), 0, "nothing is left");
}

static void
killed(struct child *x)
{
	struct lh_lease l;
	char value[LH_VALUE_MAX];
	size_t len = 0;

	is(strict(&x->lease), 0, "a lease");
	replay_hold("child", "release.word_freed");
	(void)replay_fork("child", child_releases, x);
	replay_wait_held("child");
	replay_kill("child");
	is(leases_in(), 1, "its claim is held");
	claim_is_back();
	is(strict(&x->lease), 0, "a lease");
	replay_hold("child", "release.word_freed");
	(void)replay_fork("child", child_releases, x);
	replay_wait_held("child");
	replay_kill("child");
	is(replay_try(lh, "k", &l), 0, "others have the key");
	is(lh_value_set(lh, &l, "theirs", 6), 0, "and set its value");
	is(lh_release(lh, &l), 0, "release");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
	is(lh_value_get(lh, "k", value, &len, NULL), 0, "the key is there");
	is((int)len, 6, "with their value");
}

static void
stopped(void)
{
	struct lh_lease l;

	is(strict(&l), 0, "a lease");
	replay_hold("releaser", "release.word_freed");
	replay_go("releaser", release, &l);
	replay_wait_held("releaser");
	claim_is_back();
	replay_release("releaser");
	is(replay_result("releaser"), 0, "it was released");
}

static void
open_session(void)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = REPLAY_LONG_MS;
	o.on_end = LH_ON_END_DELETE;
	is(lh_session_open(lh, "s", &o, &s), 0, "a session");
}

int
main(void)
{
	const char *table = replay_begin();
	struct child *x = t_shared(sizeof(*x));

	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	lh = replay_open(table, 0);
	open_session();
	killed(x);
	other = replay_open(table, 0);
	open_session();
	stopped();
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
	is(t_findings(lh), 0, "nothing is wrong");
	t_close(other);
	t_close(lh);
	return done();
}
