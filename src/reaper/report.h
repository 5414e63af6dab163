/* SPDX-License-Identifier: MIT */
/* The metrics as a text: see report.c. */
#ifndef REAPER_REPORT_H
#define REAPER_REPORT_H

#include <stddef.h>

struct report {
	unsigned refs;
	size_t len;
	char *text;
};

/* The latest, made anew if it is too old; NULL: no memory.  To be put back. */
struct report *report_get(void);
void report_put(struct report *report);

#endif
