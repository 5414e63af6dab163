/* SPDX-License-Identifier: MIT */
/* Implements `leasehold run` and `leasehold sem run`. See run_command.c. */
#ifndef TOOLS_RUN_COMMAND_H
#define TOOLS_RUN_COMMAND_H

/* Holds a key while a command runs, as the arguments of `leasehold run` say.
 * Returns the exit status. */
int run_command(int argc, char **argv);

#endif
