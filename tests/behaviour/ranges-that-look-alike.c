/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G2: a table goes 256 ranges on, to one whose words look
 * like the old ones in the 40 bits of a version.  A key keeps its place in the
 * range (op/token_ceiling.c), so that the words that others remember are not
 * the present ones, however many uses later they look.
 *
 * Otherwise an idle process that remembers an old word would be given an old
 * token; or, if the slot is another key's by then, a key that somebody holds.
 */
#include "fence.h"

#define USES	6

static const char *table;
static int uses;
static uint64_t last, latest;
static struct lh *other;
static struct lh_lease held;

static void *
use(void *arg)
{
	struct lh_lease l;

	other = fence_open(table);
	for (int i = 0; i < uses; i++) {
		is(lh_acquire(other, arg != NULL ? arg : "k", NULL, &l), 0,
		    "another's use");
		cmp(l.token, >, last, "with a larger token");
		last = l.token;
		is(lh_release(other, &l), 0, "released");
	}
	return NULL;
}

static void *
use_and_close(void *arg)
{
	(void)use(arg);
	is(lh_close(other), 0, "closed");
	return NULL;
}

/* The idle one's next token was another's; then so many uses far away. */
static void
token_twice(int far)
{
	struct lh_lease l;
	struct lh_key *k;
	struct lh *lh;

	table = t_table();
	last = fence_idle(table, 2, &lh, &k);
	uses = 1;
	t_aside(use_and_close);
	latest = fence_gap(table, 256);
	uses = far;
	t_aside(use_and_close);
	is_u64(last >> 32, latest, "256 ranges on");
	is(lh_key_acquire(k, NULL, &l), 0, "used again by the idle one");
	cmp(l.token, >, last, "with a larger token (after %d)", far);
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
	is(lh_close(lh), 0, "closed");
	(void)lh_table_remove(table, 0);
}

/* The slot becomes another key's; k is in another one, and held. */
static void *
replace(void *arg)
{
	struct lh_acquire_opts a = t_opts(t_ms(60), 0);

	other = fence_open(table);
	is(lh_evict(other, "k", 0), 1, "evicted");
	lh_close(other);
	last = 0;
	(void)use("other");
	is(lh_acquire(other, "k", &a, &held), 0, "k is held");
	return arg;
}

static void
two_holders(int far)
{
	struct lh_lease l;
	struct lh_key *k;
	struct lh *lh;

	table = t_table();
	(void)fence_idle(table, 1, &lh, &k);
	(void)fence_gap(table, 256);
	uses = far;
	t_aside(replace);
	is(lh_key_acquire(k, NULL, &l), 0, "wanted again by the idle one");
	cmp(t_now_ns(), >=, held.expires_ns, "not before the holder's lease "
	    "has ended (after %d)", far);
	cmp(l.token, >, held.token, "with a larger token");
	is(l.key == held.key, 1, "and of the same key");
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
	is(lh_close(lh), 0, "closed");
	(void)lh_close(other);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	for (int far = 1; far <= USES; far++) {
		token_twice(far);
		two_holders(far);
	}
	return done();
}
