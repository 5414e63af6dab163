/* SPDX-License-Identifier: MIT */
/* See report_line.h.  One write a line, so that a pipe shows each as it comes.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_line.h"

static const char *const codes[] = {
	[PLAIN] = "", [DIM] = "\033[2m", [BAD] = "\033[1;31m",
	[WARN] = "\033[1;33m", [GOOD] = "\033[32m", [NEWS] = "\033[36m",
	[PROUD] = "\033[1;35m",
};

static bool colours;

void
report_begin(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	colours = isatty(STDOUT_FILENO) && !(no && *no) &&
	    !(term && !strcmp(term, "dumb"));
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static const char *
on(enum tone t)
{
	return colours ? codes[t] : "";
}

static const char *
off(enum tone t)
{
	return colours && t != PLAIN ? "\033[0m" : "";
}

void
report_event(int64_t since_ns, enum tone tone, const char *word,
    const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%7.3f  %s%-8s%s %s%s%s\n", (double)since_ns / 1e9, on(tone),
	    word, off(tone), on(tone == DIM ? DIM : PLAIN), text,
	    off(tone == DIM ? DIM : PLAIN));
}

void
report_line(enum tone tone, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%s%s%s\n", on(tone), text, off(tone));
}

const char *
report_token(uint64_t token)
{
	static char buf[4][32];
	static unsigned turn;
	char digits[24], *out = buf[turn++ % 4], *p = out;
	int n = snprintf(digits, sizeof(digits), "%llu",
	    (unsigned long long)token), i;

	for (i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ' ';
		*p++ = digits[i];
	}
	*p = 0;
	return out;
}
