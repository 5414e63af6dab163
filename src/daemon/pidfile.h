/* SPDX-License-Identifier: MIT */
/* The pid file, which lets a daemon run only once, and the way into the
 * background: see pidfile.c. */
#ifndef DAEMON_PIDFILE_H
#define DAEMON_PIDFILE_H

#include <stdbool.h>

/* Locks the pid file.  Returns 0, or logs the reason and returns the exit
 * status. */
int pidfile_acquire(const char *path);

/* Moves the daemon into the background, unless `foreground`.  Returns 0 or the
 * exit status. */
int pidfile_background(bool foreground, const char *program);

/* Writes the process id into the file, once everything is set up. */
void pidfile_record(void);
/* Removes the file. */
void pidfile_release(void);

#endif
