/* SPDX-License-Identifier: MIT */
/*
 * The metrics as a text, in the exposition format that Prometheus reads; what
 * is in it the program writes (the function given to metrics_page_begin()).
 *
 * The text is made at most twice a second, however many ask: it may take a look
 * at every key.  It is counted by who still reads it, so that a slow one reads
 * the end of what he began with.
 */
#include <stdlib.h>
#include "now.h"
#include "metrics_page.h"

#define FRESH_NS (500 * NS_PER_MS)

static struct metrics_page *latest;
static int64_t made_ns;
static metrics_page_fn *write_metrics;

static struct metrics_page *
make_page(void)
{
	struct metrics_page *page = calloc(1, sizeof(*page));
	FILE *f = page == NULL ? NULL : open_memstream(&page->text, &page->len);
	int bad;

	if (f == NULL) {
		free(page);
		return NULL;
	}
	write_metrics(f);
	bad = ferror(f);
	if (fclose(f) != 0 || bad) {
		free(page->text);
		free(page);
		return NULL;
	}
	return page;
}

void
metrics_page_begin(metrics_page_fn *write)
{
	write_metrics = write;
}

void
metrics_page_put(struct metrics_page *page)
{
	if (page == NULL || --page->refs > 0)
		return;
	free(page->text);
	free(page);
}

struct metrics_page *
metrics_page_get(void)
{
	int64_t now_ns = mono_ns();

	if (latest == NULL || now_ns - made_ns >= FRESH_NS) {
		struct metrics_page *page = make_page();

		if (page == NULL)
			return NULL;
		page->refs = 1;
		metrics_page_put(latest);
		latest = page;
		made_ns = now_ns;
	}
	latest->refs++;
	return latest;
}
