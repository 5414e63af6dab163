/* SPDX-License-Identifier: MIT */
/* Parses numbers: see number.c. */
#ifndef DAEMON_NUMBER_H
#define DAEMON_NUMBER_H

#include <stdint.h>

/* Parse a time, and a whole number.  Each returns 0, or EX_BAD_USAGE after a
 * sentence (usage_error.h) that names `what`. */
int parse_span(const char *what, const char *text, int64_t *ms);
int parse_number(const char *what, const char *text, uint64_t max,
    uint64_t *n);

#endif
