/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G8: a claim has the mark of an opened key only while that
 * key may be acquired by it on the straight path (proc/attachment.h).  The mark
 * is gone when the claim has had another key, when the claim's start time is an
 * older tick's, when the key was closed, when the thread's TTL is another one,
 * and when every lease is to be recorded.
 *
 * Otherwise one compare would stand for four that no longer hold, and an
 * acquire would grant another key, or a lease that ends at another time or that
 * nobody has recorded.
 */
#include <errno.h>
#include <string.h>
#include "behaviour/readers.h"
#include "proc/claim_cache.h"
#include "replay.h"

static const char *table;
static struct lh *lh, *other;
static struct lh_key *k, *k2;

/* Acquires and releases by the handle, until claim 0 has its mark. */
static void
warm_up(struct lh_key *key)
{
	struct lh_lease l;
	int i;

	for (i = 0; i < 1000 && lhi_claim_cache_current->rec[0].mark !=
	    key->mark; i++)
		if (lh_key_acquire(key, NULL, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			bail_out("warming up: %s", lh_error_detail());
	if (i == 1000)
		bail_out("claim 0 does not get the mark of the key");
}

static void
next_tick(void)
{
	struct timespec was, now;

	lhi_coarse(&was);
	do
		lhi_coarse(&now);
	while (now.tv_nsec == was.tv_nsec);
}

/* Claim 0 has another key in between. */
static void
another_key(void)
{
	struct lh_lease l, theirs;

	warm_up(k);
	is(lh_acquire(lh, "k2", NULL, &l), 0, "another key");
	is(lh_release(lh, &l), 0, "is released");
	is(lh_key_acquire(k, NULL, &l), 0, "the first key");
	is(replay_try(other, "k", &theirs), -EAGAIN, "is the one that is held");
	is(replay_try(other, "k2", &theirs), 0, "and the other one is free");
	is(lh_release(other, &theirs), 0, "and released");
	is(lh_release(lh, &l), 0, "as is the first");
}

/* A lease by the straight path names the key that claim 0 has now. */
static void
key_of_lease(void)
{
	static const char *const keys[] = { "k", "k2", "k" };
	struct lh_lease_info info = LH_LEASE_INFO_INIT;
	struct lh_lease l;

	for (int i = 0; i < 9; i++) {
		is(lh_acquire(lh, keys[i / 3], NULL, &l), 0, "acquired");
		is(lh_lease_info(lh, &l, &info), 0, "what is known of it");
		ok(strcmp(info.key, keys[i / 3]) == 0, "its key");
		is(lh_release(lh, &l), 0, "released");
	}
}

/* The clock advances while claim 0 is held: its start time stays behind. */
static void
another_tick(void)
{
	struct lhi_claim_cache *m;
	struct lh_lease l, second;
	int i;

	for (i = 0; i < 100; i++) {
		warm_up(k);
		m = lhi_claim_cache_current;
		if (lh_key_acquire(k, NULL, &l) != 0)
			bail_out("not acquired");
		next_tick();
		if (lh_key_acquire(k2, NULL, &second) != 0 ||
		    lh_release(lh, &second) != 0 || lh_release(lh, &l) != 0 ||
		    lh_key_acquire(k, NULL, &l) != 0)
			bail_out("not acquired again");
		if (sh64_load(&m->claims[lid_claim(l.id[1]) - m->base].since) !=
		    m->since)
			break;
		if (lh_release(lh, &l) != 0) {
			fail("not released: %s", lh_error_detail());
			return;
		}
	}
	is(i, 100, "a claim says since when it is held");
	if (i < 100)
		(void)lh_release(lh, &l);
}

/* The thread reads another key with another TTL, by a claim that was idle. */
static void
another_ttl(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l, s, theirs;
	struct lh_key *ks;

	o.mode = LH_SHARED;
	is(lh_acquire(other, "s", &o, &theirs), 0, "a key is read elsewhere");
	is(lh_key_open(lh, "s", 0, &ks), 0, "and here");
	is(lh_key_acquire(k, NULL, &l), 0, "beside claim 0");
	is(lh_key_acquire(ks, &o, &s), 0, "by another claim");
	is(lh_release(lh, &s), 0, "which stays, idle");
	is(lh_release(lh, &l), 0, "claim 0 is free");
	warm_up(k);
	o.ttl_ms = 10000;
	is(lh_key_acquire(ks, &o, &s), 0, "read for 10 s");
	is(lh_key_acquire(k, NULL, &l), 0, "acquired for the default time");
	cmp(l.expires_ns - lh_clock_ns(lh), >, 20 * NS_PER_SEC,
	    "it is held for that");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(lh, &s), 0, "no reader here");
	is(lh_release(other, &theirs), 0, "and none there");
	is(lh_key_close(ks), 0, "closed");
}

static int
is_grant(const struct lh_log_entry *event, void *token)
{
	return event->kind == LH_LOG_GRANTED &&
	    event->token == *(uint64_t *)token;
}

static bool
log_says_granted(uint64_t token)
{
	return lh_log(table, NULL, is_grant, &token) == 1;
}

/* Every lease is to be recorded, from a tick on that an extension notices. */
static void
recorded(void)
{
	struct lh_lease l, second;
	bool noticed;

	is(lh_key_acquire(k, NULL, &l), 0, "claim 0");
	is(lh_key_acquire(k2, NULL, &second), 0, "another claim");
	is(lh_release(lh, &l), 0, "claim 0 is free");
	warm_up(k);
	is(lh_log_grants(other, 1), 0, "grants are to be recorded");
	next_tick();
	is(lh_extend(lh, &second, 30000), 0, "an extension notices");
	noticed = lhi_claim_cache_current->watched;
	is(lh_key_acquire(k, NULL, &l), 0, "acquired");
	ok(noticed && log_says_granted(l.token), "it is recorded");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(lh, &second), 0, "as is the other");
	is(lh_log_grants(other, 0), 1, "no more records");
}

static void
closed_key(void)
{
	struct lh_lease l;

	next_tick();
	warm_up(k);
	is(lh_key_close(k), 0, "closed");
	is(lh_key_acquire(k, NULL, &l), -EINVAL, "a closed key is refused");
}

int
main(void)
{
	table = replay_begin();
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	is(lh_key_open(lh, "k2", 0, &k2), 0, "and another");
	another_key();
	key_of_lease();
	another_tick();
	another_ttl();
	recorded();
	closed_key();
	is(lh_key_close(k2), 0, "closed");
	t_close(other);
	t_close(lh);
	return done();
}
