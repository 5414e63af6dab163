/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: an application has used up the keys of pthread_key_create().
 * The library cannot learn when a thread ends, and acquires nothing.  It leaves
 * the application's keys alone.
 *
 * Otherwise it would overwrite the first of them, and the application's
 * destructor would get a pointer of the library's.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const char *table;

static int
without_keys(void *arg)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX];
	int n = 0, wrong = 0;
	struct lh_lease l;
	struct lh *lh;

	(void)arg;
	/* a reason needs a key, too, and gets it with the first error */
	is(lh_table_remove("no-such-table", 0), -ENOENT, "an error");
	while (n < PTHREAD_KEYS_MAX && pthread_key_create(&keys[n], NULL) == 0)
		n++;
	cmp(n, >, 0, "all keys are used (%d)", n);
	is(lh_open(&lh, table, NULL), 0, "the table is opened");
	is(lh_acquire(lh, "k", NULL, &l), -ENOMEM, "nothing is acquired");
	ok(strstr(lh_error_detail(), "pthread_key_create") != NULL,
	    "and the reason is given");
	is(lh_acquire(lh, "", NULL, &l), -EINVAL, "and errors are errors");
	for (int i = 0; i < n; i++)
		wrong += pthread_getspecific(keys[i]) != NULL;
	is(wrong, 0, "the application's keys are as they were");
	for (int i = 0; i < n; i++)
		(void)pthread_key_delete(keys[i]);
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

int
main(void)
{
	table = t_table();
	is(t_reap(t_fork(without_keys, NULL), T_HANG_MS), 0, "a process");
	return done();
}
