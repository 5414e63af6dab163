/* SPDX-License-Identifier: MIT */
/* Lines of the story: a time, a word in colour, a sentence. */
#ifndef REPORT_LINE_H
#define REPORT_LINE_H

#include <stdint.h>

enum tone { PLAIN, DIM, BAD, WARN, GOOD, NEWS, PROUD };

/* Colour on a terminal, unless NO_COLOR is set (no-color.org). */
void report_begin(void);

/* "  3.214  KILLED   worker 3 ..." */
void report_event(int64_t since_ns, enum tone tone, const char *word,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* A line of its own, in one tone. */
void report_line(enum tone tone, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* "4 294 967 313": in one of a few static buffers */
const char *report_token(uint64_t token);

#endif
