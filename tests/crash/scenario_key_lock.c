/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of opened keys that keep their lease: see scenario.h.
 *
 * Without options the lease lasts for half a minute, which the others would
 * have to wait for when the subject is stopped.  So a stopped subject locks
 * with a short TTL, on the path with options, and one that unlocks has made
 * its lease shorter.
 */
#include <errno.h>
#include "crash/subject.h"
#include "op/key_lock.h"

#define LONG_ENOUGH_MS 10000

static struct lh_acquire_more strict = LH_ACQUIRE_MORE_INIT;
static struct lh_key *alone;

/* Locked once by the fast path, so that the next lock takes it. */
static void
prep_locks(struct trial *p)
{
	prep_warm(p);
	for (int i = 0; i < 8; i++) {
		sub_must(p, lh_key_lock(sub.key, NULL), "lock");
		sub_must(p, lh_key_unlock(sub.key), "unlock");
	}
}

/* Locked, until ttl_ms from now. */
static void
sub_lock(struct trial *p, int64_t ttl_ms)
{
	prep_locks(p);
	sub_must(p, lh_key_lock(sub.key, NULL), "lock");
	sub_must(p, lh_key_lease(sub.key, &p->lease), "its lease");
	sub_must(p, lh_extend(sub.lh, &p->lease, ttl_ms), "shorten");
	p->has_lease = true;
	trial_saw_token(p, p->lease.token);
}

static void
prep_locked(struct trial *p)
{
	sub_lock(p, p->ttl_ms);
}

static void
prep_locked_followed(struct trial *p)
{
	sub_lock(p, SUB_LONG_MS);
	flag_set(&p->cue, 1);
	sub_await_waiters(p, 1);
	sub_must(p, lh_extend(sub.lh, &p->lease, p->ttl_ms), "shorten");
}

/* Twice: the clock has advanced before the first. */
static void
act_key_lock(struct trial *p)
{
	const struct lh_acquire_opts *o = p->ttl_ms >= LONG_ENOUGH_MS ? NULL :
	    &sub.opts;

	p->result = lh_key_lock(sub.key, o);
	if (p->result == 0)
		p->result = lh_key_unlock(sub.key);
	if (p->result == 0)
		p->result = lh_key_lock(sub.key, o);
	if (p->result == 0)
		p->result = lh_key_lease(sub.key, &p->lease);
	sub_granted(p);
}

/* A key that nobody else asks for, locked by the straight path. */
static void
prep_strict_locks(struct trial *p)
{
	prep_warm(p);
	strict.policy = LH_POLICY_STRICT;
	sub.opts.more = &strict;
	sub.opts.max_wait_ms = 0;
	sub_must(p, lh_key_open(sub.lh, "alone", 0, &alone), "key");
	for (int i = 0; i < 8; i++) {
		sub_must(p, lhi_key_lock_strict(alone, &sub.opts), "lock");
		sub_must(p, lh_key_unlock(alone), "unlock");
	}
}

static void
act_strict_lock(struct trial *p)
{
	p->result = lhi_key_lock_strict(alone, &sub.opts);
	if (p->result == 0)
		p->result = lh_key_unlock(alone);
	if (p->result == 0)
		p->result = lhi_key_lock_strict(alone, &sub.opts);
	if (p->result == 0)
		p->result = lh_key_lease(alone, &p->lease);
	p->has_lease = p->result == 0;
}

static void
act_key_unlock(struct trial *p)
{
	p->result = lh_key_unlock(sub.key);
}

/* The thread holds another key, and had this one by a later claim. */
static void
prep_other_held(struct trial *p)
{
	struct lh_lease l;

	prep_warm(p);
	sub_must(p, lh_acquire(sub.lh, "aside", NULL, &l), "another key");
	for (int i = 0; i < 8; i++) {
		sub_must(p, lh_key_acquire(sub.key, NULL, &l), "acquire");
		sub_must(p, lh_release(sub.lh, &l), "release");
	}
}

/* Twice: the clock has advanced before the first. */
static void
act_other_held(struct trial *p)
{
	const struct lh_acquire_opts *o = p->ttl_ms >= LONG_ENOUGH_MS ? NULL :
	    &sub.opts;

	p->result = lh_key_acquire(sub.key, o, &p->lease);
	if (p->result == 0)
		p->result = lh_release(sub.lh, &p->lease);
	if (p->result == 0)
		p->result = lh_key_acquire(sub.key, o, &p->lease);
	sub_granted(p);
}

static const struct scenario scenarios_key_lock[] = {
	{ .name = "acquire-other-held",
	  .what = "the thread holds another key by claim 0",
	  .stop_ttl_ms = 120, .prepare = prep_other_held,
	  .act = act_other_held, .finish = finish_acquire,
	  .allowed = says_stale },
	{ .name = "key-lock", .what = "lock an opened, free key",
	  .stop_ttl_ms = 120, .prepare = prep_locks, .act = act_key_lock,
	  .finish = finish_acquire, .allowed = says_stale },
	{ .name = "key-lock-strict", .what = "the same, under policy strict",
	  .prepare = prep_strict_locks, .act = act_strict_lock,
	  .finish = finish_alone },
	{ .name = "key-unlock", .what = "nobody waits", .stop_ttl_ms = 120,
	  .prepare = prep_locked, .act = act_key_unlock,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "key-unlock-waiter", .what = "somebody waits",
	  .roles = { FOLLOWER }, .prepare = prep_locked_followed,
	  .act = act_key_unlock, .finish = finish_plain,
	  .allowed = says_stale },
};
SCENARIOS(scenarios_key_lock)
