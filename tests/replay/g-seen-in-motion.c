/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: a lease that others see before its holder's call
 * returns.  A call makes a lease (by a conversion, a hand-off or a grant) and
 * is stopped before it looks at the clock.  A second thread finds the lease by
 * status and begins to convert it.  The first call must return that lease as
 * held, and the lease must be usable afterwards.
 *
 * Otherwise the first call would take the lease in motion for a lost one, or
 * return the id of another use, and its holder could not release the key.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_session *session;
static struct lh_lease mine;	/* of the first call */

static int
downgrade(void *l)
{
	return lh_convert(lh, l, LH_SHARED);
}

static int
upgrade(void *l)
{
	return lh_convert(lh, l, LH_EXCLUSIVE);
}

static int
hand_over(void *l)
{
	return lh_handoff(lh, l, session);
}

static int
read_by(struct lh *by, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, REPLAY_MS);

	o.mode = LH_SHARED;
	return lh_acquire(by, "k", &o, l);
}

static int
read_key(void *l)
{
	return read_by(lh, l);
}

static int
write_key(void *l)
{
	return t_acquire(lh, "k", REPLAY_LONG_MS, REPLAY_MS, l);
}

static const struct row {
	const char *what;
	int (*before)(void *lease);	/* NULL: nothing is held before */
	int (*call)(void *lease);
	const char *point;		/* where the call is stopped */
	bool waits;			/* the call waits for the key first */
} rows[] = {
	{ "downgrade", write_key, downgrade, "convert.swapped", false },
	{ "hand-off", read_key, hand_over, "handoff.let_go", false },
	{ "grant", NULL, read_key, "acquire.granted", false },
	{ "grant after a wait", NULL, read_key, "acquire.granted", true },
	{ "exclusive grant", NULL, write_key, "acquire.granted", true },
};

/* The first call has made a reader's lease: the second cannot upgrade it. */
static void
read_by_two(const struct row *r, struct lh_lease *found)
{
	struct lh_lease beside;

	replay_stop("second", "convert.announced", upgrade, found);
	is(replay_finish("first"), 0, "%s: the first call succeeds", r->what);
	is(read_by(other, &beside), 0, "another reader joins");
	is(replay_finish("second"), -EAGAIN, "the upgrade must wait for it");
	is(lh_verify(lh, found), 0, "the found lease is held");
	is(lh_verify(lh, &mine), 0, "the first call's copy is held");
	is(lh_release(other, &beside), 0, "the other reader leaves");
	is(lh_convert(lh, &mine, LH_EXCLUSIVE), 0, "now it can be upgraded");
	is(lh_release(lh, &mine), 0, "and released");
}

static void
written_by_one(const struct row *r, struct lh_lease *found)
{
	replay_stop("second", "convert.announced", downgrade, found);
	is(replay_finish("first"), 0, "%s: the first call succeeds", r->what);
	is(replay_finish("second"), 0, "the second thread downgrades it");
	is(lh_verify(lh, found), 0, "the downgraded lease is held");
	is(lh_release(lh, found), 0, "and released");
}

static void
play(const struct row *r)
{
	struct lh_lease found, before;

	if (r->before != NULL)
		is(r->before(&mine), 0, "%s: a lease", r->what);
	else
		before = t_hold(other, "k");
	if (r->before == NULL && !r->waits)
		is(lh_release(other, &before), 0, "the key is free");
	replay_hold("first", r->point);
	replay_go("first", r->call, &mine);
	if (r->waits) {
		ok(t_await_waiters(other, "k", 1), "the first call waits");
		is(lh_release(other, &before), 0, "the key is free");
	}
	replay_wait_held("first");
	is(replay_find(lh, "k", &found), 0, "others see the lease");
	if (r->call == write_key)
		written_by_one(r, &found);
	else
		read_by_two(r, &found);
	is(replay_try(other, "k", &before), 0, "the key is free at the end");
	is(lh_release(other, &before), 0, "released");
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	session = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		play(&rows[i]);
	replay_session_end(session);
	t_close(other);
	t_close(lh);
	return done();
}
