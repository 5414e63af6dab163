/* SPDX-License-Identifier: MIT */
/* The command line, as far as all daemons share it: see options.c. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

/* Handles an option that is not the program's own: --help ('h'), --version
 * ('V'), or an error that getopt_long() has printed.  Returns the exit
 * status. */
int options_other(int c, const char *program, const char *help);

/* Returns -1 if nothing follows the options, or the exit status. */
int options_end(int argc, char *const *argv, const char *program);

/* Returns a copy of an argument, because a process title will overwrite argv.
 * Returns NULL after an error message; the exit status is EX_SYSTEM. */
const char *options_keep(const char *value, const char *program);

/* Returns the absolute path of the configuration file, because it may be read
 * again from another directory. */
const char *options_file(const char *file);

/* Prints that the configuration is valid (--check).  Returns the exit
 * status. */
int options_good(const char *path);

/* Raises the limit of descriptors to its maximum: each client and each watched
 * session needs one. */
void options_raise_limits(void);

#endif
