/* SPDX-License-Identifier: MIT */
/*
 * LH_LOOK attaches without a session: such an attachment can inspect the table
 * and break leases; a call that needs a session returns -EOPNOTSUPP. It makes
 * no table.
 *
 * Otherwise an operator could not look at a table whose sessions are all in
 * use.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/support.h"
#include "tap.h"

static int
count_key(const struct lh_key_info *info, void *arg)
{
	++*(int *)arg;
	is(info->n_holders, 1u, "'%s' has a holder", info->key);
	return 0;
}

static void
no_finding(const char *finding, void *arg)
{
	(void)arg;
	ok(false, "finding: %s", finding);
}

static void
refuse_what_needs_one(struct lh *look)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l = { 0 }, two[2];
	const struct lh_item keys[2] = { { .key = "a" }, { .key = "b" } };
	struct lh_session *s;
	struct lh_ticket *t;
	struct lh_key *key;
	struct lh_sem *sem;

	is(lh_acquire(look, "k", &o, &l), -EOPNOTSUPP, "acquire is refused");
	ok(strstr(lh_error_detail(), "LH_LOOK") != NULL, "and says why: %s",
	    lh_error_detail());
	is(lh_acquire(look, "other", NULL, &l), -EOPNOTSUPP, "of any key");
	is(lh_key_create(look, "new"), -EOPNOTSUPP, "a new key");
	is(lh_key_open(look, "k", 0, &key), -EOPNOTSUPP, "an opened key");
	is(lh_session_open(look, "new", NULL, &s), -EOPNOTSUPP,
	    "a session that is to be made");
	is(lh_acquire_start(look, "k", NULL, &t), -EOPNOTSUPP, "a ticket");
	is(lh_acquire_many(look, keys, 2, NULL, two), -EOPNOTSUPP, "many keys");
	is(lh_destroy(look, "k"), -EOPNOTSUPP, "destroying a key");
	is(lh_liveness_fd(look), -EOPNOTSUPP, "passing it on");
	is(lh_session_id(look), 0, "it has no session id");
	is(lh_sem_open(look, "sem", 2, &sem), -EOPNOTSUPP, "a new semaphore");
	is(lh_sem_destroy(look, "sem"), -EOPNOTSUPP, "removing one");
}

/* Values and semaphores are read without a session. */
static void
read_beside_keys(struct lh *lh, struct lh *look)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_sem_status st = { .size = sizeof(st) };
	struct lh_sem *made, *seen;
	struct lh_lease l, permit;
	char value[LH_VALUE_MAX];
	uint64_t token = 0;
	size_t len = 0;

	more.value = "v";
	more.value_len = 1;
	o.more = &more;
	is(lh_acquire(lh, "valued", &o, &l), 0, "a key with a value");
	is(lh_value_get(look, "valued", value, &len, &token), 0, "it reads it");
	ok(len == 1 && value[0] == 'v' && token == l.token, "and its token");
	is(lh_release(lh, &l), 0, "released");
	is(lh_sem_open(lh, "sem", 2, &made), 0, "a semaphore");
	is(lh_sem_acquire(made, NULL, &permit), 0, "a permit");
	is(lh_sem_open(look, "sem", 0, &seen), 0, "it finds the semaphore");
	is(lh_sem_status(seen, &st), 0, "it asks how it stands");
	ok(st.limit == 2 && st.held == 1, "one of two permits is held");
	is(lh_sem_acquire(seen, NULL, &l), -EOPNOTSUPP, "it gets no permit");
	is(lh_sem_release(made, &permit), 0, "released");
	is(lh_sem_close(seen), 0, "closed");
	is(lh_sem_close(made), 0, "closed");
}

int
main(void)
{
	const char *table = t_table();
	struct lh_open_opts o = t_open_opts();
	struct lh_stats st = { .size = sizeof(st) };
	struct lh *lh, *look;
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_session *s, *seen;
	struct lh_lease l;
	int keys = 0;

	o.flags |= LH_LOOK;
	is(lh_open(&look, table, &o), -ENOENT, "it makes no table");
	lh = t_open(table);
	l = t_hold(lh, "k");
	o.flags |= LH_LIVENESS_FD;
	is(lh_open(&look, table, &o), -EINVAL, "it has nothing to pass on");
	o.flags &= ~LH_LIVENESS_FD;
	is(lh_open(&look, table, &o), 0, "it opens one");
	is(lh_list(look, NULL, count_key, &keys), 0, "it lists");
	is(keys, 1, "what is there");
	is(lh_stats(look, &st), 0, "it counts");
	is(st.sessions, 1, "one session, which is not its own");
	is(lh_check(look, no_finding, NULL), 0, "it checks");
	refuse_what_needs_one(look);
	read_beside_keys(lh, look);
	is(lh_verify(lh, &l), 0, "the lease is as it was");
	is(lh_session_open(lh, "s", NULL, &s), 0, "a named session");
	so.flags = LH_NO_CREATE;
	is(lh_session_open(look, "s", &so, &seen), 0, "it finds that");
	is(lh_session_destroy(seen), 0, "and destroys it");
	is(lh_session_renew(s), -ESTALE, "which has ended");
	lh_session_close(s);
	lh_session_close(seen);
	is(lh_break(look, "k", NULL, 0), 1, "it breaks it");
	is(lh_verify(lh, &l), -ESTALE, "then it is lost");
	is(lh_close(look), 0, "it closes");
	(void)lh_release(lh, &l);
	t_close(lh);
	return done();
}
