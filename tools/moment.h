/* SPDX-License-Identifier: MIT */
/* Moments of the wall clock, in milliseconds since 1970. */
#ifndef TOOLS_MOMENT_H
#define TOOLS_MOMENT_H

#include <stdint.h>

int64_t moment_now_ms(void);

/* Parses a time as people write it: the forms are in moment.c.  Returns 0, or
 * EX_BAD_USAGE after a message that names --at. */
int moment_parse(const char *text, int64_t *ms);

#endif
