/* SPDX-License-Identifier: MIT */
/* `leasehold destroy`: remove a key that nobody uses. */
#include <errno.h>
#include <getopt.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold destroy [OPTION...] KEY\n"
"\n"
"Removes KEY from the table, if no process holds it or waits for it.\n"
"Unused keys cost little, and are removed automatically when room is needed.\n"
"This verb is for keys that a program has made permanent.\n"
"Exit status 0: removed, or not there; 75: in use.\n"
"\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static int
destroy_key(const struct table_opts *table, const char *key)
{
	char name[NAME_MAX_TEXT];
	int e, status = EX_YES;
	struct lh *lh;

	e = open_table(&lh, table, LH_NO_CREATE, NULL);
	if (e == -ENOENT)
		return EX_YES;		/* without a table there is no key */
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = lh_destroy(lh, key);
	if (e != 0)
		status = message_error(e, lh_error_detail(), "'%s' stays",
		    text_name(name, key));
	(void)lh_close(lh);
	return status;
}

int
verb_destroy(int argc, char **argv)
{
	struct table_opts table = { 0 };
	int status;

	if (!parse_table_opts("destroy", help, argc, argv, &table, &status))
		return status;
	if (table.json)
		return usage_error("destroy prints nothing: no --json");
	if (optind + 1 != argc)
		return usage_error("destroy takes one key: leasehold destroy "
		    "KEY");
	return parse_key(argv[optind]) != 0 ? EX_BAD_USAGE :
	    destroy_key(&table, argv[optind]);
}
