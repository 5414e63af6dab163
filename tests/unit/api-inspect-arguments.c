/* SPDX-License-Identifier: MIT */
/*
 * Inspection and small questions: bad arguments are refused with a reason;
 * statistics add up; names, clocks and ids are what they should be.
 */
#include <errno.h>
#include <time.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static int
never(const struct lh_key_info *info, void *arg)
{
	(void)info;
	++*(int *)arg;
	return 0;
}

static void
refusals(struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) }, blank;
	uint64_t id[2] = { 1, 1 };
	char name[300];
	int calls = 0;

	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	is(lh_list(NULL, NULL, never, &calls), -EINVAL, "list: no table");
	is(lh_list(lh, NULL, NULL, NULL), -EINVAL, "list: nobody to tell");
	ok(t_has_detail(), "with a reason");
	is(lh_status(NULL, "k", NULL, never, &calls), -EINVAL,
	    "status: no table");
	is(lh_status(lh, "k", NULL, NULL, NULL), -EINVAL,
	    "status: nobody to tell");
	is(lh_status(lh, NULL, NULL, never, &calls), -EINVAL,
	    "status: no key");
	is(lh_status(lh, "", NULL, never, &calls), -EINVAL,
	    "status: an empty key");
	is(lh_status(lh, name, NULL, never, &calls), -ENAMETOOLONG,
	    "status: a key of 256 bytes");
	ok(t_has_detail(), "with a reason");
	is(lh_status(lh, "k", id, never, &calls), -ESTALE,
	    "status: an id that holds nothing");
	ok(t_has_detail(), "with a reason");
	is(lh_status(lh, "not there", NULL, never, &calls), -ENOENT,
	    "status: an unknown key");
	ok(t_has_detail(), "with a reason");
	is(calls, 0, "the callback was not called");
	is(lh_stats(NULL, &st), -EINVAL, "stats: no table");
	is(lh_stats(lh, NULL), -EINVAL, "stats: nowhere to put them");
	for (int i = 0; i < 3; i++) {
		memset(&st, 0x5a, sizeof(st));
		st.size = i == 0 ? 0 : i == 1 ? sizeof(st) - 1 :
		    sizeof(st) + 8;
		blank = st;
		is(lh_stats(lh, &st), -EINVAL, "stats: a wrong size");
		ok(t_has_detail(), "with a reason");
		ok(memcmp(&st, &blank, sizeof(st)) == 0, "nothing is written");
	}
	is(lh_check(NULL, NULL, NULL), -EINVAL, "check: no table");
	ok(t_has_detail(), "with a reason");
}

static void
statistics(struct lh *lh, const char *table)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh *second = t_open(table);
	struct lh_lease l;

	is(lh_stats(lh, &st), 0, "statistics");
	is(st.size, sizeof(st), "keep their size");
	is(st.max_keys, 1024, "the table's keys");
	is(st.keys, 1, "and how many there are");
	is(st.max_sessions, 256, "its sessions");
	is(st.sessions, 2, "and how many there are");
	is(st.max_leases, 16384, "its leases");
	is(st.leases_reserved % 64, 0, "reserved 64 at a time");
	cmp(st.leases_reserved, <=, 128, "by two sessions");
	is(st.damaged, 0, "no damage");
	cmp(st.bytes, >, 16384 * 64, "the memory");
	cmp(st.token_base, <, st.token_ceiling, "a range for tokens");
	l = t_hold(second, "l");
	is(lh_stats(lh, &st), 0, "again");
	is(st.keys, 2, "one key more");
	cmp(st.leases_reserved, >=, 64, "leases are reserved now");
	ok(l.token > st.token_base && l.token < st.token_ceiling,
	    "tokens are in the range");
	is(lh_close(second), 0, "one session ends");
	is(lh_stats(lh, &st), 0, "again");
	is(st.sessions, 1, "one less");
}

static void
clocks(struct lh *lh, const char *table)
{
	int64_t before = t_now_ns(), now = lh_clock_ns(lh), after = t_now_ns();
	struct timespec ts;
	int64_t epoch, off;

	ok(before <= now && now <= after,
	    "the table's clock is CLOCK_MONOTONIC");
	clock_gettime(CLOCK_REALTIME, &ts);
	epoch = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	off = lh_epoch_ms(lh, lh_clock_ns(lh)) - epoch;
	ok(off >= -2000 && off <= 2000, "now is now in both (%lld ms)",
	    (long long)off);
	off = lh_epoch_ms(lh, now + 3600000 * T_NS_PER_MS) -
	    lh_epoch_ms(lh, now);
	ok(off >= 3599990 && off <= 3600010, "an hour is an hour");
	is_str(lh_table_name(lh), table, "its name");
	ok(lh_session_id(lh) != 0, "a session id");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);

	is(lh_key_create(lh, "k"), 0, "a key");
	refusals(lh);
	statistics(lh, table);
	clocks(lh, table);
	t_close(lh);
	return done();
}
