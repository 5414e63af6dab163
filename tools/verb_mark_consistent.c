/* SPDX-License-Identifier: MIT */
/* `leasehold mark-consistent`: clears the note that a robust holder left. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold mark-consistent [OPTION...] KEY\n"
"\n"
"Declares that what KEY guards has been repaired, after a holder with\n"
"--robust left it without a release.  Holds KEY exclusively meanwhile.\n"
"Exit status 0: the note is cleared; 1: there was none; 75: KEY is held.\n"
"\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

/* Clears the key's note while it is held. Returns an exit status. */
static int
mark_key(struct lh *lh, struct lh_lease *l, const char *name)
{
	int e;

	if (!(l->notes & LH_NOTE_INCONSISTENT)) {
		message("'%s' has no note: nobody has left it without a "
		    "release", name);
		return EX_NO;
	}
	e = lh_mark_consistent(lh, l);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot mark '%s' "
		    "consistent", name);
	printf("'%s' is marked consistent\n", name);
	return output_flush(EX_YES);
}

static int
take_and_mark(const struct table_opts *table, const char *key)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	char name[NAME_MAX_TEXT];
	struct lh_lease l;
	struct lh *lh;
	int e, status;

	e = open_table(&lh, table, LH_NO_CREATE, NULL);
	if (e == -ENOENT)
		return open_table_missing(table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	o.flags = LH_NO_CREATE;
	o.max_wait_ms = 0;
	(void)text_name(name, key);
	e = lh_acquire(lh, key, &o, &l);
	if (e == -ENOENT) {
		message("there is no key '%s'", name);
		status = EX_NO;
	} else if (e != 0) {
		status = message_error(e, lh_error_detail(), "cannot mark '%s' "
		    "consistent", name);
	} else {
		status = mark_key(lh, &l, name);
		(void)lh_release(lh, &l);
	}
	(void)lh_close(lh);
	return status;
}

int
verb_mark_consistent(int argc, char **argv)
{
	struct table_opts table = { 0 };
	int status;

	if (!parse_table_opts("mark-consistent", help, argc, argv, &table,
	    &status))
		return status;
	if (table.json)
		return usage_error("mark-consistent prints no JSON");
	if (optind + 1 != argc)
		return usage_error("mark-consistent takes one key: leasehold "
		    "mark-consistent KEY");
	return parse_key(argv[optind]) != 0 ? EX_BAD_USAGE :
	    take_and_mark(&table, argv[optind]);
}
