/* SPDX-License-Identifier: MIT */
/* test: release: ASan's malloc() ends the process without memory */
/*
 * A thread that has no memory for the words of an error has words all the same.
 *
 * Otherwise a program would print an error that says nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define BIGGEST (UINT64_C(1) << 40)

/* Takes all memory that malloc() can give. */
static void
exhaust(void)
{
	for (size_t len = BIGGEST; len >= 16; len /= 2)
		while (malloc(len) != NULL)
			;
}

/* In a thread of its own, which has had no error before. */
static void *
fail_without_memory(void *lh)
{
	struct rlimit data = { 0, RLIM_INFINITY };

	is(setrlimit(RLIMIT_DATA, &data), 0, "no more memory");
	exhaust();
	is(lh_release(lh, NULL), -EINVAL, "an error");
	ok(strstr(lh_error_detail(), "out of memory") != NULL,
	    "its words: %s", lh_error_detail());
	return NULL;
}

static int
run_thread(void *table)
{
	t_join(t_thread(fail_without_memory, t_open(table)));
	return 0;
}

int
main(void)
{
	const char *table = t_table();

	is(t_reap(t_fork(run_thread, (void *)(uintptr_t)table),
	    T_HANG_MS), 0, "a process without memory");
	return done();
}
