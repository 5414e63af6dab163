/* SPDX-License-Identifier: MIT */
/* Telling the service manager how it goes: see notify.c. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>

/* Lines as in sd_notify(3): "READY=1\nSTATUS=...".  Nobody listens: nothing. */
void notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* RELOADING=1, with the time that the manager wants beside it. */
void notify_reloading(void);

/* How often it wants WATCHDOG=1, in ns: half its limit; 0: not at all. */
int64_t notify_watchdog_ns(void);

#endif
