/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a reader releases and reads again, often, while others hold the
 * key, or alone.  Its tokens stay between those of the exclusive grants before
 * and after, whether it got a new token or the old one.  Such a token verifies
 * while the reader holds the key and, if nobody else has the same one, only
 * then.
 *
 * Otherwise a server would accept a reader that is older than a writer.
 */
#include <errno.h>
#include "readers.h"

#define ROUNDS	200
#define WRITES	6

static struct lh *lh;
static struct lh_key *key;

static struct lh_lease
write_lease(struct t_actor *w)
{
	is(t_do_acquire(w, "k", HOUR_MS, T_HANG_MS), 0, "a writer");
	return w->lease;
}

/* How many of the grants were not between the two, or had a wrong token. */
static int
again_and_again(uint64_t above, uint64_t *largest, uint64_t other)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, 0);
	struct lh_lease l;
	int wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (lh_key_acquire(key, &o, &l) != 0)
			return ROUNDS;
		wrong += l.token < above || l.mode != LH_SHARED;
		wrong += lh_verify_token(lh, "k", l.token) != 0;
		wrong += lh_verify(lh, &l) != 0;
		if (l.token > *largest)
			*largest = l.token;
		wrong += lh_release(lh, &l) != 0;
		if (l.token != other)
			wrong += lh_verify_token(lh, "k", l.token) !=
			    -ESTALE;
	}
	return wrong;
}

static int
reread(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, 0);

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		if (lh_release(a->lh, &a->lease) != 0 ||
		    lh_acquire(a->lh, "k", &o, &a->lease) != 0)
			return 1;
	}
	return 0;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct t_actor *w = t_actor(table);
	struct lh_lease before, after;
	uint64_t largest;
	int between = 0;

	lh = t_open(table);
	is(lh_key_open(lh, "k", 0, &key), 0, "an opened key");
	before = write_lease(w);
	is(t_do_release(w), 0, "and its end");
	for (int i = 0; i < WRITES; i++) {
		largest = 0;
		/* alone, then beside a reader, then beside two at work */
		is(again_and_again(before.token, &largest, 0), 0,
		    "alone, %d times", ROUNDS);
		is(t_do_read(a, "k", HOUR_MS, 0), 0, "another reads");
		is(again_and_again(before.token, &largest, a->lease.token), 0,
		    "beside it");
		is(t_do_read(b, "k", HOUR_MS, 0), 0, "a third");
		t_begin(b, reread, NULL);
		is(t_do(a, reread, NULL), 0, "they release and read again");
		is(t_result(b), 0, "both");
		is(lh_verify_token(lh, "k", a->lease.token), 0,
		    "the token of the one is good");
		is(lh_verify_token(lh, "k", b->lease.token), 0,
		    "the other's, too");
		is(t_holders(lh, "k"), 2, "they are two");
		is(t_do_release(a), 0, "released");
		is(again_and_again(before.token, &largest, b->lease.token), 0,
		    "beside the third");
		is(t_do_release(b), 0, "released");
		after = write_lease(w);
		between += a->lease.token >= before.token &&
		    b->lease.token >= before.token &&
		    a->lease.token < after.token &&
		    b->lease.token < after.token &&
		    largest < after.token && before.token < after.token;
		is(lh_verify_token(lh, "k", largest), -ESTALE,
		    "with a writer inside no reader's token is good");
		is(t_do_release(w), 0, "released");
		before = after;
	}
	is(between, WRITES, "all tokens were between the writers'");
	is(lh_key_close(key), 0, "closed");
	t_actor_end(a);
	t_actor_end(b);
	t_actor_end(w);
	t_close(lh);
	return done();
}
