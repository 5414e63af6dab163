/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1: a slot is an ordinary key's, then a cluster key's, then another
 * ordinary key's, whose word becomes what the first key's last release left.  A
 * process with the first key open must not take the other key for it: the first
 * key is in another slot, and is held.
 *
 * Otherwise the fast path would grant a key that another process holds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include "support/support.h"
#include "tap.h"

#define GRANTS	6000		/* more than the 4,096 places that go on */
#define KEYS	40

static struct lh *one, *two;
static struct lh_lease last;	/* of the first key */
static struct lh_lease held;

/* Take the key, release it.  The last token. */
static struct lh_lease
take(struct lh *lh, const char *key)
{
	struct lh_lease l = { 0 };

	if (t_acquire(lh, key, 60000, 0, &l) != 0 || lh_release(lh, &l) != 0)
		bail_out("%s: %s", key, lh_error_detail());
	return l;
}

static bool
same_slot(const struct lh_lease *l)
{
	return (uint32_t)l->key == (uint32_t)last.key;
}

/* Keys of that name are made and forgotten until one has the first one's slot;
 * it stays. */
static bool
settle(const char *kind, char name[32], struct lh_lease *l)
{
	for (int i = 0; i < 4 * KEYS; i++) {
		snprintf(name, 32, "%s%d", kind, i);
		*l = take(two, name);
		if (same_slot(l))
			return true;
		if (lh_destroy(two, name) != 0)
			return false;
	}
	return false;
}

static void *
others(void *arg)
{
	struct lh_lease l;
	char name[32];
	int n = 0;

	(void)arg;
	is(lh_destroy(two, "first"), 0, "the first key is forgotten");
	/* in all slots (nobody asks the cluster: they are not acquired) */
	for (; snprintf(name, sizeof(name), "cluster:%d", n) > 0 &&
	    lh_key_create(two, name) == 0; n++)
		;
	is(n, KEYS, "cluster keys are there");
	while (n-- > 0) {
		snprintf(name, sizeof(name), "cluster:%d", n);
		if (lh_destroy(two, name) != 0)
			bail_out("%s", lh_error_detail());
	}
	ok(settle("third", name, &l), "a third one is there");
	while (l.token < last.token)
		l = take(two, name);
	diag("its token is %#llx, the first one's was %#llx",
	    (unsigned long long)l.token, (unsigned long long)last.token);
	is(t_acquire(two, "first", 60000, 0, &held), 0, "the first is held");
	return NULL;
}

int
main(void)
{
	/* what the fast path takes: as the defaults, but a try */
	struct lh_acquire_opts o = t_opts(30000, 0);
	struct lh_open_opts oo = t_open_opts();
	const char *table = t_table();
	struct lh_lease l;
	struct lh_key *k;
	pthread_t th;

	oo.max_keys = KEYS;
	is(lh_open(&one, table, &oo), 0, "open");
	is(lh_open(&two, table, &oo), 0, "another attachment");
	is(lh_key_open(one, "first", 0, &k), 0, "an opened key");
	for (int i = 0; i < GRANTS; i++) {
		if (lh_key_acquire(k, &o, &last) != 0 ||
		    lh_release(one, &last) != 0)
			bail_out("%s", lh_error_detail());
	}
	if (pthread_create(&th, NULL, others, NULL) != 0)
		bail_out("no thread");
	(void)pthread_join(th, NULL);

	is(lh_key_acquire(k, &o, &l), -EAGAIN, "and by one alone");
	is(lh_verify(two, &held), 0, "who holds it still");
	is(lh_release(two, &held), 0, "release");
	is(lh_key_acquire(k, &o, &l), 0, "the next is the first one's next");
	ok(l.token > held.token, "with a larger token (G2)");
	is(lh_release(one, &l), 0, "release");
	lh_key_close(k);
	t_close(two);
	t_close(one);
	return done();
}
