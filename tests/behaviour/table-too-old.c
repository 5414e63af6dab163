/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, issue 21 B5: a table's deadlines reach for 2^58 ns from its
 * making.  A year ahead, stats and fsck say so.  A month ahead nothing is
 * granted, extended or renewed any more, with an error of its own; held leases
 * can be verified and released until they end.  After the end a strict holder
 * still holds its key, and every other lease has ended.
 *
 * Otherwise all leases would end at once after nine years, with wrong reasons.
 */
#include <errno.h>
#include <string.h>
#include "base/clock.h"
#include "shm/table_age.h"
#include "support/child.h"
#include "support/moved_clock.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_NS (3600 * NS_PER_SEC)
#define DAY_NS (24 * HOUR_NS)

static const char *table;

static struct lh_lease
hold(struct lh *lh, const char *key, uint32_t policy, int64_t ttl_ms)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	struct lh_lease l;

	more.policy = policy;
	o.more = &more;
	is(lh_acquire(lh, key, &o, &l), 0, "%s is held", key);
	return l;
}

static bool
is_too_old(int error, const char *what)
{
	bool good = error == -EOVERFLOW && strstr(lh_error_detail(),
	    "more than nine years old") != NULL;

	ok(good, "%s: -EOVERFLOW", what);
	if (!good)
		diag("%d: %s", error, lh_error_detail());
	return good;
}

static void
refuse_everything(struct lh *lh, struct lh_key *known, struct lh_lease *held)
{
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l, from = *held;
	struct lh_session *s = NULL;
	struct lh_lock *lock = NULL;

	is_too_old(lh_key_acquire(known, NULL, &l), "an opened key");
	is_too_old(lh_acquire(lh, "known", NULL, &l), "a key by name");
	is_too_old(lh_acquire(lh, "new", NULL, &l), "a new key");
	is_too_old(lh_acquire(lh, "known", &o, &l), "with options");
	o.mode = LH_SHARED;
	is_too_old(lh_key_acquire(known, &o, &l), "shared");
	o.max_wait_ms = 1000;
	is_too_old(lh_acquire(lh, "busy", &o, &l), "a wait");
	is_too_old(lh_extend(lh, held, 60000), "an extension");
	is(held->expires_ns, from.expires_ns, "leaves the lease as it was");
	is_too_old(lh_session_open(lh, "s", NULL, &s), "a session");
	is(lh_lock_open(lh, "live", NULL, &lock), 0, "a live handle");
	is_too_old(lh_lock_acquire(lock, NULL), "that acquires");
	is(lh_lock_close(lock), 0, "closed");
}

static int
another_process(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_lease l;

	(void)arg;
	is_too_old(lh_acquire(lh, "free", NULL, &l), "another process");
	is(lh_close(lh), 0, "which opens and closes");
	return tap_child_status();
}

static int
wait_for_busy(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_lease l;

	(void)arg;
	is_too_old(t_acquire(lh, "busy", 60000, 600000, &l),
	    "a waiter whose turn comes too late");
	is(lh_close(lh), 0, "closes");
	return tap_child_status();
}

static int64_t
left_ns(struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };

	is(lh_stats(lh, &st), 0, "stats");
	return st.life_left_ns;
}

static void
count_down(struct lh *lh)
{
	int64_t left;

	is(left_ns(lh) / DAY_NS, AGE_GRANTS_NS / DAY_NS, "nine years left");
	t_clock_age(AGE_GRANTS_NS - DAY_NS);
	left = left_ns(lh);
	ok(left < DAY_NS + HOUR_NS && left > DAY_NS - HOUR_NS, "a day left");
	t_clock_age(AGE_GRANTS_NS + HOUR_NS);
	is(left_ns(lh), 0, "none left");
}

static void
pass_the_end(struct lh *lh)
{
	struct lh_lease plain, strict, reader, l;
	struct lh_acquire_opts o = t_opts(LH_TTL_MAX_MS, 0);
	struct lh_key *known;
	pid_t waiter;

	t_clock_age(AGE_GRANTS_NS - 2 * HOUR_NS);
	is(lh_key_open(lh, "known", 0, &known), 0, "a key");
	is(lh_key_acquire(known, NULL, &l), 0, "acquired");
	is(lh_release(lh, &l), 0, "released");
	strict = hold(lh, "strict", LH_POLICY_STRICT, 60000);
	plain = hold(lh, "plain", LH_POLICY_LEASE, LH_TTL_MAX_MS);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "reader", &o, &reader), 0, "a reader");
	l = hold(lh, "busy", LH_POLICY_LEASE, LH_TTL_MAX_MS);
	is(lh_extend(lh, &l, LH_TTL_MAX_MS), 0, "extended");
	t_clock_age(AGE_GRANTS_NS - 2 * NS_PER_SEC);
	waiter = t_fork(wait_for_busy, NULL);
	ok(t_await_waiters(lh, "busy", 1), "a waiter");
	t_clock_age(AGE_GRANTS_NS + NS_PER_SEC);
	is(lh_release(lh, &l), 0, "released when the table is too old");
	is(t_reap(waiter, T_HANG_MS), 0, "the waiter's call returns the error");

	refuse_everything(lh, known, &plain);
	is(t_reap(t_fork(another_process, NULL), T_HANG_MS), 0,
	    "gets the error");
	is(lh_verify(lh, &plain), 0, "what is held is held");
	is(lh_verify(lh, &reader), 0, "also shared");
	is(lh_extend(lh, &strict, 60000), 0, "strict: nothing to extend");
	is(t_findings(lh), 0, "its age is no damage");

	t_clock_age(AGE_MAX_NS - NS_PER_SEC * 3600);
	is(lh_verify(lh, &plain), -ESTALE, "it ends by its deadline");
	t_clock_age(AGE_MAX_NS + 400 * DAY_NS);
	is(lh_verify(lh, &strict), 0, "strict goes on beyond the end (G1)");
	is_too_old(lh_acquire(lh, "strict", NULL, &l), "nobody else gets it");
	is(t_holders(lh, "strict"), 1, "it is held");
	is(t_holders(lh, "reader"), 0, "others are not");
	is(lh_release(lh, &strict), 0, "it is released");
	is(lh_verify(lh, &strict), -ESTALE, "and held no more");
	lh_key_close(known);
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	t_clock_begin();
	lh = t_open(table);
	count_down(lh);
	t_clock_back();
	pass_the_end(lh);
	t_clock_back();
	t_close(lh);
	return done();
}
