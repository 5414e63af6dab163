/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G11: handles that a child inherits are refused, call by
 * call, with -EPERM and a reason, and the child can make the same calls with an
 * attachment of its own.  The child has the parent's mapping and exact copies
 * of its handles, leases and caches.
 *
 * Otherwise a release in the child would free the parent's key.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct lh_key *key;
static struct lh_lease lease;
static const char *table;

static int
no_key(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 77;
}

static void
refused(int r, const char *what)
{
	is(r, -EPERM, "%s is refused", what);
	ok(t_has_detail(), "%s: and says why", what);
}

static int
use_inherited(void *arg)
{
	struct lh_acquire_opts o = t_opts(1000, 0);
	struct lh_stats stats = { .size = sizeof(stats) };
	struct lh_lease l = lease, fresh, blank;
	struct lh_key *k = NULL;

	(void)arg;
	memset(&fresh, 0x5a, sizeof(fresh));
	blank = fresh;
	refused(lh_release(lh, &l), "release");
	refused(lh_extend(lh, &l, 1000), "extend");
	refused(lh_verify(lh, &l), "verify");
	ok(memcmp(&l, &lease, sizeof(l)) == 0, "the lease is untouched");
	refused(lh_acquire(lh, "free", &o, &fresh), "acquire of a free key");
	refused(lh_acquire(lh, "k", &o, &fresh), "acquire of a held key");
	refused(lh_key_acquire(key, &o, &fresh), "acquire of an opened key");
	ok(memcmp(&fresh, &blank, sizeof(fresh)) == 0, "no lease is written");
	refused(lh_key_open(lh, "new", 0, &k), "opening a key");
	ok(k == NULL, "no key is written");
	refused(lh_key_create(lh, "new"), "making a key");
	refused(lh_key_close(key), "closing a key");
	refused(lh_list(lh, NULL, no_key, NULL), "list");
	refused(lh_status(lh, "k", NULL, no_key, NULL), "status");
	refused(lh_stats(lh, &stats), "stats");
	refused(lh_check(lh, NULL, NULL), "check");
	refused(lh_close(lh), "close");
	return tap_child_status();
}

static int
use_own(void *arg)
{
	struct lh *own = t_open(table);
	struct lh_lease mine;

	(void)arg;
	ok(lh_session_id(own) != lh_session_id(lh), "a session of its own");
	is(t_acquire(own, "k", 1000, 0, &mine), -EAGAIN,
	    "the parent is in its way like anyone");
	is(t_acquire(own, "free", 1000, 0, &mine), 0, "it takes a free key");
	is(lh_verify(own, &mine), 0, "holds it");
	is(lh_release(own, &mine), 0, "and releases it");
	mine = lease;
	is(lh_release(own, &mine), -EPERM,
	    "the parent's lease is a stranger's");
	is(lh_close(own), 0, "and it detaches");
	return tap_child_status();
}

/* A child of the child: two generations of copies. */
static int
use_inherited_twice(void *arg)
{
	return t_reap(t_fork(use_inherited, arg), T_HANG_MS);
}

int
main(void)
{
	int (*const uses[])(void *) = { use_inherited, use_own,
	    use_inherited_twice, use_own };
	struct lh_acquire_opts o = t_opts(3600000, 0);

	table = t_table();
	lh = t_open(table);
	is(lh_key_open(lh, "k", 0, &key), 0, "the parent opens a key");
	/* a release and an acquire: the thread's own store is in use */
	is(lh_key_acquire(key, &o, &lease), 0, "takes it");
	is(lh_release(lh, &lease), 0, "releases it");
	is(lh_key_acquire(key, &o, &lease), 0, "and takes it again");
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		is(t_reap(t_fork(uses[i], NULL), T_HANG_MS), 0,
		    "child %d saw what it should", (int)i);
		is(lh_verify(lh, &lease), 0, "the parent still holds");
	}
	is(lh_release(lh, &lease), 0, "and can release");
	is(lh_key_acquire(key, &o, &lease), 0, "and take it again");
	is(lh_release(lh, &lease), 0, "and release");
	is(lh_key_close(key), 0, "and close");
	t_close(lh);
	return done();
}
