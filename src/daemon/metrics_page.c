/* SPDX-License-Identifier: MIT */
/*
 * Keeps the text of the metrics.  The program writes it (metrics_page_begin());
 * serve.c sends it.
 *
 * The text is made at most twice a second, however many readers ask, because it
 * may read every key.  It is reference-counted, so that a slow reader gets the
 * end of the text that it began with.
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
