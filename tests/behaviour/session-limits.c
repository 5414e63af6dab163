/* SPDX-License-Identifier: MIT */
/*
 * Limits for each uid (spec section 6): in a table of the machine that others
 * may write, a user gets at most half of the sessions, all users together all
 * but a sixteenth, and root the rest.  In a table that only its owner may
 * write, the owner gets all.
 *
 * Named sessions count as those of processes do.  So does the last sixteenth of
 * a table with fewer than 16: it is one.
 *
 * Otherwise one user's leak would lock the operator out of a broken table.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define SESSIONS 32
#define ONE 65533
#define TWO 65532

static struct shared {
	bool named[2];
	int n[2];
	int error[2];
	char detail[2][256];
	struct t_event full[2];
} *sh;
static const char *table;

static int
open_one(struct lh **lh)
{
	struct lh_open_opts o = t_open_opts();

	o.flags = LH_SYSTEM;
	o.mode = 0666;
	o.max_sessions = SESSIONS;
	return lh_open(lh, table, &o);
}

/* Makes another named session, which stays. */
static int
make_named(struct lh *lh, int user, int i)
{
	struct lh_session *s;
	char name[32];
	int error;

	snprintf(name, sizeof(name), "%d.%d", user, i);
	error = lh_session_open(lh, name, NULL, &s);
	if (error == 0)
		lh_session_close(s);
	return error;
}

/* As that user, opens until it gets no more, and keeps what it has. */
static void
take_all(int user, uid_t uid)
{
	struct lh *lh;

	if (setgid(uid) != 0 || setuid(uid) != 0)
		bail_out("setuid");
	while (sh->n[user] <= SESSIONS &&
	    (sh->error[user] = sh->named[user] && sh->n[user] > 0 ?
	    make_named(lh, user, sh->n[user]) : open_one(&lh)) == 0)
		sh->n[user]++;
	snprintf(sh->detail[user], sizeof(sh->detail[user]), "%s",
	    lh_error_detail());
	t_post(&sh->full[user]);
	pause();
}

static int
as_one(void *arg)
{
	(void)arg;
	take_all(0, ONE);
	return 0;
}

static int
as_two(void *arg)
{
	(void)arg;
	take_all(1, TWO);
	return 0;
}

static void
tidy(void)
{
	char path[200];

	snprintf(path, sizeof(path), "/dev/shm/leasehold.system/%s.table",
	    table);
	t_remove_at_exit(path);
}

/* Two users take all that they can, each either named sessions or others. */
static void
share_among_users(bool one_named, bool two_named)
{
	struct lh *lh[SESSIONS] = { NULL }, *own;
	pid_t one, two;
	int n = 0;

	table = t_table();
	memset(sh, 0, sizeof(*sh));
	sh->named[0] = one_named;
	sh->named[1] = two_named;
	diag("%s sessions, %s sessions", one_named ? "named" : "processes'",
	    two_named ? "named" : "processes'");
	tidy();
	is(open_one(&own), 0, "a table that everybody may write: %s",
	    lh_error_detail());
	is(lh_close(own), 0, "nobody is in it");
	one = t_fork(as_one, NULL);
	ok(t_await(&sh->full[0], 1, T_HANG_MS), "one user takes what it can");
	is(sh->n[0], SESSIONS / 2, "half");
	is(sh->error[0], -ENOSPC, "and no more");
	ok(strstr(sh->detail[0], "as many as one user may") != NULL,
	    "by reason of the user: %s", sh->detail[0]);
	two = t_fork(as_two, NULL);
	ok(t_await(&sh->full[1], 1, T_HANG_MS), "another takes the rest");
	is(sh->n[1], SESSIONS / 2 - SESSIONS / 16, "all but a sixteenth");
	ok(strstr(sh->detail[1], "kept for its owner and root") != NULL,
	    "and the error says: %s", sh->detail[1]);
	while (n < SESSIONS && open_one(&lh[n]) == 0)
		n++;
	is(n, SESSIONS / 16, "which root gets");
	for (int i = 0; i < n; i++)
		is(lh_close(lh[i]), 0, "closed");
	t_kill(one);
	t_kill(two);
	is(lh_table_remove(table, LH_SYSTEM | LH_FORCE | LH_FORGET_TOKENS), 0,
	    "removed");
}

/* Of fewer than 16, one is kept. */
static void
keep_one_of_few(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *own, *lh;
	pid_t one, two;

	table = t_table();
	memset(sh, 0, sizeof(*sh));
	tidy();
	o.flags = LH_SYSTEM;
	o.mode = 0666;
	o.max_sessions = 4;
	is(lh_open(&own, table, &o), 0, "a table with four sessions");
	is(lh_close(own), 0, "nobody is in it");
	one = t_fork(as_one, NULL);
	ok(t_await(&sh->full[0], 1, T_HANG_MS), "one user takes what it can");
	two = t_fork(as_two, NULL);
	ok(t_await(&sh->full[1], 1, T_HANG_MS), "another takes the rest");
	is(sh->n[0] + sh->n[1], 3, "all but one");
	is(lh_open(&lh, table, &o), 0, "which root gets: %s",
	    lh_error_detail());
	is(lh_close(lh), 0, "closed");
	t_kill(one);
	t_kill(two);
	is(lh_table_remove(table, LH_SYSTEM | LH_FORCE | LH_FORGET_TOKENS), 0,
	    "removed");
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh[SESSIONS] = { NULL };
	int n;

	if (geteuid() != 0)
		skip_all("only root can be several users");
	sh = t_shared(sizeof(*sh));
	for (int named = 0; named < 4; named++)
		share_among_users(named & 1, named & 2);
	keep_one_of_few();
	o.max_sessions = SESSIONS;
	table = t_table();
	for (n = 0; n < SESSIONS && lh_open(&lh[n], table, &o) == 0; n++)
		continue;
	is(n, SESSIONS, "its owner gets all of a table of its own");
	for (int i = 0; i < n; i++)
		is(lh_close(lh[i]), 0, "closed");
	return done();
}
