/* SPDX-License-Identifier: MIT */
/* `leasehold version`: which version this is. */
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <leasehold/version.h>
#include "daemon/exit_status.h"
#include "daemon/usage_error.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold version [--json]\n";

int
verb_version(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(help, stdout);
			return output_flush(EX_YES);
		case 'j':
			json = true;
			break;
		default:
			return parse_refused_option("version", c, argv);
		}
	}
	if (optind < argc)
		return usage_error("version takes no argument: '%s'",
		    argv[optind]);
	if (json)
		return show_json(json_pack("{s:s, s:s}", "name", "leasehold",
		    "version", LEASEHOLD_VERSION), EX_YES);
	printf("leasehold %s\n", LEASEHOLD_VERSION);
	return output_flush(EX_YES);
}
