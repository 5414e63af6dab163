/* SPDX-License-Identifier: MIT */
/*
 * One process at a time removes or repairs a table.  The error of another one
 * names that process, and says whether it is stopped.  When that process is
 * killed, the table can be removed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "shm/removal_lock.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct shared {
	struct t_event locked;
} *sh;
static const char *table;

static int
lock_and_stay(void *unused)
{
	(void)unused;
	cmp(lhi_removal_lock(t_object(table)), >=, 0, "it is at it");
	t_post(&sh->locked);
	pause();
	return 0;
}

static void
is_refused(int error, pid_t by, const char *what)
{
	char words[64];

	is(error, -EBUSY, "%s: refused", what);
	snprintf(words, sizeof(words), "by process %d", (int)by);
	ok(strstr(lh_error_detail(), words) != NULL, "  it is named: %s",
	    lh_error_detail());
}

int
main(void)
{
	struct lh *lh;
	pid_t child;

	table = t_table();
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	is(lh_close(lh), 0, "a table that nobody uses");
	child = t_fork(lock_and_stay, NULL);
	ok(t_await(&sh->locked, 1, T_HANG_MS), "a process removes it");
	is_refused(lh_table_remove(table, 0), child, "another removal");
	ok(strstr(lh_error_detail(), "try again") != NULL, "  may come later");
	t_stop(child);
	is_refused(lh_table_remove(table, 0), child, "beside a stopped one");
	ok(strstr(lh_error_detail(), "which is stopped") != NULL,
	    "  that is said");
	is_refused(lh_table_remove(table, LH_FORCE), child, "with force");
	is_refused(lh_table_repair(table, 0, NULL, NULL), child, "a repair");
	t_kill(child);
	is(lh_table_remove(table, 0), 0, "it is killed: removed");
	return done();
}
