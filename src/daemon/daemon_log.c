/* SPDX-License-Identifier: MIT */
/*
 * A daemon's log: one line for each event, to standard error in the foreground
 * and to syslog in the background.
 *
 * Text from elsewhere (names of files and programs, messages of the library) is
 * made printable, so that it cannot forge a second line.  Only names of tables
 * and keys, process ids and counts are logged.
 *
 * Nobody has to read standard error: a line that does not fit into its buffer
 * is dropped, and the daemon goes on.  Under systemd (JOURNAL_STREAM is set)
 * each line begins with its priority, as in sd-daemon(3).
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon_log.h"
#include "text.h"

#define LINE_LEN 2048		/* <= PIPE_BUF: written whole, or not at all */

static int most = LOG_INFO;
static const char *name = "?";
static bool use_syslog;

void
log_begin(const char *program)
{
	name = program;
}

void
log_to_syslog(void)
{
	openlog(name, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	use_syslog = true;
}

void
log_level(int level)
{
	most = level;
}

static void
print_line(int priority, const char *text)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[LINE_LEN], rank[8] = "";
	int n;

	if (secure_getenv("JOURNAL_STREAM") != NULL)
		(void)snprintf(rank, sizeof(rank), "<%d>", priority);
	n = snprintf(line, sizeof(line), "%s%s: %s\n", rank, name, text);
	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT))
		(void)!write(STDERR_FILENO, line, (size_t)n);
}

void
log_line(int priority, const char *fmt, ...)
{
	char plain[LINE_LEN / 2], text[LINE_LEN];
	int saved = errno;
	va_list ap;

	/* a notice answers a request, so it is always logged */
	if (priority > most && priority != LOG_NOTICE)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(plain, sizeof(plain), fmt, ap);
	va_end(ap);
	(void)text_clean(text, sizeof(text), plain, sizeof(plain), false);
	if (use_syslog)
		syslog(priority, "%s", text);
	else
		print_line(priority, text);
	errno = saved;
}
