/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, LH_ALL_LOCAL: through such an attachment every acquire is in
 * scope local: without options or with other ones, by name, opened, shared,
 * queued, with a ticket, and when the thread had the key before by other means.
 * It fails when scope local fails, and a table without a fence file refuses the
 * flag.  Cluster keys have their own scope.
 *
 * Otherwise one forgotten option would give a token that is not on disk, and
 * the same token could be given again after a reboot.
 */
#include "fence.h"

static struct lh *
open_all_local(const char *table)
{
	struct lh_open_opts o = fence_opts();
	struct lh *lh;

	o.flags |= LH_ALL_LOCAL;
	if (lh_open(&lh, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	return lh;
}

static int
note_scope(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->scope;
	return 0;
}

static void
has_scope(struct lh *lh, const char *key, uint32_t want, const char *what)
{
	uint32_t scope = UINT32_MAX;

	is(lh_status(lh, key, NULL, note_scope, &scope), 0, "%s: status", what);
	is(scope, want, "%s: its scope", what);
}

static void
refused(void)
{
	const char *table = t_table();
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = t_open(table), *other = NULL;

	o.flags = LH_ALL_LOCAL;
	is(lh_open(&other, table, &o), -EOPNOTSUPP, "no fence file: refused");
	ok(other == NULL && strstr(lh_error_detail(), "LH_ALL_LOCAL") != NULL &&
	    strstr(lh_error_detail(), "--durable") != NULL,
	    "saying what to do: %s", lh_error_detail());
	t_close(lh);
}

/* Without fence_dir a new table has its ranges in the usual place. */
static void
makes_one(void)
{
	const char *table = t_table();
	struct lh_open_opts o = t_open_opts();
	char ranges[FENCE_PATH + 100];
	struct lh *lh = NULL;

	(void)setenv("XDG_STATE_HOME", fence_dir(), 1);
	o.flags = LH_ALL_LOCAL;
	is(lh_open(&lh, table, &o), 0, "a new table: %s", lh_error_detail());
	snprintf(ranges, sizeof(ranges), "%s/leasehold/leasehold.%u.%s.fence",
	    fence_dir(), (unsigned)geteuid(), table);
	is(access(ranges, F_OK), 0, "has its fence file in %s", ranges);
	if (lh != NULL)
		t_close(lh);
}

static void
every_way(struct lh *lh)
{
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_ticket *ticket;
	struct lh_lease l, m;
	struct lh_key *k;

	is(lh_acquire(lh, "by name", NULL, &l), 0, "by name");
	is(lh_release(lh, &l), 0, "released");
	has_scope(lh, "by name", LH_LOCAL, "by name");
	is(lh_key_open(lh, "opened", 0, &k), 0, "opened");
	has_scope(lh, "opened", LH_EPHEMERAL, "not acquired yet");
	is(lh_key_acquire(k, NULL, &l), 0, "acquired");
	is(lh_release(lh, &l), 0, "released");
	has_scope(lh, "opened", LH_LOCAL, "opened");
	is(lh_key_close(k), 0, "closed");
	is(lh_acquire(lh, "options", &a, &l), 0, "in scope ephemeral");
	is(lh_release(lh, &l), 0, "released");
	has_scope(lh, "options", LH_LOCAL, "in scope ephemeral");
	a.mode = LH_SHARED;
	for (int i = 0; i < 3; i++) {
		is(lh_acquire(lh, "shared", &a, &l), 0, "shared");
		is(lh_acquire(lh, "shared", &a, &m), 0, "beside another");
		is(lh_release(lh, &l), 0, "released");
		is(lh_release(lh, &m), 0, "both");
	}
	has_scope(lh, "shared", LH_LOCAL, "shared");
	a.mode = LH_EXCLUSIVE;
	a.max_wait_ms = 10000;
	is(lh_acquire_start(lh, "ticket", &a, &ticket), 0, "a ticket");
	is(lh_ticket_finish(ticket, &l), 0, "granted");
	is(lh_release(lh, &l), 0, "released");
	has_scope(lh, "ticket", LH_LOCAL, "a ticket");
}

static int
try_without_options(struct lh *lh, struct lh_key *k)
{
	struct lh_lease l;
	int error = k != NULL ? lh_key_acquire(k, NULL, &l) :
	    lh_acquire(lh, "k", NULL, &l);

	return error != 0 ? error : lh_release(lh, &l);
}

/* This thread's memory of a key belongs to its attachment: another attachment's
 * ephemeral grant must not skip a check. */
static void
fails_closed(const char *table)
{
	struct lh *plain = fence_open(table), *all;
	struct lh_key *k, *p;
	uint64_t token;

	is(lh_key_open(plain, "k", 0, &p), 0, "opened");
	for (int i = 0; i < 3; i++)
		is(try_without_options(plain, p), 0, "ephemeral, by others");
	fence_wipe(fence_ranges(table));
	all = open_all_local(table);
	is(lh_key_open(all, "k", 0, &k), 0, "the directory is lost: opened");
	for (int i = 0; i < 3; i++) {
		is(try_without_options(plain, p), 0, "they go on");
		is(try_without_options(all, k), -EIO, "opened: refused");
		is(try_without_options(all, NULL), -EIO, "by name: refused");
		is(fence_token(all, "k", LH_EPHEMERAL, &token), -EIO,
		    "in scope ephemeral: refused");
		ok(strstr(lh_error_detail(), fence_ranges(table)) != NULL,
		    "naming the directory");
	}
	is(mkdir(fence_ranges(table), 0700), 0, "it is there again");
	for (int i = 0; i < 3; i++) {
		is(try_without_options(all, k), 0, "opened: granted");
		is(try_without_options(all, NULL), 0, "by name: granted");
	}
	has_scope(all, "k", LH_LOCAL, "afterwards");
	is(lh_key_close(k), 0, "closed");
	is(lh_key_close(p), 0, "closed");
	t_close(all);
	t_close(plain);
}

static void
outlives(const char *table)
{
	struct lh *lh = open_all_local(table);
	struct lh_lease l;
	struct lh_key *k;
	uint64_t last = 0;

	for (int round = 0; round < 3; round++) {
		is(lh_key_open(lh, "again", 0, &k), 0, "opened");
		for (int i = 0; i < 1000; i++) {
			if (lh_key_acquire(k, NULL, &l) != 0 ||
			    l.token <= last || lh_release(lh, &l) != 0)
				fail("round %d, use %d: %" PRIu64 " after %"
				    PRIu64, round, i, l.token, last);
			last = l.token;
		}
		is(lh_key_close(k), 0, "closed");
		t_close(lh);
		is(unlink(t_object(table)), 0, "the table is lost");
		lh = open_all_local(table);
	}
	is(lh_acquire(lh, "again", NULL, &l), 0, "once more");
	cmp(l.token, >, last, "tokens went on");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
}

static void
of_a_cluster(struct lh *lh)
{
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_lease l;

	is(lh_acquire(lh, "cluster:k", NULL, &l), -EHOSTUNREACH,
	    "a cluster's key asks the shim");
	a.scope = LH_LOCAL;
	is(lh_acquire(lh, "cluster:k", &a, &l), -EOPNOTSUPP,
	    "and is not in scope local when that is asked for");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh;

	refused();
	makes_one();
	lh = open_all_local(table);
	every_way(lh);
	of_a_cluster(lh);
	t_close(lh);
	fails_closed(table);
	outlives(t_table());
	return done();
}
