/* SPDX-License-Identifier: MIT */
/*
 * G3, G9: lh_lease_info() tells the key, times and policy of a lease that is
 * held, and of no other.  Without it, a program that keeps leases (of 40 bytes)
 * would not know which key one is for, or would believe the times of a later
 * holder.
 */
#include <errno.h>
#include <string.h>
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define TTL_MS 60000

static const char *table;
static struct lh *lh;
static struct lh_lease_info info;

static int
look(const struct lh_lease *l)
{
	info = (struct lh_lease_info)LH_LEASE_INFO_INIT;
	return lh_lease_info(lh, l, &info);
}

static void
is_fresh(const struct lh_lease *l, const char *key, int64_t before)
{
	is(look(l), 0, "of the lease on %s", key);
	ok(strcmp(info.key, key) == 0, "its key");
	is_u64(info.token, l->token, "its token");
	is((int)info.mode, l->mode, "its mode");
	is((int)info.notes, l->notes, "its notes");
	cmp(info.acquired_ns, <=, lh_clock_ns(lh), "acquired by now");
	cmp(info.acquired_ns, >=, before - 8 * T_NS_PER_MS, "not long ago");
}

static void
each_kind(void)
{
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	int64_t before = t_ticked_ns();
	struct lh_lease l[3], first;

	for (int round = 0; round < 3; round++) {
		o.mode = LH_EXCLUSIVE;
		o.more = NULL;
		is(lh_acquire(lh, "x", &o, &l[0]), 0, "exclusive");
		o.mode = LH_SHARED;
		is(lh_acquire(lh, "s", &o, &l[1]), 0, "shared");
		o.mode = LH_EXCLUSIVE;
		o.more = &more;
		more.policy = LH_POLICY_STRICT;
		is(lh_acquire(lh, "strict", &o, &l[2]), 0, "strict");
		is_fresh(&l[0], "x", before);
		is((int)info.policy, LH_POLICY_LEASE, "ends at its deadline");
		cmp(info.expires_ns, ==, l[0].expires_ns, "which is that");
		is_fresh(&l[1], "s", before);
		is_fresh(&l[2], "strict", before);
		is((int)info.policy, LH_POLICY_STRICT, "does not");
		ok(info.expires_ns == INT64_MAX, "it has none");
		first = l[0];
		is(lh_extend(lh, &l[0], 2 * TTL_MS), 0, "extended");
		is(look(&first), 0, "a copy from before");
		cmp(info.expires_ns, ==, l[0].expires_ns,
		    "the deadline of now");
		for (int i = 0; i < 3; i++) {
			first = l[i];
			is(lh_release(lh, &l[i]), 0, "released");
			is(look(&l[i]), -ESTALE, "a lease that was released");
			is(look(&first), -ESTALE, "and a copy of it");
			ok(info.key[0] == '\0' && info.acquired_ns == 0,
			    "it says nothing of the key's later holders");
		}
	}
}

/* The thread's claim goes from key to key; its lease is for the last one. */
static void
key_after_key(void)
{
	static const char *const keys[] = { "a", "b", "a", "c" };
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	struct lh_lease l;

	for (int i = 0; i < 16; i++) {
		o.mode = i < 8 ? LH_EXCLUSIVE : LH_SHARED;
		for (int again = 0; again < 3; again++) {
			is(lh_acquire(lh, keys[i % 4], i < 8 ? NULL :
			    &o, &l), 0, "acquired %s", keys[i % 4]);
			is(look(&l), 0, "what is known of it");
			ok(strcmp(info.key, keys[i % 4]) == 0, "its key");
			is(lh_release(lh, &l), 0, "released");
		}
	}
}

static void
of_a_session(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_acquire_opts o = t_opts(TTL_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session *se = NULL;
	struct lh_lease l;

	so.ttl_ms = 10000;
	is(lh_session_open(lh, "job", &so, &se), 0, "a session of 10 s");
	more.session = se;
	o.more = &more;
	is(lh_acquire(lh, "in session", &o, &l), 0, "a lease of 60 s in it");
	is(look(&l), 0, "what is known of it");
	cmp(info.expires_ns, <=, lh_clock_ns(lh) + 11000 * T_NS_PER_MS,
	    "it ends with the session");
	is(lh_session_destroy(se), 0, "the session ends");
	is(look(&l), -ESTALE, "and the lease");
	lh_session_close(se);
}

static void
expired_and_foreign(void)
{
	struct lh *other = t_open(table);
	struct lh_lease l = t_hold(lh, "k"), none = { 0 }, later;

	is(lh_extend(lh, &l, 1), 0, "to end soon");
	t_sleep_ms(20);
	is(look(&l), -ESTALE, "a lease that ran out");
	later = t_hold(other, "k");
	is(look(&l), -ESTALE, "when somebody else has the key");
	is(look(&later), -EPERM, "theirs");
	is(look(&none), -EINVAL, "no lease");
	is(look(NULL), -EINVAL, "none at all");
	is(lh_lease_info(lh, &l, NULL), -EINVAL, "no place for it");
	info.size = 3;
	is(lh_lease_info(lh, &l, &info), -EINVAL, "of no size");
	ok(t_has_detail(), "with a reason");
	is(lh_lease_info(NULL, &l, &info), -EINVAL, "no table");
	is(lh_release(other, &later), 0, "released");
	is(lh_close(other), 0, "closed");
}

/* A program built with a smaller struct gets what it has room for. */
static void
older_program(void)
{
	struct lh_lease l = t_hold(lh, "k");

	memset(&info, 0x5a, sizeof(info));
	info.size = offsetof(struct lh_lease_info, policy);
	is(lh_lease_info(lh, &l, &info), 0, "with a smaller struct");
	is_u64(info.token, l.token, "its token");
	ok(info.policy == 0x5a5a5a5a, "nothing is written behind it");
	is(lh_release(lh, &l), 0, "released");
}

int
main(void)
{
	table = t_table();
	lh = t_open(table);
	each_kind();
	key_after_key();
	of_a_session();
	expired_and_foreign();
	older_program();
	is(lh_close(lh), 0, "closed");
	return done();
}
