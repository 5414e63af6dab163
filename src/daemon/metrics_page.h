/* SPDX-License-Identifier: MIT */
/* The metrics as a text: see metrics_page.c. */
#ifndef DAEMON_METRICS_PAGE_H
#define DAEMON_METRICS_PAGE_H

#include <stddef.h>
#include <stdio.h>

struct metrics_page {
	unsigned refs;
	size_t len;
	char *text;
};

/* Writes all metrics of the program into f. */
typedef void metrics_page_fn(FILE *f);

/* Sets what writes the text: once, before the first metrics_page_get(). */
void metrics_page_begin(metrics_page_fn *write);

/* Returns the latest text, made anew if it is too old, or NULL without memory.
 * The caller gives it back with metrics_page_put(). */
struct metrics_page *metrics_page_get(void);
void metrics_page_put(struct metrics_page *page);

#endif
