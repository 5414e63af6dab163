/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a live handle is not valid when others can acquire its key:
 * neither during its release, nor for long when its lease was broken before
 * lh_lock_acquire() returned.
 *
 * Otherwise the program would go on under a handle that says "valid" while
 * another process holds the key.
 */
#include <errno.h>
#include "replay.h"
#include "support/object.h"

/* the renewing thread looks at all leases once a second anyway */
#define SOON_MS 300

static int
release(void *l)
{
	return lh_lock_release(l);
}

static int
acquire(void *l)
{
	return lh_lock_acquire(l, NULL);
}

static void
while_released(struct lh *lh, struct lh *other)
{
	struct lh_lease q;
	struct lh_lock *l;

	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	is(lh_lock_acquire(l, NULL), 0, "acquires");
	is(lh_lock_valid(l), 0, "valid");
	replay_stop("releaser", "release.word_freed", release, l);
	is(replay_try(other, "k", &q), 0, "another process acquires the key");
	is(lh_lock_valid(l), -ESTALE, "the handle is not valid");
	is(replay_finish("releaser"), 0, "released");
	is(lh_release(other, &q), 0, "released");
	is(lh_lock_close(l), 0, "closed");
}

static void
broken_before(struct lh *lh, struct lh *other)
{
	struct lh_lock *l, *beside;
	int64_t began;

	is(lh_lock_open(lh, "b", NULL, &beside), 0, "another handle");
	is(lh_lock_acquire(beside, NULL), 0,
	    "so that the renewing thread runs");
	is(lh_lock_open(lh, "k", NULL, &l), 0, "a handle");
	replay_stop("taker", "acquire.granted", acquire, l);
	is(lh_break(other, "k", NULL, 0), 1,
	    "the lease is broken before acquire returns");
	t_sleep_ms(20);
	began = t_now_ns();
	(void)replay_finish("taker");
	while (lh_lock_valid(l) == 0 && t_now_ns() - began < 2000000000)
		t_sleep_ms(1);
	cmp((t_now_ns() - began) / 1000000, <, t_ms(SOON_MS),
	    "the handle is soon not valid");
	is(lh_lock_close(l), 0, "closed");
	is(lh_lock_close(beside), 0, "closed");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);

	while_released(lh, other);
	broken_before(lh, other);
	t_close(other);
	t_close(lh);
	return done();
}
