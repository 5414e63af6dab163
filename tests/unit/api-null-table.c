/* SPDX-License-Identifier: MIT */
/*
 * G1, G12 (finding A15): no table at all (NULL) is refused, with a reason, by
 * every call that acquires and by every call on a lease.  So it is where the
 * thread's own memory of leases is of no table and full of zeroes, as such a
 * lease is.  That is so in a thread that has never used one, in a forked child,
 * and after the attachment was closed.
 *
 * Each presents a zeroed lease, one that nobody ever had, and one that was good
 * in its time; in a process of its own, because the other answer is a crash.
 */
#include <errno.h>
#include "proc/attachment.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;
static struct lh *inherited;
static struct lh_lease held;

static void
refused(const struct lh_lease *l, const char *what)
{
	static const int64_t ttls_ms[] = { 1, 100, 30000, 600000 };
	struct lh_lease copy = *l;

	is(lh_release(NULL, &copy), -EINVAL, "release: %s", what);
	ok(t_has_detail(), "with a reason");
	for (int i = 0; i < 4; i++)
		is(lh_extend(NULL, &copy, ttls_ms[i]), -EINVAL,
		    "extend by %d ms: %s", (int)ttls_ms[i], what);
	ok(t_has_detail(), "with a reason");
	is(lh_verify(NULL, &copy), -EINVAL, "verify: %s", what);
	ok(t_has_detail(), "with a reason");
	ok(memcmp(&copy, l, sizeof(copy)) == 0, "nothing changed: %s", what);
}

/* Each way of acquiring, with the keys that this thread used last. */
static void
nothing_acquired(void)
{
	static const char *const keys[] = { "mine", "k", "other" };
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;

	for (int i = 0; i < 3; i++) {
		is(lh_acquire(NULL, keys[i], NULL, &l), -EINVAL, "acquire %s",
		    keys[i]);
		ok(t_has_detail(), "with a reason");
		is(lh_acquire(NULL, keys[i], &o, &l), -EINVAL,
		    "acquire %s with options", keys[i]);
	}
	is(lh_key_acquire(NULL, NULL, &l), -EINVAL, "acquire no opened key");
}

static void *
present(void *arg)
{
	const struct lh_lease *good = arg;
	struct lh_lease l;

	nothing_acquired();

	memset(&l, 0, sizeof(l));
	refused(&l, "zeroes");
	l.opaque = LEASE_LIVE;
	refused(&l, "nearly zeroes");
	memset(&l, 0x5a, sizeof(l));
	refused(&l, "what is no lease");
	if (good != NULL)
		refused(good, "a good one");
	is(lh_release(NULL, NULL), -EINVAL, "release of nothing");
	is(lh_extend(NULL, NULL, 1000), -EINVAL, "extend of nothing");
	is(lh_verify(NULL, NULL), -EINVAL, "verify of nothing");
	return NULL;
}

/* Nobody in this process has opened anything. */
static int
at_first(void *arg)
{
	(void)arg;
	present(NULL);
	return tap_child_status();
}

/* The pages that remember the parent's leases were wiped. */
static int
in_a_child(void *arg)
{
	(void)arg;
	present(&held);
	return tap_child_status();
}

static int
in_use_and_closed(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_lease l = t_hold(lh, "mine");

	(void)arg;
	t_join(t_thread(present, &l));
	present(&l);
	is(lh_verify(lh, &l), 0, "the good one is still good");
	is(lh_close(lh), 0, "closed with a lease held");
	present(&l);
	lh = t_open(table);
	l = t_hold(lh, "mine");
	is(lh_release(lh, &l), 0, "one that was released");
	present(&l);
	is(lh_close(lh), 0, "closed");
	present(&l);
	return tap_child_status();
}

int
main(void)
{
	is(t_reap(t_fork(at_first, NULL), T_HANG_MS), 0,
	    "before anything is opened");
	table = t_table();
	inherited = t_open(table);
	held = t_hold(inherited, "k");
	is(t_reap(t_fork(in_a_child, NULL), T_HANG_MS), 0,
	    "in a child of one who holds");
	is(t_reap(t_fork(in_use_and_closed, NULL), T_HANG_MS), 0,
	    "beside an attachment, and after it");
	is(lh_verify(inherited, &held), 0, "the parent's lease is held");
	is(lh_release(inherited, &held), 0, "and is released");
	t_close(inherited);
	return done();
}
