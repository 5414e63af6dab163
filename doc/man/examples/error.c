/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/error.h and version.h (tools/man3). */
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

/* Prints why a call failed: the code in words, and the sentence. */
static void
print_error(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n%s\n", what, lh_strerror(error),
	    lh_error_detail());
}

/* True if the library that runs is at least the one compiled against. */
static int
is_new_enough(void)
{
	int number;

	printf("leasehold %s\n", lh_version(&number));
	return number >= LEASEHOLD_VERSION_NUMBER;
}

int
main(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh *lh;
	int e;

	o.flags = LH_NO_CREATE;
	e = lh_open(&lh, "no-such-table", &o);
	print_error("cannot open", e);
	return e != 0 && is_new_enough() ? EXIT_SUCCESS : EXIT_FAILURE;
}
