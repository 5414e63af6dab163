/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, counted re-entry: a lease that was entered twice needs two
 * releases, also if another thread of the holder asks for the key just when it
 * has been converted.
 *
 * Otherwise the holder's count would be lost, and its first release would free
 * a key that it still uses.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;

static int
enter(struct lh_lease *l, uint32_t mode)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);

	more.holder = "h";
	o.more = &more;
	o.mode = mode;
	return lh_acquire(lh, "k", &o, l);
}

static int
convert(void *arg)
{
	return lh_convert(lh, arg, LH_SHARED);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh_lease a = { 0 }, b = { 0 }, c = { 0 }, x;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(enter(&a, LH_EXCLUSIVE), 0, "the holder acquires the key");
	is(enter(&b, LH_EXCLUSIVE), 0, "and enters it again");
	replay_stop("converter", "convert.looked", convert, &a);
	is(enter(&c, LH_EXCLUSIVE), -EAGAIN,
	    "a third entry must wait for the conversion");
	is(replay_finish("converter"), 0, "converted");
	b = a;
	is(lh_release(lh, &a), 0, "released once");
	is(lh_verify(lh, &b), 0, "the lease is still held");
	is(replay_try(other, "k", &x), -EAGAIN,
	    "and nobody else acquires the key");
	is(lh_release(lh, &b), 0, "released twice");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "entered, converted");
	return done();
}
