/* SPDX-License-Identifier: MIT */
/* What is wrong with a value that somebody wrote, in a sentence. */
#ifndef DAEMON_USAGE_ERROR_H
#define DAEMON_USAGE_ERROR_H

#define USAGE_ERROR_MAX 2048

/* Hands the sentence to the program and returns EX_BAD_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sets what the program does with such sentences: the command prints each, a
 * daemon keeps the first.  Until then they are dropped. */
void usage_error_to(void (*sink)(const char *sentence));

#endif
