/* SPDX-License-Identifier: MIT */
/* From the lease to the running command.  See run_launch.c. */
#ifndef TOOLS_RUN_LAUNCH_H
#define TOOLS_RUN_LAUNCH_H

#include "run.h"

/* Starts the command under the lease and waits for its end.  Returns the exit
 * status. */
int run_launch(struct run *r, int sigfd);

#endif
