/* SPDX-License-Identifier: MIT */
/* Standard output, for a verb's answer. */
#include <stdio.h>
#include "daemon/exit_status.h"
#include "message.h"
#include "output.h"

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
