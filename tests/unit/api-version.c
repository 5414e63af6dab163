/* SPDX-License-Identifier: MIT */
/*
 * lh_version() and the macros of version.h tell the same version, as text and
 * as a number that programs can compare.
 *
 * Otherwise a program could not find out what it runs with.
 */
#include <stdio.h>
#include <string.h>
#include <leasehold.h>
#include "tap.h"

#if LEASEHOLD_VERSION_NUMBER < LEASEHOLD_VERSION_AT(0, 1, 0)
#error "the preprocessor compares versions"
#endif

int
main(void)
{
	char text[32];
	int number = 0;

	(void)snprintf(text, sizeof(text), "%d.%d.%d", LEASEHOLD_VERSION_MAJOR,
	    LEASEHOLD_VERSION_MINOR, LEASEHOLD_VERSION_PATCH);
	is(strcmp(LEASEHOLD_VERSION, text), 0, "the text is of the numbers");
	is(strcmp(lh_version(&number), text), 0, "the library's is the same");
	is(number, LEASEHOLD_VERSION_NUMBER, "so is its number");
	is(strcmp(lh_version(NULL), text), 0, "which may be left out");
	cmp(LEASEHOLD_VERSION_AT(0, 2, 0), >, LEASEHOLD_VERSION_AT(0, 1, 99),
	    "numbers rise with the versions");
	return done();
}
