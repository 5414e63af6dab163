/* SPDX-License-Identifier: MIT */
/* The options of `leasehold run`.  See run_options.c. */
#ifndef TOOLS_RUN_OPTIONS_H
#define TOOLS_RUN_OPTIONS_H

#include "run.h"

/* Reads the options.  Returns false if everything is done or they are wrong;
 * *status is then the exit status. */
bool run_options_parse(struct run *r, int argc, char **argv, int *status);

#endif
