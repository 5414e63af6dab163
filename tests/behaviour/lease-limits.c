/* SPDX-License-Identifier: MIT */
/*
 * Limits for each uid (spec section 6): in a table of the machine that others
 * may write, a user gets at most half of the leases, all users together all but
 * a sixteenth, and root the rest.  Leases are given out 64 at a time.  A user
 * whose session has died gets its share again.
 *
 * Otherwise one user's leak would lock all others out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define CHUNKS 32
#define CHUNK 64
#define LEASES (CHUNKS * CHUNK)
#define ONE 65533
#define TWO 65532

static struct shared {
	int n[3];
	int error[3];
	char detail[3][256];
	struct t_event full[3];
} *sh;
static const char *table;

static int
open_one(struct lh **lh)
{
	struct lh_open_opts o = t_open_opts();

	o.flags = LH_SYSTEM;
	o.mode = 0666;
	o.max_leases = LEASES;
	o.max_keys = 2 * LEASES;
	return lh_open(lh, table, &o);
}

/* Acquires keys of its own until it gets no more; returns how many. */
static int
take_leases(struct lh *lh, int user)
{
	struct lh_lease l;
	char key[40];

	while (sh->n[user] <= LEASES) {
		snprintf(key, sizeof(key), "%d.%d", user, sh->n[user]);
		sh->error[user] = lh_acquire(lh, key, NULL, &l);
		if (sh->error[user] != 0)
			break;
		sh->n[user]++;
	}
	snprintf(sh->detail[user], sizeof(sh->detail[user]), "%s",
	    lh_error_detail());
	return sh->n[user];
}

static int
as_user(void *arg)
{
	int user = *(const int *)arg;
	uid_t uid = user == 1 ? TWO : ONE;
	struct lh *lh;

	if (setgid(uid) != 0 || setuid(uid) != 0 || open_one(&lh) != 0)
		bail_out("a user: %s", lh_error_detail());
	(void)take_leases(lh, user);
	t_post(&sh->full[user]);
	pause();
	return 0;
}

/* Leases of the last chunks may serve to make keys. */
static void
is_about(int n, int want, const char *what)
{
	ok(n <= want && n > want - CHUNK, "%s: %d of %d", what, n, want);
}

static void
tidy(void)
{
	char path[200];

	snprintf(path, sizeof(path), "/dev/shm/leasehold.system/%s.table",
	    table);
	t_remove_at_exit(path);
}

int
main(void)
{
	static const int user[3] = { 0, 1, 2 };
	struct lh *own;
	pid_t one, two;

	if (geteuid() != 0)
		skip_all("only root can be several users");
	table = t_table();
	sh = t_shared(sizeof(*sh));
	tidy();
	is(open_one(&own), 0, "a table that everybody may write");
	one = t_fork(as_user, (void *)&user[0]);
	ok(t_await(&sh->full[0], 1, T_HANG_MS), "one user takes what it can");
	is_about(sh->n[0], LEASES / 2, "half");
	is(sh->error[0], -ENOSPC, "and no more");
	ok(strstr(sh->detail[0], "as many as one user may") != NULL,
	    "by reason of the user: %s", sh->detail[0]);
	two = t_fork(as_user, (void *)&user[1]);
	ok(t_await(&sh->full[1], 1, T_HANG_MS), "another takes the rest");
	is_about(sh->n[1], LEASES / 2 - LEASES / 16, "all but a sixteenth");
	ok(strstr(sh->detail[1], "kept for its owner and root") != NULL,
	    "by what it says: %s", sh->detail[1]);
	is_about(take_leases(own, 2), LEASES / 16, "which root gets");
	t_kill(one);
	memset(sh, 0, sizeof(*sh));
	one = t_fork(as_user, (void *)&user[0]);
	ok(t_await(&sh->full[0], 1, T_HANG_MS), "the first user has died");
	cmp(sh->n[0], >, 0, "and gets leases anew: %s", sh->detail[0]);
	t_kill(one);
	t_kill(two);
	is(lh_close(own), 0, "closed");
	is(lh_table_remove(table, LH_SYSTEM | LH_FORCE | LH_FORGET_TOKENS), 0,
	    "removed");
	return done();
}
