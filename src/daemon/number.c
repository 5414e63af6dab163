/* SPDX-License-Identifier: MIT */
/*
 * Parses numbers: times, and counts.  The command and the daemons' settings
 * call it.
 *
 * A text is accepted as a whole or refused with a sentence that says what is
 * wrong and what would be right.  There is no floating point: "1.1s" is exactly
 * 1,100 ms.  Fractions of a millisecond are rounded up.  So a wait is never
 * shorter than requested, and a small one never becomes 0, which means "try".
 */
#include <stdbool.h>
#include <string.h>
#include "number.h"
#include "usage_error.h"

#define SPAN_MAX_MS	(INT64_C(3650) * 24 * 3600 * 1000)
#define NS_PER_MS	UINT64_C(1000000)

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ms", NS_PER_MS },
	{ "s", UINT64_C(1000000000) },
	{ "", UINT64_C(1000000000) },
	{ "m", UINT64_C(60) * 1000000000 },
	{ "h", UINT64_C(3600) * 1000000000 },
	{ "d", UINT64_C(86400) * 1000000000 },
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct unit *
unit_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

int
parse_span(const char *what, const char *text, int64_t *ms)
{
	const uint64_t max_ns = (uint64_t)SPAN_MAX_MS * NS_PER_MS;
	uint64_t whole = 0, part = 0, scale = 1, ns;
	const struct unit *unit;
	const char *p = text;
	bool finer = false;

	if (*p == '-' && (is_digit(p[1]) || p[1] == '.'))
		return usage_error("%s: '%s' is negative; write a time of 0 or "
		    "more",
		    what, text);
	if (!is_digit(*p) && !(*p == '.' && is_digit(p[1])))
		return usage_error("%s: '%s' is not a time; write 10s, 1.5s, "
		    "200ms, 2m or 1h (a plain number is seconds)", what, text);
	for (; is_digit(*p); p++) {
		if (whole > max_ns)
			break;
		whole = whole * 10 + (uint64_t)(*p - '0');
	}
	while (is_digit(*p))
		p++;
	if (*p == '.') {
		for (p++; is_digit(*p); p++) {
			if (scale < 1000000000) {
				part = part * 10 + (uint64_t)(*p - '0');
				scale *= 10;
			} else if (*p != '0') {
				finer = true;
			}
		}
	}
	unit = unit_named(p);
	if (unit == NULL)
		return usage_error("%s: '%s' in '%s' is no unit of time; write "
		    "ms, s, m, h or d, as in 1.5s", what, p, text);
	if (whole > max_ns / unit->ns)
		return usage_error("%s: '%s' is more than ten years; write a "
		    "shorter time", what,
		    text);
	/* 86400e9 * part < 2^47 * 2^30 would overflow: divide first */
	ns = whole * unit->ns + unit->ns / scale * part +
	    unit->ns % scale * part / scale;
	if (unit->ns % scale * part % scale != 0)
		finer = true;
	*ms = (int64_t)(ns / NS_PER_MS + (ns % NS_PER_MS != 0 || finer));
	return 0;
}

int
parse_number(const char *what, const char *text, uint64_t max, uint64_t *n)
{
	const char *p = text;
	uint64_t v = 0, d;

	if (*p == '\0')
		return usage_error("%s: a number is missing", what);
	for (; is_digit(*p); p++) {
		d = (uint64_t)(*p - '0');
		if (v > (max - d) / 10 || d > max)
			break;
		v = v * 10 + d;
	}
	if (*p != '\0')
		return usage_error("%s: '%s' is not a whole number from 0 to "
		    "%llu", what, text, (unsigned long long)max);
	*n = v;
	return 0;
}
