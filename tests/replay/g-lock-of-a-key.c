/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G11: a thread's hold by lh_key_lock() stays its hold when
 * claim 0 loses its mark meanwhile (op/key_lock.c).  That happens when the
 * clock advances, when the TTL changes, when the thread takes more than eight
 * leases, and when every lease is to be recorded.  The thread may have locked
 * other handles by then.  It is one hold, and no other grant of the key is
 * taken for it.
 *
 * Otherwise an unlock would say that the key is not held, and leave it held
 * until its deadline, or would release the lease of somebody else's acquire.
 */
#include <errno.h>
#include "behaviour/readers.h"
#include "proc/claim_cache.h"
#include "replay.h"

#define LEASES 12		/* more than a group has claims */

static struct lh *lh, *other;
static struct lh_key *k;

/* Locks until claim 0 keeps the hold. */
static void
lock_by_claim_0(void)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (lh_key_lock(k, NULL) != 0)
			bail_out("not locked: %s", lh_error_detail());
		if (lhi_claim_cache_current->rec[0].mark == k->lock_mark)
			return;
		if (lh_key_unlock(k) != 0)
			bail_out("not unlocked: %s", lh_error_detail());
	}
	bail_out("claim 0 never keeps the hold");
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

static void
still_held(const char *what)
{
	struct lh_lease l, theirs;

	is(lh_key_lock(k, NULL), -EALREADY, "%s: locked once", what);
	is(lh_key_lease(k, &l), 0, "%s: it has a lease", what);
	is(lh_verify(lh, &l), 0, "%s: which is held", what);
	is(replay_try(other, "k", &theirs), -EAGAIN, "%s: here alone", what);
	is(lh_key_unlock(k), 0, "%s: unlocked", what);
	is(lh_key_unlock(k), -EINVAL, "%s: once", what);
	is(replay_try(other, "k", &theirs), 0, "%s: the key is free", what);
	is(lh_release(other, &theirs), 0, "%s: and released", what);
}

static void
tick_passes(void)
{
	struct lh_lease l;

	lock_by_claim_0();
	next_tick();
	is(lh_acquire(lh, "other", NULL, &l), 0, "another key, a tick later");
	is(lh_release(lh, &l), 0, "is released");
	still_held("another tick");
}

/* Locks another key meanwhile, which is kept in the list. */
static void
other_is_locked(void)
{
	struct lh_key *second;
	struct lh_lease l;

	is(lh_key_open(lh, "second", 0, &second), 0, "another handle");
	lock_by_claim_0();
	is(lh_key_lock(second, NULL), 0, "is locked");
	next_tick();
	is(lh_acquire(lh, "other", NULL, &l), 0, "another key, a tick later");
	is(lh_release(lh, &l), 0, "is released");
	still_held("another lock and tick");
	is(lh_key_unlock(second), 0, "the other is unlocked");
	is(lh_key_close(second), 0, "and closed");
}

static void
ttl_changes(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;

	o.ttl_ms = 10000;
	lock_by_claim_0();
	is(lh_acquire(lh, "other", &o, &l), 0, "another TTL");
	is(lh_release(lh, &l), 0, "is released");
	still_held("another TTL");
	is(lh_key_lock(k, &o), 0, "locked with it");
	still_held("with that TTL");
}

static void
many_leases(void)
{
	struct lh_lease l[LEASES];
	char name[16];

	lock_by_claim_0();
	for (int i = 0; i < LEASES; i++) {
		(void)snprintf(name, sizeof(name), "other-%d", i);
		if (lh_acquire(lh, name, NULL, &l[i]) != 0)
			bail_out("not acquired: %s", lh_error_detail());
	}
	still_held("more than a group");
	for (int i = 0; i < LEASES; i++)
		if (lh_release(lh, &l[i]) != 0)
			bail_out("not released: %s", lh_error_detail());
}

static void
recorded(void)
{
	struct lh_lease l;

	lock_by_claim_0();
	is(lh_log_grants(other, 1), 0, "every lease is to be recorded");
	next_tick();
	is(lh_acquire(lh, "other", NULL, &l), 0, "a thread notices");
	is(lh_release(lh, &l), 0, "and goes on");
	still_held("recorded");
	is(lh_key_lock(k, NULL), 0, "locked while it is");
	still_held("while recorded");
	is(lh_log_grants(other, 0), 1, "no more records");
}

/* The same thread acquires the key by its name, and by the handle. */
static void
not_by_the_lock(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;
	int wrong = 0, i;

	for (i = 0; i < 3000; i++) {
		if (i % 3 == 0)
			lock_by_claim_0();
		if (i % 3 == 0 && lh_key_unlock(k) != 0)
			bail_out("not unlocked");
		if ((i % 3 == 0 ? lh_acquire(lh, "k", NULL, &l) :
		    lh_key_acquire(k, i % 3 == 1 ? NULL : &o, &l)) != 0)
			bail_out("not acquired: %s", lh_error_detail());
		wrong += lh_key_unlock(k) != -EINVAL;
		wrong += lh_key_lease(k, &l) != -EINVAL;
		wrong += lh_release(lh, &l) != 0;
		if (wrong != 0)
			break;
	}
	is(wrong, 0, "what was not locked is not unlocked");
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	lock_by_claim_0();
	still_held("by claim 0");
	tick_passes();
	other_is_locked();
	ttl_changes();
	many_leases();
	recorded();
	next_tick();
	not_by_the_lock();
	is(lh_key_close(k), 0, "closed");
	t_close(other);
	t_close(lh);
	return done();
}
