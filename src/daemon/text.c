/* SPDX-License-Identifier: MIT */
/*
 * Formats times, names and ids for people.  The command and the daemons use it.
 *
 * Names are shown as the library shows them in its sentences:
 * base/printable.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "base/printable.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)

const char *
text_span(char buf[SPAN_MAX], int64_t ns)
{
	int64_t s;

	if (ns < 0)
		ns = 0;
	if (ns < 10 * NS_PER_S) {
		/* tenths, rounded down: remaining time is never overstated */
		(void)snprintf(buf, SPAN_MAX, "%" PRId64 ".%" PRId64 " s",
		    ns / NS_PER_S, ns % NS_PER_S / (NS_PER_S / 10));
		return buf;
	}
	s = ns / NS_PER_S;
	if (s < 60)
		(void)snprintf(buf, SPAN_MAX, "%" PRId64 " s", s);
	else if (s < 3600)
		(void)snprintf(buf, SPAN_MAX, "%" PRId64 "m%02" PRId64 "s",
		    s / 60, s % 60);
	else if (s < 86400)
		(void)snprintf(buf, SPAN_MAX, "%" PRId64 "h%02" PRId64 "m",
		    s / 3600, s % 3600 / 60);
	else
		(void)snprintf(buf, SPAN_MAX, "%" PRId64 "d%02" PRId64 "h",
		    s / 86400, s % 86400 / 3600);
	return buf;
}

size_t
text_clean(char *out, size_t room, const char *src, size_t len, bool name)
{
	return lhi_printable_copy(out, room, src, len, name);
}

const char *
text_name(char buf[NAME_MAX_TEXT], const char *name)
{
	(void)text_clean(buf, NAME_MAX_TEXT, name, KEY_MAX, true);
	return buf;
}

const char *
text_word(char buf[WORD_MAX], const char *bytes)
{
	return lhi_printable_word(buf, WORD_MAX, bytes);
}

int
text_columns(const char *text)
{
	wchar_t wide[NAME_MAX_TEXT];
	size_t n = mbstowcs(wide, text, NAME_MAX_TEXT);
	int columns;

	if (n == (size_t)-1)
		return (int)strlen(text);
	columns = wcswidth(wide, n);
	return columns < 0 ? (int)n : columns;
}

const char *
text_lease_id(char buf[LEASE_ID_MAX], const uint64_t id[2])
{
	(void)snprintf(buf, LEASE_ID_MAX, "%016" PRIx64 "%016" PRIx64, id[0],
	    id[1]);
	return buf;
}
