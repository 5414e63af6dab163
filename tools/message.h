/* SPDX-License-Identifier: MIT */
/* Messages for people, on standard error.  See message.c. */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

#include <stdbool.h>

/* Prints one line, after "leasehold: ". */
void message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void message_sentence(const char *sentence);	/* for usage_error_to() */
/* Prints an error of the library.  Returns its exit status. */
int message_error(int error, const char *detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints that a key is busy or was not free in time; not after
 * message_quiet(). */
void message_busy(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* For --quiet: from now on that is not printed, by message_error() neither. */
void message_quiet(void);
/* Prints a line that the next one replaces; only on a terminal. */
void message_progress(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* True if standard error is a terminal that can redraw a line. */
bool message_has_terminal(void);
/* From now on drops a message where standard error has no room for it. */
void message_never_block(void);
/* Return a colour sequence, or "" where fd is to have none. */
const char *message_bold(int fd);
const char *message_plain(int fd);

#endif
