/* SPDX-License-Identifier: MIT */
/*
 * Messages for people, on standard error.
 *
 * A message is one line and one write(2), so that lines of several processes do
 * not mix.  Control bytes in it are printed as \xNN, because a key or a
 * program's name can contain any byte and must not move the reader's cursor.
 * Names in it are printable already: text_name(), and the library's sentences.
 *
 * Progress is a line that the next one replaces.  It is printed only on a
 * terminal that can do that.  Colours are treated likewise, and NO_COLOR
 * switches them off.
 *
 * Blocking.  A terminal stopped with ^S or a full pipe blocks a process that
 * writes to it.  `run` must not stop renewing because nobody reads its
 * messages, and it must still see the signal that ends its wait.  So after
 * message_never_block() a message that finds no room is dropped.  Up to
 * PIPE_BUF bytes are written whole once poll(2) has reported room.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>
#include "advice.h"
#include "daemon/text.h"
#include "error_status.h"
#include "message.h"

/* Room for a key's name and two commands about it: one that is cut may name
 * another key. */
#define LINE_LEN 4096
_Static_assert(LINE_LEN <= PIPE_BUF && LINE_LEN >= NAME_MAX_TEXT +
    2 * ADVICE_MAX + 400, "length of a message");

static bool never_block;
static bool quiet;		/* drops messages about busy keys */
static bool progress_shown;
static char whose[64];		/* who is to do what an error advises, or "" */

static bool
can_draw(int fd)
{
	const char *term = secure_getenv("TERM");

	return isatty(fd) && term != NULL && strcmp(term, "dumb") != 0 &&
	    *term != '\0';
}

static bool
can_colour(int fd)
{
	const char *no = secure_getenv("NO_COLOR");

	return (no == NULL || *no == '\0') && can_draw(fd);
}

const char *
message_bold(int fd)
{
	return can_colour(fd) ? "\033[1m" : "";
}

const char *
message_plain(int fd)
{
	return can_colour(fd) ? "\033[0m" : "";
}

bool
message_has_terminal(void)
{
	return can_draw(STDERR_FILENO);
}

void
message_never_block(void)
{
	never_block = true;
}

static void
write_line(const char *line, size_t len)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t done = 0;
	ssize_t w;

	while (done < len) {
		if (never_block && poll(&room, 1, 0) != 1)
			return;
		w = write(STDERR_FILENO, line + done, len - done);
		if (w < 0 && errno != EINTR)
			return;
		if (w > 0)
			done += (size_t)w;
	}
}

/*
 * Appends the message, made printable, and leaves room for the end of the line.
 */
static size_t
append_text(char *line, size_t len, const char *fmt, va_list ap)
{
	char text[LINE_LEN];

	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		return len;
	return len + text_clean(line + len, LINE_LEN - 16 - len, text,
	    sizeof(text), false);
}

static void
vmessage(const char *fmt, va_list ap)
{
	char line[LINE_LEN];
	int n;
	size_t len;

	n = snprintf(line, sizeof(line), "%s%sleasehold:%s ", progress_shown ?
	    "\r\033[K" : "", message_bold(STDERR_FILENO),
	    message_plain(STDERR_FILENO));
	progress_shown = false;
	len = append_text(line, (size_t)n, fmt, ap);
	line[len++] = '\n';
	write_line(line, len);
}

void
message(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vmessage(fmt, ap);
	va_end(ap);
}

void
message_busy(const char *fmt, ...)
{
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	vmessage(fmt, ap);
	va_end(ap);
}

void
message_quiet(void)
{
	quiet = true;
}

void
message_sentence(const char *sentence)
{
	message("%s", sentence);
}

void
message_as_user(unsigned uid)
{
	(void)snprintf(whose, sizeof(whose), "; do that as user %u (setpriv "
	    "--reuid %u)", uid, uid);
}

int
message_error(int error, const char *detail, const char *fmt, ...)
{
	char head[LINE_LEN / 2];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	if (quiet && (error == -EAGAIN || error == -EBUSY ||
	    error == -ETIMEDOUT))
		return error_status(error);
	if (detail != NULL && *detail != '\0')
		message("%s: %s%s", head, detail, strstr(detail,
		    "(leasehold ") != NULL ? whose : "");
	else
		message("%s: %s", head, lh_strerror(error));
	return error_status(error);
}

void
message_progress(const char *fmt, ...)
{
	static const char back[] = "\r\033[K";
	char line[LINE_LEN];
	size_t len = sizeof(back) - 1;
	va_list ap;

	if (!message_has_terminal())
		return;
	memcpy(line, back, len);
	va_start(ap, fmt);
	len = append_text(line, len, fmt, ap);
	va_end(ap);
	progress_shown = true;
	write_line(line, len);
}
