/* SPDX-License-Identifier: MIT */
/*
 * One process at a time removes or repairs a table.  The error of another one
 * names that process, and says whether it is stopped.  When that process is
 * killed, the table can be removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "prim/bytelock.h"
#include "shm/removal_lock.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct shared {
	struct t_event locked;
} *sh;
static const char *table;

/* As a removal that has begun: no session can begin. */
static void
lock_live_file(void)
{
	char pattern[192];
	glob_t found;
	int fd;

	snprintf(pattern, sizeof(pattern), "%.*s.live.*",
	    (int)(strlen(t_object(table)) - strlen(".table")), t_object(table));
	is(glob(pattern, 0, NULL, &found), 0, "there is a live file");
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	is(lhi_bytes_lock(fd, 0, 0), 0, "it locks it whole");
	globfree(&found);
}

static int
lock_and_stay(void *unused)
{
	(void)unused;
	lock_live_file();
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
	is_refused(lh_open(&lh, table, NULL), child, "an open");
	t_stop(child);
	is_refused(lh_open(&lh, table, NULL), child, "an open beside that");
	ok(strstr(lh_error_detail(), "which is stopped") != NULL,
	    "  which is stopped");
	is_refused(lh_table_remove(table, 0), child, "beside a stopped one");
	ok(strstr(lh_error_detail(), "which is stopped") != NULL,
	    "  that is said");
	is_refused(lh_table_remove(table, LH_FORCE), child, "with force");
	is_refused(lh_table_repair(table, 0, NULL, NULL), child, "a repair");
	t_kill(child);
	is(lh_table_remove(table, 0), 0, "it is killed: removed");
	return done();
}
