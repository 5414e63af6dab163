/* SPDX-License-Identifier: MIT */
/* The command line, as far as all daemons have the same: see options.c. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

/* What getopt_long() said that is no option of the program's own: --help ('h'),
 * --version ('V'), or an error that it has told: the exit status. */
int options_other(int c, const char *program, const char *help);

/* Nothing comes after the options: -1; else the exit status. */
int options_end(int argc, char *const *argv, const char *program);

/* A copy of what will be needed when a title is written over argv, or NULL
 * after that was said: EX_SYSTEM. */
const char *options_keep(const char *value, const char *program);

/* The configuration's file will be read again, from another directory. */
const char *options_file(const char *file);

/* --check: the configuration there is good; the exit status. */
int options_good(const char *path);

/* As many descriptors as may be: whoever is served or watched takes one. */
void options_raise_limits(void);

#endif
