/* SPDX-License-Identifier: MIT */
/* The version of the library that runs: see version.h. */
#include <stddef.h>
#include <leasehold/version.h>

const char *
lh_version(int *number)
{
	if (number != NULL)
		*number = LEASEHOLD_VERSION_NUMBER;
	return LEASEHOLD_VERSION;
}
