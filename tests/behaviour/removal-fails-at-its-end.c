/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G8: a removal by force that fails after the table was retired
 * says so (-EINPROGRESS).  Nothing is granted in the table any more, its users
 * are woken, and the next process that opens the name completes the removal.
 *
 * Otherwise the operator would read that the table stays, while its users had
 * lost it.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/child.h"
#include "support/seccomp.h"
#include "support/support.h"
#include "tap.h"

static const char *table;

static int
remove_without_rename(void *arg)
{
	(void)arg;
	if (
#ifdef SYS_renameat
	    seccomp_refuse(SYS_renameat) != 0 ||
#endif
	    seccomp_refuse(SYS_renameat2) != 0)
		return 42;
	is(lh_table_remove(table, LH_FORCE), -EINPROGRESS,
	    "the removal fails where it writes the floor: %s",
	    lh_error_detail());
	ok(strstr(lh_error_detail(), "is retired") != NULL &&
	    strstr(lh_error_detail(), "completes the removal") != NULL,
	    "the words say what is left to do");
	return tap_child_status();
}

int
main(void)
{
	struct lh_lease l, other;
	struct lh *lh, *next;
	int r;

	table = t_table();
	lh = t_open(table);
	l = t_hold(lh, "k");
	r = t_reap(t_fork(remove_without_rename, NULL), T_HANG_MS);
	if (r == 42)
		skip_all("no seccomp here");
	is(r, 0, "a process that cannot rename");
	is(access(t_object(table), F_OK), 0, "the table has its name");
	is(t_acquire(lh, "other", 1000, 0, &other), -ESTALE,
	    "but grants nothing");
	is(lh_verify(lh, &l), 0, "what is held stays held");
	next = t_open(table);
	ok(lh_acquire(next, "k", NULL, &other) == 0 && other.token > l.token,
	    "the next open makes a new table, with larger tokens");
	is(lh_release(next, &other), 0, "released");
	t_close(next);
	(void)lh_close(lh);
	return done();
}
