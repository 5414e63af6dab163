/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G12: when all keys of a table are held, waited for or kept,
 * a new key returns -ENOSPC and everything else goes on: existing keys are
 * acquired, waited for, released, found and listed.  Idle keys give way to new
 * ones.  The same for long keys, of which a table has fewer: when they run out,
 * short ones still work.
 *
 * Otherwise one program with too many keys would stop all others.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define MAX_KEYS 20

static int
count(const struct lh_key_info *info, void *arg)
{
	(void)info;
	++*(int *)arg;
	return 0;
}

static void
goes_on(struct lh *lh, struct t_actor *b, int n_keys)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease l;
	int n = 0;

	is(t_acquire(lh, "key-0", 3600000, 0, &l), 0, "a key that exists");
	t_begin_acquire(b, "key-0", 3600000, 3600000);
	ok(t_await_waiters(lh, "key-0", 1), "is waited for");
	is(lh_release(lh, &l), 0, "released");
	is(t_result(b), 0, "and granted");
	is(t_do_release(b), 0, "and released");
	is(lh_list(lh, NULL, count, &n), 0, "listing");
	is(n, n_keys, "finds them all");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.keys, n_keys, "count them");
	is(t_findings(lh), 0, "the table is sound");
}

static void
short_keys(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct lh_key *key = NULL;
	struct t_actor *b;
	struct lh_lease l, blank;
	char name[32];
	struct lh *lh;
	int made = 0;

	o.max_keys = MAX_KEYS;
	is(lh_open(&lh, table, &o), 0, "a table of %d keys", MAX_KEYS);
	b = t_actor(table);
	for (int i = 0; i < MAX_KEYS; i++) {
		snprintf(name, sizeof(name), "key-%d", i);
		made += lh_key_create(lh, name) == 0;
	}
	is(made, MAX_KEYS, "takes as many");
	memset(&l, 0x5a, sizeof(l));
	blank = l;
	is(lh_key_create(lh, "one-more"), -ENOSPC, "and not one more");
	ok(t_has_detail(), "with a reason");
	is(t_acquire(lh, "one-more", 1000, 0, &l), -ENOSPC, "by name neither");
	ok(memcmp(&l, &blank, sizeof(l)) == 0, "no lease is written");
	is(lh_key_open(lh, "one-more", 0, &key), -ENOSPC, "nor by opening");
	ok(key == NULL, "no key is written");
	is(lh_key_open(lh, "one-more", LH_NO_CREATE, &key), -ENOENT,
	    "it does not exist");
	is(t_do_acquire(b, "one-more", 1000, 1000), -ENOSPC,
	    "others get the same answer");
	is(lh_key_create(lh, "key-7"), 0, "a key that exists is no new one");
	is(lh_key_open(lh, "key-7", 0, &key), 0, "and opens");
	is(lh_key_close(key), 0, "and closes");
	for (int i = 0; i < 3; i++)
		goes_on(lh, b, MAX_KEYS);
	t_actor_end(b);
	is(lh_close(lh), 0, "closed");
}

/* Acquires n keys of that form, and keeps or releases them: how many
 * succeed. */
static int
take(struct lh *lh, const char *form, int n, struct lh_lease *held)
{
	char name[256];
	int good = 0;

	for (int i = 0; i < n; i++) {
		struct lh_lease l;

		snprintf(name, sizeof(name), form, i);
		if (t_acquire(lh, name, 3600000, 0, &l) != 0)
			continue;
		good++;
		if (held != NULL)
			held[i] = l;
		else if (lh_release(lh, &l) != 0)
			fail("releasing %s", name);
	}
	return good;
}

static void
idle_keys(void)
{
	struct lh_lease held[MAX_KEYS], l;
	struct lh_open_opts o = t_open_opts();
	int n = 0, good = 0;
	struct lh *lh;

	o.max_keys = MAX_KEYS;
	is(lh_open(&lh, t_table(), &o), 0, "a table of %d keys", MAX_KEYS);
	is(take(lh, "idle-%d", 500, NULL), 500, "500 keys take turns in it");
	is(take(lh, "%0200d", 500, NULL), 500, "and as many long ones");
	is(take(lh, "held-%d", MAX_KEYS - 1, held), MAX_KEYS - 1,
	    "all but one are held");
	is(take(lh, "idle-%d", 500, NULL), 500, "500 take turns in that one");
	held[MAX_KEYS - 1] = t_hold(lh, "last");
	is(t_acquire(lh, "none", 1000, 0, &l), -ENOSPC, "then there is none");
	ok(t_has_detail(), "with a reason");
	for (int i = 0; i < MAX_KEYS; i++)
		good += lh_verify(lh, &held[i]) == 0;
	is(good, MAX_KEYS, "what is held is held");
	is(lh_release(lh, &held[3]), 0, "one is released");
	is(t_acquire(lh, "new", 1000, 0, &l), 0, "and gives way");
	is(lh_list(lh, NULL, count, &n), 0, "listing");
	is(n, MAX_KEYS, "finds as many as there can be");
	t_close(lh);
}

static void
long_keys(void)
{
	struct lh_open_opts o = t_open_opts();
	char name[256];
	struct lh *lh;
	int made = 0, r = 0, again = 0;

	o.max_keys = 400;
	is(lh_open(&lh, t_table(), &o), 0, "a table of 400 keys");
	for (int i = 0; r == 0 && i <= 400; i++) {
		snprintf(name, sizeof(name), "%0254d", i);
		r = lh_key_create(lh, name);
		made += r == 0;
	}
	is(r, -ENOSPC, "long keys run out");
	cmp(made, >=, 100, "after a quarter of all at the earliest");
	for (int i = 0; i < made; i++) {
		snprintf(name, sizeof(name), "%0254d", i);
		again += lh_key_create(lh, name) == 0;
	}
	is(again, made, "those that exist are found");
	made = 0;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "short-%d", i);
		made += lh_key_create(lh, name) == 0;
	}
	is(made, 100, "short ones still have room");
	t_close(lh);
}

int
main(void)
{
	short_keys();
	idle_keys();
	long_keys();
	return done();
}
