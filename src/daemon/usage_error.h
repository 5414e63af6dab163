/* SPDX-License-Identifier: MIT */
/* Reports a wrong value in a sentence: see usage_error.c. */
#ifndef DAEMON_USAGE_ERROR_H
#define DAEMON_USAGE_ERROR_H

#define USAGE_ERROR_MAX 2048

/* Passes the sentence to the program's sink and returns EX_BAD_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sets the sink: the command prints each sentence, a daemon keeps the first.
 * Without one they are dropped. */
void usage_error_to(void (*sink)(const char *sentence));

#endif
