/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G4 and G8: a thread that holds a lease acquires other keys by
 * their handles, again and again (key_acquire_again()).  It is granted the key
 * of the handle, also when its claim had another one last.  The tokens rise,
 * also when another process had the key in between.  The lease is that of this
 * key, and ends as late as it says, when the clock has advanced, too.
 *
 * Otherwise the straight path of a later claim would grant what the claim
 * remembers, and not what was asked for.
 */
#include <errno.h>
#include <string.h>
#include "proc/claim_cache.h"
#include "replay.h"

static struct lh *lh, *other;

static void
next_tick(void)
{
	struct timespec was, now;

	lhi_coarse(&was);
	do
		lhi_coarse(&now);
	while (now.tv_nsec == was.tv_nsec);
}

/* Acquires by the handle of `name`, looks, and releases.  `before` is acquired
 * just before: the claim had that key last, or this one, and the thread used
 * this attachment last.  Returns the token; 0: something is not as it should
 * be. */
static uint64_t
look_once(struct lh_key *k, const char *name, struct lh_key *before,
    const char *not)
{
	struct lh_lease_info info = LH_LEASE_INFO_INIT;
	struct lh_lease l, theirs;
	uint64_t token = 0;

	for (int i = 0; i < 2; i++)
		if (lh_key_acquire(before, NULL, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			return 0;
	if (lh_key_acquire(k, NULL, &l) != 0)
		return 0;
	if (replay_try(other, name, &theirs) == -EAGAIN &&
	    replay_try(other, not, &theirs) == 0 &&
	    lh_release(other, &theirs) == 0 && lh_verify(lh, &l) == 0 &&
	    lh_lease_info(lh, &l, &info) == 0 && strcmp(info.key, name) == 0)
		token = l.token;
	return lh_release(lh, &l) == 0 && l.opaque != 0 ? token : 0;
}

/* Two keys in turn, and each some times in a row. */
static void
right_key(struct lh_key *k, struct lh_key *k2)
{
	uint64_t last[2] = { 0, 0 }, token;
	struct lh_key *before;
	int i, second;

	for (i = 0; i < 200; i++) {
		second = i / 5 % 2;
		before = i % 3 == 0 ? k : k2;
		token = second ? look_once(k2, "k2", before, "k") :
		    look_once(k, "k", before, "k2");
		if (token <= last[second])
			break;
		last[second] = token;
	}
	is(i, 200, "each is the key of the handle, with a later token");
}

/* Another process has the key in between. */
static void
theirs_between(struct lh_key *k)
{
	struct lh_lease l, theirs;
	int i;

	for (i = 0; i < 50; i++) {
		for (int j = 0; j < 2; j++)
			if (lh_key_acquire(k, NULL, &l) != 0 ||
			    lh_release(lh, &l) != 0)
				break;
		if (replay_try(other, "k", &theirs) != 0 ||
		    theirs.token <= l.token ||
		    lh_release(other, &theirs) != 0 ||
		    lh_acquire(lh, "k3", NULL, &l) != 0 ||
		    lh_release(lh, &l) != 0 ||
		    lh_key_acquire(k, NULL, &l) != 0 ||
		    l.token <= theirs.token || lh_verify(lh, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			break;
	}
	is(i, 50, "the tokens rise over both processes");
}

/* The clock advances between two acquires, and while the key is held. */
static void
another_tick(struct lh_key *k)
{
	int64_t last = 0;
	struct lh_lease l;
	int i;

	for (i = 0; i < 20; i++) {
		if (lh_key_acquire(k, NULL, &l) != 0 || l.expires_ns < last ||
		    lh_verify(lh, &l) != 0)
			break;
		last = l.expires_ns;
		if (i % 2)
			next_tick();
		if (lh_verify(lh, &l) != 0 || lh_release(lh, &l) != 0)
			break;
		next_tick();
	}
	is(i, 20, "each lease is valid and ends later");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_key *k, *k2;
	struct lh_lease held;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	is(lh_key_open(lh, "k2", 0, &k2), 0, "another");
	is(lh_acquire(lh, "held", NULL, &held), 0, "a lease is held");
	right_key(k, k2);
	theirs_between(k);
	another_tick(k);
	is(lh_release(lh, &held), 0, "released");
	right_key(k, k2);
	is(lh_key_close(k), 0, "closed");
	is(lh_key_close(k2), 0, "closed");
	t_close(other);
	t_close(lh);
	return done();
}
