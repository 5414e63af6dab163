/* SPDX-License-Identifier: MIT */
/* Reports the daemon's state to the service manager: see notify.c. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>

/* Sends lines as in sd_notify(3): "READY=1\nSTATUS=...".  Does nothing without
 * a manager. */
void notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sends RELOADING=1 with the time that the manager needs with it. */
void notify_reloading(void);

/* Returns the interval for WATCHDOG=1: half of the manager's limit; 0: none. */
int64_t notify_watchdog_ns(void);

#endif
