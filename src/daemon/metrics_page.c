/* SPDX-License-Identifier: MIT */
/*
 * The metrics as a text, in the exposition format that Prometheus reads; what
 * is in it is the program's (report_write()).
 *
 * The text is made at most twice a second, however many ask: it may take a look
 * at every key.  It is counted by who still reads it, so that a slow one reads
 * the end of what he began with.
 */
#include <stdlib.h>
#include "now.h"
#include "metrics_page.h"

#define FRESH_NS (500 * NS_PER_MS)

static struct report *latest;
static int64_t made_ns;

static struct report *
make(void)
{
	struct report *r = calloc(1, sizeof(*r));
	FILE *f = r == NULL ? NULL : open_memstream(&r->text, &r->len);
	int bad;

	if (f == NULL) {
		free(r);
		return NULL;
	}
	report_write(f);
	bad = ferror(f);
	if (fclose(f) != 0 || bad) {
		free(r->text);
		free(r);
		return NULL;
	}
	return r;
}

void
report_put(struct report *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	free(r->text);
	free(r);
}

struct report *
report_get(void)
{
	int64_t now_ns = mono_ns();

	if (latest == NULL || now_ns - made_ns >= FRESH_NS) {
		struct report *r = make();

		if (r == NULL)
			return NULL;
		r->refs = 1;
		report_put(latest);
		latest = r;
		made_ns = now_ns;
	}
	latest->refs++;
	return latest;
}
