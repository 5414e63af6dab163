/* SPDX-License-Identifier: MIT */
/*
 * A holder of the library, which has no second sign of life as a `run` has: it
 * acquires "k" under policy strict, says so, and lives for a minute.  With the
 * word "ended" its first thread ends, and another one goes on.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>

static void *
go_on(void *arg)
{
	(void)arg;
	(void)puts("holds");
	(void)fflush(stdout);
	(void)sleep(60);
	_exit(0);
}

int
main(int argc, char **argv)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_lease lease;
	pthread_t thread;
	struct lh *lh;

	m.policy = LH_POLICY_STRICT;
	o.more = &m;
	if (lh_open(&lh, NULL, NULL) != 0 ||
	    lh_acquire(lh, "k", &o, &lease) != 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "ended") == 0 &&
	    pthread_create(&thread, NULL, go_on, NULL) == 0)
		pthread_exit(NULL);
	return go_on(NULL) != NULL;
}
