/* SPDX-License-Identifier: MIT */
/*
 * Words to numbers: spans of time, counts, keys, and what getopt_long()
 * refused.
 *
 * Nothing is guessed.  A text is used up to its last byte or refused, with a
 * sentence that says what is wrong and what would be right.  There is no
 * floating point: "1.1s" is 1,100 ms and not 1,100.0000000000001 of them, and
 * what is finer than a millisecond is rounded up, so that a wait is never
 * shorter than asked and a small one never becomes 0, which means "try".
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool.h"

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
		return say_usage("%s: a time cannot be negative, as '%s' is",
		    what, text);
	if (!is_digit(*p) && !(*p == '.' && is_digit(p[1])))
		return say_usage("%s: '%s' is not a time; write 10s, 1.5s, "
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
		return say_usage("%s: '%s' in '%s' is no unit of time; write "
		    "ms, s, m, h or d, as in 1.5s", what, p, text);
	if (whole > max_ns / unit->ns)
		return say_usage("%s: '%s' is more than ten years", what,
		    text);
	/* 86400e9 * part < 2^47 * 2^30 would overflow: divide first. */
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
		return say_usage("%s: a number is missing", what);
	for (; is_digit(*p); p++) {
		d = (uint64_t)(*p - '0');
		if (v > (max - d) / 10 || d > max)
			break;
		v = v * 10 + d;
	}
	if (*p != '\0')
		return say_usage("%s: '%s' is not a whole number from 0 to "
		    "%llu", what, text, (unsigned long long)max);
	*n = v;
	return 0;
}

int
parse_key(const char *key)
{
	size_t len = strlen(key);

	if (len == 0)
		return say_usage("the key is empty: a key is 1 to %d bytes "
		    "long", KEY_MAX);
	if (len > KEY_MAX)
		return say_usage("the key is %zu bytes long: a key is 1 to %d "
		    "bytes long", len, KEY_MAX);
	return 0;
}

int
parse_lease_id(const char *what, const char *text, uint64_t id[2])
{
	char half[17] = "";

	if (strlen(text) != 32 ||
	    strspn(text, "0123456789abcdefABCDEF") != 32)
		return say_usage("%s: '%s' is not 32 hexadecimal digits, as "
		    "status shows them", what, text);
	memcpy(half, text, 16);
	id[0] = strtoull(half, NULL, 16);
	id[1] = strtoull(text + 16, NULL, 16);
	return 0;
}

int
parse_refused(const char *verb, int c, char **argv)
{
	const char *word = argv[optind > 0 ? optind - 1 : 0];
	bool is_long = strncmp(word, "--", 2) == 0;

	if (c == ':') {
		if (is_long)
			return say_usage("option '%s' needs a value", word);
		return say_usage("option '-%c' needs a value", optopt);
	}
	if (!is_long && optopt != 0)
		return say_usage("'%s' has no option '-%c'; 'leasehold %s "
		    "--help' lists those it has", verb, optopt, verb);
	if (optopt != 0)
		return say_usage("option '%.*s' takes no value",
		    (int)strcspn(word, "="), word);
	return say_usage("'%s' has no option '%s', or it is short for "
	    "several; 'leasehold %s --help' lists those it has", verb, word,
	    verb);
}

bool
parse_table_opts(const char *verb, const char *help, int argc, char **argv,
    struct table_opts *table, int *status)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "system", no_argument, NULL, 'S' },
		{ "table", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(help, stdout);
			*status = tool_flush(EX_YES);
			return false;
		case 'j':
			table->json = true;
			break;
		case 'S':
			table->system = true;
			break;
		case 't':
			table->name = optarg;
			break;
		default:
			*status = parse_refused(verb, c, argv);
			return false;
		}
	}
	return true;
}
