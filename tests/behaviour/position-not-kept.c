/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4, G8: where a file has no position that can be set, a process
 * cannot distinguish the descriptor that it asks through from others, and no
 * death can be proved.  A table is neither made nor opened there: -EOPNOTSUPP,
 * with words that say what to do.
 *
 * Otherwise the key of a strict holder that was killed would be held for ever,
 * without a warning.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/child.h"
#include "support/seccomp.h"
#include "support/support.h"
#include "tap.h"

static const char *table, *unmade;

static void
is_refused(int got, const char *what)
{
	is(got, -EOPNOTSUPP, "%s is refused", what);
	ok(strstr(lh_error_detail(), "cannot keep a position") != NULL &&
	    strstr(lh_error_detail(), "tmpfs") != NULL,
	    "and the words say why: %s", lh_error_detail());
}

static int
without_positions(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	(void)arg;
	if (seccomp_refuse(SYS_lseek) != 0)
		return 42;
	is_refused(lh_open(&lh, unmade, &o), "making a table");
	ok(lh == NULL, "there is no handle");
	is(access(t_object(unmade), F_OK), -1, "none is there");
	is_refused(lh_open(&lh, table, NULL), "opening one");
	return tap_child_status();
}

int
main(void)
{
	struct lh_lease l;
	struct lh *lh;
	int r;

	table = t_table();
	unmade = t_table();
	lh = t_open(table);
	l = t_hold(lh, "k");
	r = t_reap(t_fork(without_positions, NULL), T_HANG_MS);
	if (r == 42)
		skip(1, "no seccomp here");
	else
		is(r, 0, "a process without lseek()");
	is(lh_verify(lh, &l), 0, "what another process holds is held");
	is(lh_release(lh, &l), 0, "and released");
	t_close(lh);
	return done();
}
