/* SPDX-License-Identifier: MIT */
/* A table that is truncated ends neither the command nor a daemon. */
#ifndef DAEMON_CATCH_SIGBUS_H
#define DAEMON_CATCH_SIGBUS_H

/* Once, before there are other threads. */
void catch_sigbus(void);

#endif
