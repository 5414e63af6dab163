/* SPDX-License-Identifier: MIT */
/*
 * `leasehold rm`: removes a table.
 *
 * The library removes it in one step, so that no process can attach between the
 * check for users and the removal.  The name is not an argument, because a
 * destructive verb must not act on a mistyped one.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold rm [OPTION...]\n"
"\n"
"Removes a table that no process uses.\n"
"Exit status 0: removed; 75: in use; 1: no such table.\n"
"\n"
"      --force       remove it even while it is in use; its users lose it\n"
"      --forget-tokens\n"
"                    start the tokens of a new table of that name afresh\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static int
remove_table(const struct table_opts *table, uint32_t flags)
{
	bool force = flags & LH_FORCE;
	int e;

	e = lh_table_remove(table->name, (table->system ? LH_SYSTEM : 0) |
	    flags);
	if (e == -ENOENT)
		return open_table_missing(table);
	if (e == -EBUSY)
		return message_error(e, lh_error_detail(), "table '%s' stays%s",
		    open_table_name(table), force ? "" : " (--force)");
	if (e == -EINPROGRESS)
		return message_error(e, lh_error_detail(), "table '%s' is "
		    "retired, but not removed", open_table_name(table));
	if (e == -EPROTO || e == -EUCLEAN || e == -EXDEV)
		return message_error(e, lh_error_detail(), "table '%s' stays%s",
		    open_table_name(table), force ? "" : "; --force removes "
		    "it if it is a regular file");
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot remove "
		    "table '%s'", open_table_name(table));
	if (flags & LH_FORGET_TOKENS)
		message("warning: a new table '%s' may give the tokens of the "
		    "old one again: change what they were shown to",
		    open_table_name(table));
	return EX_YES;
}

static int
take_option(int c, char *value, void *arg)
{
	(void)value;
	*(uint32_t *)arg |= c == 'f' ? LH_FORCE : LH_FORGET_TOKENS;
	return 0;
}

int
verb_rm(int argc, char **argv)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' },
		{ "forget-tokens", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	struct table_opts table = { 0 };
	uint32_t flags = 0;
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = &flags };
	int status;

	if (!parse_verb_opts("rm", help, argc, argv, &table, &own, &status))
		return status;
	if (table.json)
		return usage_error("rm prints nothing: no --json");
	if (optind < argc)
		return usage_error("rm takes no argument ('%s'): the table's "
		    "name goes after --table", argv[optind]);
	return remove_table(&table, flags);
}
