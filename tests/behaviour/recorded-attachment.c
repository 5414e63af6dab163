/* SPDX-License-Identifier: MIT */
/*
 * LH_RECORD: each grant and release through such an attachment is recorded, on
 * every path; those of other attachments to the table are not, and stay on the
 * fast path.
 *
 * Otherwise `log --at` could not tell who held a key on a table where nobody
 * has switched recording on; or all programs would pay for what the command
 * records.
 */
#include "support/support.h"
#include "tap.h"

#define ROUNDS 20

struct seen {
	uint64_t session;
	int granted, released, shared;
};

static int
count(const struct lh_log_entry *e, void *arg)
{
	struct seen *s = arg;

	if (e->session_id != s->session)
		return 0;
	s->granted += e->kind == LH_LOG_GRANTED;
	s->released += e->kind == LH_LOG_RELEASED;
	s->shared += e->kind == LH_LOG_GRANTED && e->mode == LH_SHARED;
	return 0;
}

static struct seen
seen_of(struct lh *lh)
{
	struct seen s = { lh_session_id(lh), 0, 0, 0 };

	is(lh_log(lh_table_name(lh), NULL, count, &s), 0, "the log");
	return s;
}

static void
pairs(struct lh *lh, uint32_t mode, int n)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;
	struct lh_key *k;

	o.mode = mode;
	if (lh_key_open(lh, "k", 0, &k) != 0)
		bail_out("no key: %s", lh_error_detail());
	for (int i = 0; i < n; i++) {
		if (lh_key_acquire(k, &o, &l) != 0 || lh_release(lh, &l) != 0)
			bail_out("no pair: %s", lh_error_detail());
	}
	is(lh_key_close(k), 0, "closed");
}

int
main(void)
{
	const char *table = t_table();
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh *plain = t_open(table), *recorded;
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lock *lock;
	struct seen s;

	o.flags = LH_RECORD;
	is(lh_open(&recorded, table, &o), 0, "opened with LH_RECORD");
	pairs(recorded, LH_EXCLUSIVE, ROUNDS);
	pairs(recorded, LH_SHARED, ROUNDS);
	pairs(plain, LH_EXCLUSIVE, ROUNDS);
	pairs(plain, LH_SHARED, ROUNDS);
	s = seen_of(recorded);
	is(s.granted, 2 * ROUNDS, "each of its grants is recorded");
	is(s.released, 2 * ROUNDS, "and each release");
	is(s.shared, ROUNDS, "in either mode");
	s = seen_of(plain);
	is(s.granted + s.released, 0, "none of the other attachment's");
	is(lh_stats(recorded, &st), 0, "statistics");
	is(st.log_grants, 0, "the table's switch is off");

	is(lh_lock_open(recorded, "live", NULL, &lock), 0, "a handle");
	is(lh_lock_acquire(lock, NULL), 0, "acquired");
	is(lh_lock_release(lock), 0, "released");
	lh_lock_close(lock);
	s = seen_of(recorded);
	is(s.granted, 2 * ROUNDS + 1, "a live handle's, too");
	is(s.released, 2 * ROUNDS + 1, "and its release");
	t_close(recorded);
	t_close(plain);
	return done();
}
