/* SPDX-License-Identifier: MIT */
/*
 * lh_key_lock(), lh_key_unlock() and lh_key_lease(): the handle keeps the lease
 * (key.h).  One hold a handle and thread; the lease is one like others; a lost
 * one, another thread's, an inherited and a closed handle are refused.
 *
 * Otherwise a program that uses keys as mutexes would release what it does not
 * hold, or not learn that it has lost the key.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;
static struct lh *lh, *other;
static struct lh_key *k;

/* Twice each: the first lock of a handle takes the slow path. */
#define WARM 2

static void
locked_and_unlocked(void)
{
	struct lh_lease l, theirs;
	uint64_t last = 0;

	for (int i = 0; i < WARM + 1; i++) {
		is(lh_key_lock(k, NULL), 0, "locked");
		is(lh_key_lock(k, NULL), -EALREADY, "once a thread");
		ok(t_has_detail(), "and it says so");
		is(lh_key_lease(k, &l), 0, "its lease");
		cmp(l.token, >, last, "has a later token");
		last = l.token;
		ok(l.mode == LH_EXCLUSIVE && l.notes == 0, "exclusive");
		cmp(l.expires_ns - t_acquired_ns(lh, &l), >,
		    29000 * T_NS_PER_MS,
		    "for half a minute");
		is(lh_verify(lh, &l), 0, "is held");
		is(lh_extend(lh, &l, 60000), 0, "can be extended");
		is(lh_key_lease(k, &l), 0, "and read again");
		cmp(l.expires_ns - t_acquired_ns(lh, &l), >,
		    59000 * T_NS_PER_MS,
		    "it says for how long");
		is(t_acquire(other, "k", 1000, 0, &theirs), -EAGAIN,
		    "nobody else's");
		is(lh_key_unlock(k), 0, "unlocked");
		is(lh_verify(lh, &l), -ESTALE, "its lease has ended");
		is(lh_key_unlock(k), -EINVAL, "nothing to unlock");
		is(lh_key_lease(k, &l), -EINVAL, "and no lease");
		is(t_acquire(other, "k", 1000, 0, &theirs), 0,
		    "the key is free");
		is(lh_key_lock(k, &(struct lh_acquire_opts){
		    .size = sizeof(struct lh_acquire_opts), .ttl_ms = 1000 }),
		    -EAGAIN, "a try that fails");
		is(lh_key_unlock(k), -EINVAL, "locks nothing");
		is(lh_release(other, &theirs), 0, "released");
	}
}

static void
with_options(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l, theirs;

	o.mode = LH_SHARED;
	o.ttl_ms = 5000;
	is(lh_acquire(other, "k", &o, &theirs), 0, "a reader");
	is(lh_key_lock(k, &o), 0, "and another one, by the handle");
	is(lh_key_lock(k, NULL), -EALREADY, "once a thread in any mode");
	is(lh_key_lease(k, &l), 0, "its lease");
	is(l.mode, LH_SHARED, "is shared");
	is(lh_release(other, &theirs), 0, "one leaves");
	is(lh_key_unlock(k), 0, "and the other");
	o.flags = 1u << 31;
	is(lh_key_lock(k, &o), -EINVAL, "wrong options are refused");
}

/* Broken by an operator; `opts` may be NULL. */
static void
lost(const struct lh_acquire_opts *opts, const char *what)
{
	struct lh_lease l;

	for (int i = 0; i < WARM; i++) {
		is(lh_key_lock(k, opts), 0, "%s: locked", what);
		is(lh_key_lease(k, &l), 0, "%s: the lease", what);
		cmp(lh_break(other, "k", NULL, 0), >, 0, "%s: is broken", what);
		is(lh_verify(lh, &l), -ESTALE, "%s: so it is lost", what);
		is(lh_key_unlock(k), -ESTALE, "%s: the unlock says so", what);
		is(lh_key_unlock(k), -EINVAL, "%s: once", what);
		is(lh_key_lock(k, opts), 0, "%s: it can be locked", what);
		is(lh_key_unlock(k), 0, "%s: and unlocked", what);
	}
}

