/* SPDX-License-Identifier: MIT */
/* Moments of the wall clock, as people write them. */
#include <stdlib.h>
#include <time.h>
#include "daemon/usage_error.h"
#include "moment.h"

int64_t
moment_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

int
moment_parse(const char *text, int64_t *ms)
{
	static const char *const formats[] = { "%Y-%m-%d %H:%M:%S",
	    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%H:%M:%S", "%H:%M" };
	time_t now = time(NULL);
	const char *end = NULL;
	double part = 0;
	struct tm tm;
	char *rest;

	if (*text == '@') {
		part = strtod(text + 1, &rest);
		if (rest == text + 1 || *rest != '\0' || !(part >= 0) ||
		    part > 1e11)
			return usage_error("--at: '%s' is no number of seconds "
			    "since 1970", text);
		*ms = (int64_t)(part * 1000);
		return 0;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		(void)localtime_r(&now, &tm);
		tm.tm_sec = 0;
		end = strptime(text, formats[i], &tm);
		if (end != NULL && *end == '.') {
			part = strtod(end, &rest);
			end = rest;
		}
		if (end != NULL && *end == '\0')
			break;
		end = NULL;
	}
	if (end == NULL)
		return usage_error("--at: '%s' is not a time; write 2026-11-21 "
		    "16:05:00, 16:05:00, or @1795276800", text);
	tm.tm_isdst = -1;
	*ms = (int64_t)mktime(&tm) * 1000 + (int64_t)(part * 1000);
	return 0;
}
