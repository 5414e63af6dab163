/* SPDX-License-Identifier: MIT */
/* That a daemon runs once, and the way into the background: see pidfile.c. */
#ifndef DAEMON_PIDFILE_H
#define DAEMON_PIDFILE_H

#include <stdbool.h>

/* Take the pid file; 0, or the exit status after it was logged why not. */
int only_one(const char *path);

/* Unless it is to stay in the foreground; the same. */
int only_background(bool foreground, const char *program);

/* Write it: all is set up.  Remove it. */
void only_ready(void);
void only_end(void);

#endif
