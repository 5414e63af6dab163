/* SPDX-License-Identifier: MIT */
/* Keys, what getopt_long() refused, and the options that many verbs have. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool.h"

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
