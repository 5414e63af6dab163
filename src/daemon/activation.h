/* SPDX-License-Identifier: MIT */
/* Sockets that the service manager has opened: see activation.c. */
#ifndef DAEMON_ACTIVATION_H
#define DAEMON_ACTIVATION_H

/* Takes the listening sockets of that name into fds, `max` of them at most.
 * Returns how many there are, which may be more. */
unsigned activation_take(const char *name, int *fds, unsigned max);

#endif
