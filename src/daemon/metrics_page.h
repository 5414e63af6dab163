/* SPDX-License-Identifier: MIT */
/* The metrics as a text: see metrics_page.c. */
#ifndef DAEMON_METRICS_PAGE_H
#define DAEMON_METRICS_PAGE_H

#include <stddef.h>
#include <stdio.h>

struct report {
	unsigned refs;
	size_t len;
	char *text;
};

/* The latest, made anew if it is too old; NULL: no memory.  To be put back. */
struct report *report_get(void);
void report_put(struct report *report);

/* The program's: all that it tells, into f. */
void report_write(FILE *f);

#endif
