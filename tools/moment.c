/* SPDX-License-Identifier: MIT */
/*
 * Parses moments of the wall clock, as people write them.
 *
 *	now			this moment
 *	-5m, -1.5h		that long ago (number.c has the units)
 *	@1795276800		seconds since 1970
 *	16:05[:00]		today, local time
 *	2026-11-21		local midnight
 *	2026-11-21 16:05[:00]	local time; a T may replace the space
 *	2026-11-21T16:05:00Z	UTC; +02:00, +0200 or +02 instead of the Z
 *
 * A time of day may have a fraction of a second.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "moment.h"

int64_t
moment_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

static int
parse_seconds(const char *text, int64_t *ms)
{
	double s;
	char *rest;

	s = strtod(text + 1, &rest);
	if (rest == text + 1 || *rest != '\0' || !(s >= 0) || s > 1e11)
		return usage_error("--at: '%s' is no number of seconds since "
		    "1970", text);
	*ms = (int64_t)(s * 1000);
	return 0;
}

/* Parses ".25" as 250 and moves *p behind it. */
static int64_t
read_fraction(const char **p)
{
	int64_t ms = 0, unit = 100;

	if (**p != '.' || !isdigit((unsigned char)(*p)[1]))
		return 0;
	for (++*p; isdigit((unsigned char)**p); ++*p, unit /= 10)
		ms += (**p - '0') * unit;
	return ms;
}

/* Parses Z, +HH, +HHMM or +HH:MM. Returns true if nothing follows; *seconds is
 * then the zone's offset from UTC. */
static bool
read_zone(const char *p, long *seconds)
{
	int sign = *p == '-' ? -1 : 1, hours, minutes = 0, used = 0;

	*seconds = 0;
	if (strcmp(p, "Z") == 0 || strcmp(p, "z") == 0)
		return true;
	if (*p++ != (sign < 0 ? '-' : '+') || !isdigit((unsigned char)p[0]) ||
	    !isdigit((unsigned char)p[1]))
		return false;
	hours = (p[0] - '0') * 10 + p[1] - '0';
	p += 2;
	p += *p == ':';
	if (isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1])) {
		minutes = (p[0] - '0') * 10 + p[1] - '0';
		used = 2;
	}
	*seconds = sign * (hours * 3600L + minutes * 60L);
	return p[used] == '\0' && (used != 0 || p[-1] != ':') && hours < 24 &&
	    minutes < 60;
}

/* True if there is such a day: a conversion makes 2 March of 30 February. */
static bool
is_day(const struct tm *tm)
{
	struct tm day = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon,
	    .tm_mday = tm->tm_mday };

	return timegm(&day) != -1 && day.tm_mday == tm->tm_mday &&
	    day.tm_mon == tm->tm_mon;
}

/* True if the whole text has that form. */
static bool
read_calendar(const char *text, const char *form, int64_t *ms)
{
	time_t now = time(NULL);
	int64_t fraction = 0;
	const char *end;
	struct tm tm;
	long zone;

	(void)localtime_r(&now, &tm);
	tm.tm_sec = 0;
	if (strchr(form, 'H') == NULL)
		tm.tm_hour = tm.tm_min = 0;
	tm.tm_isdst = -1;
	end = strptime(text, form, &tm);
	if (end == NULL || !is_day(&tm))
		return false;
	if (form[strlen(form) - 1] == 'S')
		fraction = read_fraction(&end);
	if (*end == '\0')
		*ms = (int64_t)mktime(&tm) * 1000 + fraction;
	else if (strchr(form, 'Y') != NULL && strchr(form, 'M') != NULL &&
	    read_zone(end, &zone))
		*ms = ((int64_t)timegm(&tm) - zone) * 1000 + fraction;
	else
		return false;
	return true;
}

int
moment_parse(const char *text, int64_t *ms)
{
	static const char *const forms[] = { "%Y-%m-%d %H:%M:%S",
	    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
	    "%Y-%m-%d", "%H:%M:%S", "%H:%M" };
	int64_t span;
	int e;

	if (*text == '@')
		return parse_seconds(text, ms);
	if (strcmp(text, "now") == 0) {
		*ms = moment_now_ms();
		return 0;
	}
	if (*text == '-') {
		e = parse_span("--at", text + 1, &span);
		*ms = moment_now_ms() - span;
		return e;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (read_calendar(text, forms[i], ms))
			return 0;
	return usage_error("--at: '%s' is not a time; write now, -5m, "
	    "16:05:00, 2026-11-21 16:05:00, 2026-11-21T16:05:00Z or "
	    "@1795276800", text);
}
