/* SPDX-License-Identifier: MIT */
/* The daemon's log: standard error, or syslog.  See daemon_log.c. */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* Whose it is; static text.  To standard error until told otherwise.  level:
 * LOG_ERR .. LOG_DEBUG. */
void log_begin(const char *program);
void log_to_syslog(void);
void log_level(int level);

/* One line of that priority (LOG_ERR, ...). */
void log_line(int priority, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
