/* SPDX-License-Identifier: MIT */
/* The pid file, by which a daemon runs once; going into the background.  See
 * pidfile.c. */
#ifndef DAEMON_PIDFILE_H
#define DAEMON_PIDFILE_H

#include <stdbool.h>

/* Locks the pid file.  Returns 0, or the exit status, after logging why. */
int pidfile_acquire(const char *path);

/* Goes into the background, unless `foreground`; returns the same. */
int pidfile_background(bool foreground, const char *program);

/* Writes the process id into the file, when all is set up; removes the file. */
void pidfile_record(void);
void pidfile_release(void);

#endif
