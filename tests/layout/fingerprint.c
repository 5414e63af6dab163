/* SPDX-License-Identifier: MIT */
/* Prints the layout fingerprint of the headers that it is compiled with. */
#include <inttypes.h>
#include <stdio.h>
#include "base/hash.c"
#include "shm/geometry.c"

int
main(void)
{
	return printf("%016" PRIx64 "\n", lhi_geometry_fingerprint()) < 0;
}
