/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G11: a forked child owns nothing of its parent's reading.
 * It can neither use the parent's shared leases nor revive an idle place of the
 * parent; and its end frees nothing.  With an attachment of its own it can read
 * beside its parent.
 *
 * Otherwise a child that exits would let a writer in beside its reading parent.
 */
#include <errno.h>
#include <signal.h>
#include "readers.h"

static struct lh *lh;
static struct lh_key *key;
static struct lh_lease held, left;
static const char *table;

static void
refused(int r, const char *what)
{
	is(r, -EPERM, "%s is refused", what);
	ok(t_has_detail(), "%s: and says why", what);
}

static int
use_inherited(void *arg)
{
	struct lh_acquire_opts o = t_read_opts(1000, 0);
	struct lh_lease l = held, gone = left, fresh;

	refused(lh_release(lh, &l), "release");
	refused(lh_extend(lh, &l, 1000), "extend");
	refused(lh_verify(lh, &l), "verify");
	refused(lh_convert(lh, &l, LH_EXCLUSIVE), "upgrade");
	refused(lh_convert(lh, &l, LH_SHARED), "convert to the same");
	refused(lh_release(lh, &gone), "release of what was released");
	ok(memcmp(&l, &held, sizeof(l)) == 0, "the lease is untouched");
	/* the parent was the last to read this one, and could again */
	refused(lh_key_acquire(key, &o, &fresh), "reading an opened key");
	refused(lh_acquire(lh, "left", &o, &fresh), "by name");
	refused(lh_acquire(lh, "held", &o, &fresh), "beside the parent");
	if (arg != NULL)
		raise(SIGKILL);
	return tap_child_status();
}

static int
use_own(void *arg)
{
	struct lh *own = t_open(table);
	struct lh_lease mine, copy = held;

	(void)arg;
	is(t_read(own, "held", HOUR_MS, 0, &mine), 0, "it reads as itself");
	is(t_holders(own, "held"), 2, "beside the parent");
	is(lh_convert(own, &mine, LH_EXCLUSIVE), -EAGAIN,
	    "which counts as a reader");
	is(lh_release(own, &copy), -EPERM, "the parent's is a stranger's");
	is(lh_release(own, &mine), 0, "it releases its own");
	is(t_try(own, "held", LH_EXCLUSIVE, 0), -EAGAIN,
	    "and cannot write");
	is(lh_close(own), 0, "and detaches");
	return tap_child_status();
}

static void
parent_holds(struct t_actor *b)
{
	is(lh_verify(lh, &held), 0, "the parent still holds");
	is(t_holders(lh, "held"), 1, "as the only one");
	is(t_do_acquire(b, "held", HOUR_MS, 0), -EAGAIN,
	    "another process cannot write");
	is(t_holders(lh, "left"), 0, "what it left nobody holds");
}

int
main(void)
{
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, 0);
	struct lh_lease l;
	struct t_actor *b;

	table = t_table();
	b = t_actor(table);
	lh = t_open(table);
	held = t_read_hold(lh, "held");
	is(lh_key_open(lh, "left", 0, &key), 0, "the parent opens a key");
	is(lh_key_acquire(key, &o, &left), 0, "reads it");
	l = left;
	is(lh_release(lh, &l), 0, "and leaves it");
	is(t_reap(t_fork(use_inherited, NULL), T_HANG_MS), 0,
	    "a child is refused everything");
	parent_holds(b);
	is(t_reap(t_fork(use_inherited, &o), T_HANG_MS), 256 + SIGKILL,
	    "another is killed");
	parent_holds(b);
	is(t_reap(t_fork(use_own, NULL), T_HANG_MS), 0,
	    "a third has its own attachment");
	parent_holds(b);
	is(lh_key_acquire(key, &o, &left), 0, "the parent reads again");
	is(lh_verify(lh, &left), 0, "and holds it");
	is(t_do_acquire(b, "left", HOUR_MS, 0), -EAGAIN, "as others see");
	is(lh_release(lh, &left), 0, "released");
	is(lh_release(lh, &held), 0, "the other, too");
	is(t_do_acquire(b, "held", HOUR_MS, 0), 0, "then others can write");
	is(t_do_release(b), 0, "and release");
	is(lh_key_close(key), 0, "closed");
	t_actor_end(b);
	t_close(lh);
	return done();
}
