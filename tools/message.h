/* SPDX-License-Identifier: MIT */
/* Messages for people, on standard error.  See message.c. */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

#include <stdbool.h>

/* Prints one line, after "leasehold: ". */
void message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void message_sentence(const char *sentence);	/* for usage_error_to() */
/* Prints an error of the library. Returns the matching exit status. */
int message_error(int error, const char *detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* After that, the errors that advise a command say whose it is: the command
 * looks at another user's table (--uid). */
void message_as_user(unsigned uid);
/* Prints that a key is busy or did not become free in time, unless
 * message_quiet() was called. */
void message_busy(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* For --quiet: suppresses messages about busy keys from now on, also those of
 * message_error(). */
void message_quiet(void);
/* Prints a line that the next one replaces; only on a terminal. */
void message_progress(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* True if standard error is a terminal that can redraw a line. */
bool message_has_terminal(void);
/* Drops messages from now on where standard error has no room for them. */
void message_never_block(void);
/* Each returns a colour sequence, or "" if fd does not take colours. */
const char *message_bold(int fd);
const char *message_plain(int fd);

#endif
