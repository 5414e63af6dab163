/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8, lh_with(): the function runs if the key is free and only then,
 * holds it all the time, learns of a loss by a descriptor and a flag, and its
 * own result is kept apart from the lock's.
 *
 * Otherwise a program would run its function without the key.
 */
#include <errno.h>
#include <poll.h>
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh, *other;

static int
look(const struct lh_held *held, void *arg)
{
	struct pollfd p = { .fd = held->loss_fd, .events = POLLIN };
	struct lh_lease l;

	is(lh_lock_valid(held->lock), 0, "the flag says held");
	is(poll(&p, 1, 0), 0, "the descriptor is quiet");
	is(lh_verify(lh, &held->lease), 0, "the lease is");
	is(t_acquire(other, "k", 1000, 0, &l), -EAGAIN, "nobody gets in");
	t_sleep_ms(*(int64_t *)arg);
	is(lh_lock_valid(held->lock), 0, "still held");
	is(poll(&p, 1, 0), 0, "renewals are not reported there");
	return -EAGAIN;		/* its own affair */
}

static int
lose(const struct lh_held *held, void *arg)
{
	struct pollfd p = { .fd = held->loss_fd, .events = POLLIN };

	is(lh_break(other, "k", NULL, 0), 1, "broken by an operator");
	is(t_acquire(other, "k", 60000, 0, arg), 0, "and taken by another");
	is(poll(&p, 1, (int)t_ms(10000)), 1, "the descriptor tells");
	is(lh_lock_valid(held->lock), -ESTALE, "the flag does");
	return 7;
}

static int
never(const struct lh_held *held, void *arg)
{
	(void)held;
	(void)arg;
	ok(0, "this does not run");
	return 0;
}

static int
nested(const struct lh_held *held, void *arg)
{
	int result = 5;

	(void)held;
	is(lh_with(lh, "k", NULL, never, NULL, &result), -EAGAIN,
	    "not again inside itself");
	is(result, 5, "no result");
	is(lh_with(lh, "other", arg, look, &(int64_t){ 0 }, NULL), -EAGAIN,
	    "busy is busy");
	return 0;
}

static void
play(void)
{
	struct lh_acquire_opts a = LH_ACQUIRE_OPTS_INIT;
	int64_t long_ms = t_long(1300), before;
	struct lh_lease mine;
	int result = 99;

	lh = t_open(t_table());
	other = t_open(lh_table_name(lh));
	a.ttl_ms = t_long(1000);
	is(lh_with(lh, "k", &a, look, &long_ms, &result), 0,
	    "it runs for longer than the ttl");
	is(result, -EAGAIN, "and its result is its own");
	is(t_holders(other, "k"), 0, "the key is free afterwards");

	mine = t_hold(other, "k");
	before = t_now_ns();
	result = 99;
	is(lh_with(lh, "k", NULL, never, NULL, &result), -EAGAIN, "held: busy");
	is(lh_with(lh, "k", &a, never, NULL, &result), -EAGAIN,
	    "also with options that would wait");
	cmp(t_since_ms(before), <, t_ms(1000), "at once");
	is(result, 99, "no result");
	is(lh_release(other, &mine), 0, "free again");

	is(lh_with(lh, "k", NULL, lose, &mine, &result), -ESTALE,
	    "lost meanwhile");
	is(result, 7, "the function's result is there");
	is(lh_verify(other, &mine), 0, "the next holder was not disturbed");
	is(lh_release(other, &mine), 0, "free again");

	mine = t_hold(other, "other");
	is(lh_with(lh, "k", NULL, nested, NULL, NULL), 0, "nested");
	is(lh_with(lh, "", NULL, never, NULL, NULL), -EINVAL, "a bad key");
	is(lh_with(NULL, "k", NULL, never, NULL, NULL), -EINVAL, "no table");
	a.ttl_ms = 0;
	is(lh_with(lh, "k", &a, never, NULL, NULL), -EINVAL, "a bad ttl");
	is(lh_release(other, &mine), 0, "released");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 600, "with runs under lease");
	return done();
}
