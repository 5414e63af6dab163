/* SPDX-License-Identifier: MIT */
/* Keeps the lease while the command runs.  See run_guard.c. */
#ifndef TOOLS_RUN_GUARD_H
#define TOOLS_RUN_GUARD_H

#include <sys/types.h>
#include "run.h"

/* Renews the lease while the command runs, then releases it.  Closes loss_fd
 * when the lease is lost.  Returns the exit status. */
int run_guard(struct run *r, int sigfd, pid_t command, int loss_fd);

#endif
