/* SPDX-License-Identifier: MIT */
/*
 * lh_key_open(): opening a key twice in one attachment gives the same handle,
 * counted; it works until it was closed as often as it was opened.  Closing
 * does not change leases.  LH_NO_CREATE opens only existing keys; creating is
 * idempotent.
 *
 * Otherwise one part of a program would close a key that another part uses.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define TIMES 5

static struct lh *lh;

static void *
open_and_close(void *arg)
{
	struct lh_key *first = arg, *key;
	struct lh_acquire_opts o = t_opts(3600000, 3600000);
	intptr_t wrong = 0;
	struct lh_lease l;

	for (int i = 0; i < 500; i++) {
		wrong += lh_key_open(lh, "k", 0, &key) != 0;
		wrong += key != first;
		wrong += lh_key_acquire(key, &o, &l) != 0;
		wrong += lh_release(lh, &l) != 0;
		wrong += lh_key_close(key) != 0;
		/* and one that comes and goes */
		wrong += lh_key_open(lh, "fleeting", 0, &key) != 0;
		wrong += strcmp(lh_key_name(key), "fleeting") != 0;
		wrong += lh_key_close(key) != 0;
	}
	return (void *)wrong;
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *b = t_actor(table);
	struct lh_key *key = NULL, *again, *other;
	struct lh_acquire_opts o = t_opts(3600000, 0);
	unsigned long threads[3];
	struct lh_lease l;
	char name[8] = "k";

	lh = t_open(table);
	is(lh_key_open(lh, "k", LH_NO_CREATE, &key), -ENOENT,
	    "a key that is not there");
	ok(t_has_detail(), "with a reason");
	ok(key == NULL, "no handle is written");
	is(lh_key_create(lh, "k"), 0, "it is made");
	is(lh_key_create(lh, "k"), 0, "twice is once");
	is(lh_key_open(lh, name, LH_NO_CREATE, &key), 0, "now it opens");
	name[0] = 'x';
	is_str(lh_key_name(key), "k", "its name was copied");
	for (int i = 1; i < TIMES; i++) {
		is(lh_key_open(lh, "k", 0, &again), 0, "opened again");
		ok(again == key, "it is the same");
	}
	is(lh_key_open(lh, "other", 0, &other), 0, "another key");
	ok(other != key, "is another");
	is(lh_key_acquire(key, &o, &l), 0, "acquired");
	for (int i = 1; i < TIMES; i++) {
		is(lh_key_close(key), 0, "closed");
		is(lh_verify(lh, &l), 0, "the lease is there");
		is_str(lh_key_name(key), "k", "the key, too");
	}
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_acquire(key, &o, &l), 0, "it still acquires");
	is(lh_key_close(key), 0, "closed for the last time");
	is(lh_verify(lh, &l), 0, "the lease is still there");
	is(t_do_acquire(b, "k", 1000, 0), -EAGAIN, "and excludes");
	is(lh_extend(lh, &l, 1800000), 0, "and extends");
	is(lh_release(lh, &l), 0, "and releases");
	is(t_do_acquire(b, "k", 1000, 0), 0, "free");
	is(t_do_release(b), 0, "released");

	is(lh_key_open(lh, "k", 0, &key), 0, "opened anew");
	for (int i = 0; i < 3; i++)
		threads[i] = t_thread(open_and_close, key);
	for (int i = 0; i < 3; i++)
		is((intptr_t)t_join(threads[i]), 0,
		    "a thread that opens and closes sees the same");
	is_str(lh_key_name(key), "k", "and it is there in the end");
	is(lh_key_close(key), 0, "closed");
	is(lh_key_close(other), 0, "closed");
	t_actor_end(b);
	t_close(lh);
	return done();
}
