/* SPDX-License-Identifier: MIT */
/* The options of `leasehold run`.  See run_options.c. */
#ifndef TOOLS_RUN_OPTIONS_H
#define TOOLS_RUN_OPTIONS_H

#include "run.h"

/* Reads them.  False if that was all, or if they are wrong: *status is the exit
 * status then. */
bool run_options_parse(struct run *r, int argc, char **argv, int *status);

#endif
