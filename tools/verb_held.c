/* SPDX-License-Identifier: MIT */
/*
 * `leasehold held KEY`: was this process started by a `run` that holds KEY?
 *
 * For a script that locks itself:
 *
 *	leasehold held me || exec leasehold run -n me -- "$0" "$@"
 *
 * LEASEHOLD_HELD names the leases of the `run`s that the process descends from,
 * and the table says whether the lease still holds the key (nesting.c). The
 * variable alone proves nothing: a daemon keeps it after its job has ended.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "nesting.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold held [OPTION...] KEY\n"
"\n"
"Asks whether this process belongs to a 'leasehold run' that holds KEY now.\n"
"Prints nothing.\n"
"Exit status 0: it does; 1: it does not.\n"
"\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

int
verb_held(int argc, char **argv)
{
	struct table_opts table = { 0 };
	uint32_t mode;
	struct lh *lh;
	int status, e;

	if (!parse_table_opts("held", help, argc, argv, &table, &status))
		return status;
	if (table.json)
		return usage_error("held prints nothing: no --json");
	if (optind + 1 != argc)
		return usage_error("held takes one key: leasehold held KEY");
	if (parse_key(argv[optind]) != 0)
		return EX_BAD_USAGE;
	e = open_table(&lh, &table, LH_NO_CREATE, NULL);
	if (e == -ENOENT)
		return EX_NO;
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	status = nesting_is_held(lh, table.system, argv[optind], &mode) ?
	    EX_YES : EX_NO;
	(void)lh_close(lh);
	return status;
}
