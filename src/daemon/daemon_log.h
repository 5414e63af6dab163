/* SPDX-License-Identifier: MIT */
/* The daemon's log: standard error, or syslog.  See daemon_log.c. */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* Sets the program's name (static text), the destination (standard error until
 * log_to_syslog()), and the highest level that is logged (LOG_ERR to
 * LOG_DEBUG). */
void log_begin(const char *program);
void log_to_syslog(void);
void log_level(int level);

/* Logs a line of that priority (LOG_ERR, ...). */
void log_line(int priority, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
