/* SPDX-License-Identifier: MIT */
/*
 * Reports sentences about wrong values.  The parsers of values (number.c,
 * settings_value.c) are shared.  The command prints such a sentence; a daemon
 * puts file and line before it.  So each program sets a sink for them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "exit_status.h"
#include "usage_error.h"

static void (*sink)(const char *sentence);

void
usage_error_to(void (*to)(const char *sentence))
{
	sink = to;
}

int
usage_error(const char *fmt, ...)
{
	char sentence[USAGE_ERROR_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (sink != NULL)
		sink(sentence);
	return EX_BAD_USAGE;
}
