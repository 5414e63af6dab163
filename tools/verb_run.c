/* SPDX-License-Identifier: MIT */
/* `leasehold run`: holds a key while a command runs. See run_command.c. */
#include "run_command.h"
#include "verbs.h"

int
verb_run(int argc, char **argv)
{
	return run_command(argc, argv);
}