/* Released, and converted, by the copy. */
static void
by_its_copy(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;

	o.ttl_ms = 5000;
	for (int i = 0; i < 4; i++) {
		is(lh_key_lock(k, i % 2 ? &o : NULL), 0, "locked");
		is(lh_key_lease(k, &l), 0, "the lease");
		if (i < 2) {
			is(lh_release(lh, &l), 0, "is released");
			cmp(lh_key_unlock(k), <, 0, "nothing is unlocked");
			continue;
		}
		is(lh_convert(lh, &l, LH_SHARED), 0, "is converted");
		cmp(lh_key_unlock(k), <, 0, "nothing is unlocked");
		is(lh_verify(lh, &l), 0, "the converted one is held");
		is(lh_release(lh, &l), 0, "and released");
	}
}

static void *
in_a_thread(void *arg)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;

	(void)arg;
	o.max_wait_ms = 0;
	is(lh_key_unlock(k), -EINVAL, "another thread does not unlock it");
	is(lh_key_lease(k, &l), -EINVAL, "nor has it the lease");
	is(lh_key_lock(k, &o), -EAGAIN, "nor can it lock it");
	return NULL;
}

static void *
leaves_it_locked(void *arg)
{
	(void)arg;
	for (int i = 0; i < WARM; i++)
		is(lh_key_lock(k, NULL), i == 0 ? 0 : -EALREADY, "locked");
	return NULL;
}

static void
threads(void)
{
	struct lh_lease theirs;

	for (int i = 0; i < WARM; i++) {
		is(lh_key_lock(k, NULL), 0, "locked here");
		t_aside(in_a_thread);
		is(lh_key_unlock(k), 0, "unlocked here");
	}
	t_aside(leaves_it_locked);
	is(t_acquire(other, "k", 1000, 0, &theirs), -EAGAIN,
	    "the thread has left it locked");
	is(lh_key_unlock(k), -EINVAL, "which is not this thread's");
	cmp(lh_break(other, "k", NULL, 0), >, 0, "an operator helps");
}

static int
inherited(void *arg)
{
	struct lh_lease l;

	(void)arg;
	is(lh_key_unlock(k), -EPERM, "a child does not unlock it");
	is(lh_key_lease(k, &l), -EPERM, "nor has it the lease");
	is(lh_key_lock(k, NULL), -EPERM, "nor can it lock it");
	ok(t_has_detail(), "and it says why");
	return tap_child_status();
}

static void
forked(void)
{
	struct lh_lease l;

	for (int i = 0; i < WARM; i++) {
		is(lh_key_lock(k, NULL), 0, "locked by the parent");
		is(t_reap(t_fork(inherited, NULL), T_HANG_MS), 0, "a child");
		is(lh_key_lease(k, &l), 0, "the parent has its lease");
		is(lh_verify(lh, &l), 0, "which is held");
		is(lh_key_unlock(k), 0, "and unlocks it");
	}
}

static void
refused(void)
{
	static const uint64_t zeros[64];
	struct lh_key *zeroed = (struct lh_key *)(uintptr_t)zeros;
	struct lh_lease l;

	is(lh_key_lock(NULL, NULL), -EINVAL, "no key");
	is(lh_key_unlock(NULL), -EINVAL, "nothing to unlock");
	is(lh_key_lease(NULL, &l), -EINVAL, "no lease of it");
	is(lh_key_lock(k, NULL), 0, "locked");
	is(lh_key_lease(k, NULL), -EINVAL, "nowhere to put the lease");
	is(lh_key_unlock(k), 0, "unlocked");
	is(lh_key_lock(zeroed, NULL), -EINVAL, "zeros are no handle");
	is(lh_key_unlock(zeroed), -EINVAL, "and lock nothing");
	is(lh_key_lease(zeroed, &l), -EINVAL, "and have no lease");
	is(lh_key_acquire(zeroed, NULL, &l), -EINVAL, "nor are they acquired");
	is(lh_key_lock(k, NULL), 0, "locked");
	is(lh_key_close(k), 0, "and closed");
	is(lh_key_unlock(k), -EINVAL, "a closed handle is not unlocked");
	is(lh_key_lease(k, &l), -EINVAL, "and has no lease");
	is(lh_key_lock(k, NULL), -EINVAL, "nor is it locked");
	is(t_acquire(other, "k", 1000, 0, &l), -EAGAIN,
	    "its lease stays as it is");
}

int
main(void)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	table = t_table();
	lh = t_open(table);
	other = t_open(table);
	o.ttl_ms = 7000;
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	locked_and_unlocked();
	with_options();
	lost(NULL, "without options");
	lost(&o, "with options");
	by_its_copy();
	threads();
	forked();
	refused();
	t_close(other);
	t_close(lh);
	return done();
}
