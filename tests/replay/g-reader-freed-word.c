/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G9, crash row R2: a release has freed the lock word, and is
 * stopped before it frees the claim, which still says that its lease is held.
 * Other readers come.  A copy of the old lease must stay lost: its claim is
 * not one of the readers that the word leads to.
 *
 * Otherwise the old copy would verify as held while a writer has come and gone,
 * or holds the key.
 */
#include <errno.h>
#include "behaviour/readers.h"
#include "replay.h"

static struct lh *lh, *other;
static struct lh_lease old;

static int
read_and_release(void *unused)
{
	struct lh_lease mine;
	int error = t_read(lh, "k", REPLAY_LONG_MS, 0, &mine);

	(void)unused;
	old = mine;
	return error != 0 ? error : lh_release(lh, &mine);
}

static int
nothing(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

/* The release is stopped: a writer comes and goes, then a reader comes. */
static struct lh_lease
writer_then_reader(void)
{
	struct lh_lease w;

	is(lh_verify(lh, &old), -ESTALE, "the old lease is lost");
	is(replay_try(other, "k", &w), 0, "a writer acquires the key");
	is(lh_verify(lh, &old), -ESTALE, "the old lease is lost meanwhile");
	is(lh_release(other, &w), 0, "the writer releases it");
	return t_read_hold(other, "k");
}

/* The only reader of the key releases it. */
static void
reader(void)
{
	struct lh_session *to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_lease r;

	replay_stop("releaser", "shared.word_freed", read_and_release, NULL);
	r = writer_then_reader();
	is(lh_verify(lh, &old), -ESTALE, "beside a reader it stays lost");
	is(lh_status(lh, "k", old.id, nothing, NULL), -ESTALE, "by status");
	is(lh_extend(lh, &old, REPLAY_LONG_MS), -ESTALE, "by extend");
	is(lh_handoff(lh, &old, to), -ESTALE, "by hand-off");
	is(replay_finish("releaser"), 0, "the release ends");
	is(replay_leases_in(to), 0, "nothing was handed over");
	replay_session_end(to);
	is(lh_release(other, &r), 0, "released");
}

/* A reader's lease was upgraded: the copy is from before that. */
static void
upgraded(void)
{
	struct replay_call c = REPLAY_CALL(lh, "k", 0, 0);
	struct lh_lease r;

	c.lease = old = t_read_hold(lh, "k");
	is(lh_convert(lh, &c.lease, LH_EXCLUSIVE), 0, "a reader upgrades");
	is(lh_verify(lh, &old), -ESTALE, "the copy from before is lost");
	replay_stop("releaser", "release.word_freed", replay_release_lease, &c);
	r = writer_then_reader();
	is(lh_verify(lh, &old), -ESTALE, "beside a reader it stays lost");
	is(lh_extend(lh, &old, REPLAY_LONG_MS), -ESTALE, "by extend");
	is(replay_finish("releaser"), 0, "the release ends");
	is(lh_verify(lh, &old), -ESTALE, "it is still lost");
	is(lh_release(other, &r), 0, "released");
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	reader();
	upgraded();
	t_close(other);
	t_close(lh);
	return done();
}
