/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G9, G10 and G11: a copy of a released shared lease is presented
 * after its owner has read the same key again, or another one, so that the
 * grants may use the same memory and even the same token.  Nothing is released,
 * extended, converted or verified through it: neither the owner's new lease nor
 * anybody else's.
 *
 * Otherwise a repeated release would end a lease that is in use.
 */
#include <errno.h>
#include "readers.h"

static struct lh *lh;
static struct t_actor *b;

static void
harmless(struct lh_lease *released, const struct lh_lease *old,
    const struct lh_lease *present, const char *key, int holders)
{
	struct lh_lease copy = *old;
	int r;

	is(lh_verify(lh, &copy), -ESTALE, "a copy is not verified");
	is(lh_extend(lh, &copy, 1), -ESTALE, "nor extended");
	is(lh_convert(lh, &copy, LH_EXCLUSIVE), -ESTALE, "nor upgraded");
	is(lh_convert(lh, &copy, LH_SHARED), -ESTALE, "nor left as it is");
	ok(memcmp(&copy, old, sizeof(copy)) == 0, "the copy is unchanged");
	for (int i = 0; i < 2; i++) {
		r = lh_release(lh, &copy);
		ok(r == 0 || r == -ESTALE, "released: nothing, or stale");
		copy = *old;
	}
	is(lh_release(lh, released), 0, "the struct itself is released");
	is(lh_extend(lh, released, 1), -ESTALE, "and not extended");
	is(lh_convert(lh, released, LH_EXCLUSIVE), -ESTALE,
	    "nor converted");
	is(lh_verify(lh, present), 0, "the new lease is as it was");
	is(lh_status(lh, key, present->id, t_view_keep,
	    &(struct t_view){ .calls = 0 }), 0, "and is reported");
	is(lh_verify_token(lh, key, present->token), 0, "with its token");
	is(t_holders(lh, key), holders, "%d hold the key", holders);
	is(t_do_acquire(b, key, HOUR_MS, 0), -EAGAIN, "and no writer");
}

static void
same_key(bool beside)
{
	struct lh_lease l = t_read_hold(lh, "k"), old = l, again;
	struct t_actor *a = t_actor(lh_table_name(lh));

	if (beside)
		is(t_do_read(a, "k", HOUR_MS, 0), 0, "another reads");
	is(lh_release(lh, &l), 0, "released");
	again = t_read_hold(lh, "k");
	ok(again.id[1] != old.id[1], "the new lease has another id");
	harmless(&l, &old, &again, "k", beside ? 2 : 1);
	if (beside)
		is(t_do_verify(a), 0, "the other's is as it was");
	is(lh_release(lh, &again), 0, "released");
	if (beside) {
		is(lh_release(lh, &old), -ESTALE, "the copy once more");
		is(t_do_verify(a), 0, "the other holds");
		is(t_do_release(a), 0, "and releases");
	}
	t_actor_end(a);
}

static void
another_key(void)
{
	struct lh_lease l = t_read_hold(lh, "k"), old = l, again;

	is(lh_release(lh, &l), 0, "released");
	again = t_read_hold(lh, "l");
	harmless(&l, &old, &again, "l", 1);
	is(lh_release(lh, &again), 0, "released");
}

/* Exclusive in the same memory, and the other way round. */
static void
other_mode(void)
{
	struct lh_lease l = t_read_hold(lh, "k"), old = l, again;

	is(lh_release(lh, &l), 0, "released");
	again = t_hold(lh, "k");
	harmless(&l, &old, &again, "k", 1);
	l = old = again;
	is(lh_release(lh, &l), 0, "released");
	again = t_read_hold(lh, "k");
	harmless(&l, &old, &again, "k", 1);
	is(lh_release(lh, &again), 0, "released");
}

/* Many times over, with copies of all ages. */
static void
of_all_ages(void)
{
	struct lh_lease old[40], l;
	int wrong = 0, n = 0, r;

	for (int i = 0; i < 40; i++) {
		l = old[i] = t_read_hold(lh, "k");
		for (int j = 0; j < i; j++) {
			struct lh_lease copy = old[j];

			r = lh_release(lh, &copy);
			wrong += r != 0 && r != -ESTALE;
			wrong += lh_extend(lh, &copy, 1) != -ESTALE;
			n++;
		}
		wrong += lh_verify(lh, &l) != 0;
		wrong += t_holders(lh, "k") != 1;
		wrong += lh_release(lh, &l) != 0;
	}
	is(wrong, 0, "%d old copies did nothing", n);
}

int
main(void)
{
	const char *table = t_table();

	b = t_actor(table);
	lh = t_open(table);
	same_key(false);
	same_key(true);
	another_key();
	other_mode();
	of_all_ages();
	t_actor_end(b);
	t_close(lh);
	return done();
}
