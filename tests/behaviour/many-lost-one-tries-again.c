/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: in a call for several keys, one that was won is lost while the
 * call waits for another.  The call releases all and acquires them again, with
 * new tokens, within its one time to wait.
 *
 * Otherwise the call would return a set of which one key is held by somebody
 * else.
 */
#include <errno.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh, *other;

static const struct lh_item items[] = { { .key = "a" }, { .key = "b" },
	{ .key = "c" } };

static int
see(const struct lh_key_info *info, void *arg)
{
	*(uint64_t *)arg = info->n_holders > 0 ? info->holders[0].token : 0;
	return 0;
}

static uint64_t
token_of(const char *key)
{
	uint64_t token = 0;

	(void)lh_status(lh, key, NULL, see, &token);
	return token;
}

struct taken {
	uint64_t first;		/* the token of "a" in the first round */
	struct lh_lease mine;	/* of "a", in between */
	struct lh_lease last;	/* of "c" */
};

static void *
operate(void *arg)
{
	struct taken *t = arg;

	ok(t_await_waiters(lh, "c", 1), "it waits for the last");
	t->first = token_of("a");
	is(lh_break(other, "a", NULL, 0), 1, "an operator ends the first");
	is(t_acquire(other, "a", 60000, 0, &t->mine), 0, "and takes it");
	ok(t_until(T_HANG_MS, t_waiters(lh, "a") == 1), "it waits for that");
	is(t_holders(lh, "b"), 0, "and has given back the second");
	is(t_waiters(lh, "c"), 0, "and does not wait for the last");
	is(lh_release(other, &t->mine), 0, "the first is free");
	ok(t_await_waiters(lh, "c", 1), "it waits for the last again");
	is(lh_release(other, &t->last), 0, "which is free");
	return NULL;
}

static void
tries_again(void)
{
	struct lh_acquire_opts o = t_opts(t_long(500), T_HANG_MS);
	struct taken t = { .last = t_hold(other, "c") };
	unsigned long op = t_thread(operate, &t);
	struct lh_lease l[3];

	o.flags = LH_NO_DEADLOCK;	/* we hold what we wait for */
	is(lh_acquire_many(lh, items, 3, &o, l), 0, "all keys are acquired");
	t_join(op);
	cmp(l[0].token, >, t.mine.token, "the first anew (G9, G2)");
	cmp(l[0].token, >, t.first, "not as it was");
	for (int i = 0; i < 3; i++)
		is(lh_verify(lh, &l[i]), 0, "'%s' is held", items[i].key);
	is(lh_release_many(lh, l, 3), 0, "released");
}

static void *
take_one(void *arg)
{
	ok(t_await_waiters(lh, "c", 1), "it waits for the last");
	is(lh_break(other, "a", NULL, 0), 1, "an operator ends the first");
	is(t_acquire(other, "a", 60000, 0, arg), 0, "and keeps it");
	return NULL;
}

static void
within_its_time(void)
{
	struct lh_acquire_opts o = t_opts(t_long(300), t_long(600));
	struct lh_lease l[3], last = t_hold(other, "c"), mine;
	unsigned long op = t_thread(take_one, &mine);
	int64_t began = t_now_ns(), took;

	o.flags = LH_NO_DEADLOCK;
	is(lh_acquire_many(lh, items, 3, &o, l), -ETIMEDOUT,
	    "the call times out");
	took = t_now_ns() - began;
	t_join(op);
	cmp(took, >=, t_long(600) * T_NS_PER_MS, "not before its time");
	cmp(took, <=, (t_long(600) + T4_MS) * T_NS_PER_MS, "nor long after it");
	is(t_holders(lh, "b"), 0, "nothing is held");
	is(lh_verify(other, &mine), 0, "the other's lease was not touched");
	is(lh_release(other, &mine), 0, "it releases");
	is(lh_release(other, &last), 0, "both");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	other = t_open(table);
	tries_again();
	within_its_time();
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 50, "many lost one tries again");
	return done();
}
