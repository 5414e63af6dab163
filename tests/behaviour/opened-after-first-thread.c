/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a process whose first thread has ended makes a table, with a
 * live file and a second sign of life, and uses it.  Its /proc/self has no
 * descriptors then, and that of the thread has.
 *
 * Otherwise a program that calls pthread_exit() in main() could not use the
 * library afterwards.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;

static bool
has_first_thread(void)
{
	return access("/proc/self/fd/0", F_OK) == 0;
}

static void *
go_on(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh_lease l;
	struct lh *lh;

	(void)arg;
	ok(t_until(T_HANG_MS, !has_first_thread()), "the first thread ends");
	o.flags = LH_LIVENESS_FD;
	is(lh_open(&lh, table, &o), 0, "a table is made: %s",
	    lh_error_detail());
	is(lh_acquire(lh, "k", NULL, &l), 0, "a key is acquired");
	is(lh_release(lh, &l), 0, "and released");
	is(lh_close(lh), 0, "closed");
	t_child_exit(tap_child_status());
	return NULL;
}

static int
end_first_thread(void *arg)
{
	(void)t_thread(go_on, NULL);
	pthread_exit(arg);
}

int
main(void)
{
	table = t_table();
	is(t_reap(t_fork(end_first_thread, NULL), T_HANG_MS), 0, "a process");
	return done();
}
