/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, ownership by lease: two acquires of one key conflict, wherever
 * they come from: two attachments of one process; one attachment twice; one
 * opened key twice; an opened key and the name; two threads.  The second is
 * busy while the first holds, and succeeds when it has released.
 *
 * Otherwise two parts of one program would both hold a key.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

struct try_arg {
	struct lh *lh;
	struct lh_key *key;
	struct lh_lease lease;
	int result;
};

static void *
try_by_name(void *arg)
{
	struct try_arg *t = arg;

	t->result = t_acquire(t->lh, "k", 3600000, 0, &t->lease);
	return NULL;
}

static void *
try_by_key(void *arg)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct try_arg *t = arg;

	t->result = lh_key_acquire(t->key, &o, &t->lease);
	return NULL;
}

static void
conflict(const char *what, void *(*first)(void *), struct try_arg *a,
    void *(*second)(void *), struct try_arg *b, bool threads)
{
	for (int turn = 0; turn < 2; turn++) {
		if (threads)
			t_join(t_thread(first, a));
		else
			first(a);
		is(a->result, 0, "%s: the first has it", what);
		if (threads)
			t_join(t_thread(second, b));
		else
			second(b);
		is(b->result, -EAGAIN, "%s: the second is refused", what);
		is(lh_verify(a->lh, &a->lease), 0, "%s: it is unmoved", what);
		is(lh_release(a->lh, &a->lease), 0, "%s: released", what);
		second(b);
		is(b->result, 0, "%s: now the second has it", what);
		cmp(b->lease.token, >, a->lease.token, "%s: larger", what);
		is(lh_release(b->lh, &b->lease), 0, "%s: released", what);
	}
}

int
main(void)
{
	const char *table = t_table();
	struct lh *one = t_open(table), *two = t_open(table);
	struct try_arg a = { .lh = one }, b = { .lh = two }, c = { .lh = one };

	ok(one != two, "two attachments are two");
	ok(lh_session_id(one) != lh_session_id(two), "with two sessions");
	is(lh_key_open(one, "k", 0, &a.key), 0, "the key opens in the one");
	is(lh_key_open(two, "k", 0, &b.key), 0, "and in the other");
	is(lh_key_open(one, "k", 0, &c.key), 0, "and again in the one");
	ok(a.key == c.key, "which gives the same handle");

	conflict("two attachments, by name", try_by_name, &a, try_by_name, &b,
	    false);
	conflict("two attachments, by key", try_by_key, &a, try_by_key, &b,
	    false);
	conflict("one attachment, by name", try_by_name, &a, try_by_name, &c,
	    false);
	conflict("one handle", try_by_key, &a, try_by_key, &c, false);
	conflict("name and handle", try_by_name, &a, try_by_key, &c, false);
	conflict("two threads", try_by_name, &a, try_by_name, &c, true);

	is(lh_key_close(c.key), 0, "closed once");
	is(lh_key_close(a.key), 0, "closed twice");
	is(lh_key_close(b.key), 0, "closed in the other");
	is(lh_close(two), 0, "one attachment closes");
	t_close(one);
	return done();
}
