/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, named sessions (crash row R2): a process that releases a lease
 * of a named session is killed, or stopped, when the key is free and the claim
 * is not.  The claim must come back to the session; the key, which others have
 * used since, must not be deleted with the session; and a releaser that was
 * only stopped must report success.
 *
 * Otherwise the session would lose a claim at each such death, or its end would
 * delete a key and value of others.
 */
#include <errno.h>
#include <stdio.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_session *s;

static int
strict(struct lh_lease *l)
{
	return replay_into(lh, "k", s, LH_POLICY_STRICT, LH_EXCLUSIVE, l);
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

/* Acquires the key in the same session again: with the claim that was left. */
static void
claim_is_back(void)
{
	struct lh_lease l;

	is(strict(&l), 0, "another lease");
	is(replay_leases_in(s), 1, "uses its claim");
	is(lh_verify(lh, &l), 0, "and is held");
	is(lh_value_set(lh, &l, "new", 3), 0, "a value is set");
	is(lh_release(lh, &l), 0, "release");
	is(replay_leases_in(s), 0, "nothing is left");
}

static void
killed(struct child *x)
{
	struct lh_lease l;
	char value[LH_VALUE_MAX];
	size_t len = 0;

	is(strict(&x->lease), 0, "a lease");
	replay_killed_at("child", "release.word_freed", child_releases, x);
	is(replay_leases_in(s), 1, "its claim is held");
	claim_is_back();
	is(strict(&x->lease), 0, "a lease");
	replay_killed_at("child", "release.word_freed", child_releases, x);
	is(replay_try(lh, "k", &l), 0, "others acquire the key");
	is(lh_value_set(lh, &l, "theirs", 6), 0, "and set its value");
	is(lh_release(lh, &l), 0, "release");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
	is(lh_value_get(lh, "k", value, &len, NULL), 0, "the key is there");
	is((int)len, 6, "with the others' value");
}

static void
stopped(void)
{
	struct lh_lease l;

	is(strict(&l), 0, "a lease");
	replay_stop("releaser", "release.word_freed", release, &l);
	claim_is_back();
	is(replay_finish("releaser"), 0, "the release succeeds");
}

int
main(void)
{
	const char *table = replay_begin();
	struct child *x = t_shared(sizeof(*x));

	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	lh = replay_open(table, 0);
	s = replay_session_deletes(lh, "s");
	killed(x);
	other = replay_open(table, 0);
	s = replay_session_deletes(lh, "s");
	stopped();
	replay_session_end(s);
	is(t_findings(lh), 0, "the table is sound");
	t_close(other);
	t_close(lh);
	return done();
}
