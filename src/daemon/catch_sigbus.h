/* SPDX-License-Identifier: MIT */
/* Keeps a truncated table from ending the command or a daemon. */
#ifndef DAEMON_CATCH_SIGBUS_H
#define DAEMON_CATCH_SIGBUS_H

/* Installs the handler.  Called once, before there are other threads. */
void catch_sigbus(void);

#endif
