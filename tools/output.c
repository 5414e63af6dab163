/* SPDX-License-Identifier: MIT */
/* Standard output, which has a verb's answer. */
#include <stdio.h>
#include "tool.h"

int
output_flush(int status)
{
	int bad = ferror(stdout);

	if (fflush(stdout) != 0 || bad) {
		message("cannot write the answer to standard output");
		return EX_SYSTEM;
	}
	return status;
}
