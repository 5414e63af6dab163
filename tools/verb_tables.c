/* SPDX-License-Identifier: MIT */
/*
 * `leasehold tables`: lists every table of the machine.
 *
 *	TABLE    OF     OWNER        MODE  KEYS  HELD  WAITING  SESSIONS  ...
 *	default  user   1000 (ann)   0600     3     1        0         2  ...
 *	queue    machine   0 (root)  0660     -     -        -         -  ...
 *	  /dev/shm/... belongs to user 0 (root), with mode 660, so only ...
 *
 * A table that cannot be read has hyphens and a reason: a number that is not
 * known is not 0.
 */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/paths.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "table_scan.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold tables [OPTION...]\n"
"\n"
"Lists every table of the machine, with its owner, its mode, and how many\n"
"keys, holders, waiters and sessions it has.  A table that may not be read is\n"
"listed with the reason.  Opens no session and changes nothing.\n"
"Exit status 0; 1: there is no table; 77: no user has the number N here.\n"
"\n"
"      --uid N       only the tables of user N\n"
"      --json        print a JSON array\n"
"      --table NAME  only tables of that name\n"
"      --system      only the machine's tables\n"
"      --help        print this\n";

enum { TABLE, OF, OWNER, MODE, KEYS, HELD, WAITING, SESSIONS, VERSION,
	DAMAGE, FENCE, COLUMNS };

/* Formats one cell of a row. */
static const char *
cell(char buf[NAME_MAX_TEXT], const json_t *row, int column)
{
	static const char *const member[COLUMNS] = { "table", "system", "uid",
	    "mode", "keys", "held", "waiting", "sessions", "version",
	    "damaged", "fence_dir" };
	const json_t *v = json_object_get(row, member[column]);
	const char *text = json_string_value(v), *more = NULL;

	(void)snprintf(buf, NAME_MAX_TEXT, "-");
	if (column == OF)
		return json_is_true(v) ? "machine" : "user";
	if (column == DAMAGE)
		return json_is_true(v) ? "seen" : json_is_false(v) ? "none" :
		    "-";
	if (text != NULL && *text != '\0')
		(void)text_clean(buf, NAME_MAX_TEXT, text, strlen(text), true);
	else if (json_is_integer(v))
		(void)snprintf(buf, NAME_MAX_TEXT, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(v));
	if (column == OWNER && json_is_null(v))
		return "unmapped";
	if (column == OWNER)
		more = json_string_value(json_object_get(row, "user"));
	if (more != NULL && *more != '\0')
		(void)snprintf(buf + strlen(buf), NAME_MAX_TEXT - strlen(buf),
		    " (%s)", more);
	return buf;
}

static bool
is_number(int column)
{
	return column >= KEYS && column <= VERSION;
}

static void
print_row(const json_t *row, const int width[COLUMNS],
    const char *const *heading)
{
	char buf[NAME_MAX_TEXT];
	const char *text;
	int c, pad;

	for (c = 0; c < COLUMNS; c++) {
		text = heading != NULL ? heading[c] : cell(buf, row, c);
		pad = width[c] - text_columns(text);
		if (is_number(c))
			printf("%*s%s", pad, "", text);
		else
			printf("%s%*s", text, c + 1 < COLUMNS ? pad : 0, "");
		if (c + 1 < COLUMNS)
			printf("  ");
	}
}

static int
print_text(const json_t *all)
{
	static const char *const heading[COLUMNS] = { "TABLE", "OF", "OWNER",
	    "MODE", "KEYS", "HELD", "WAITING", "SESSIONS", "VERSION", "DAMAGE",
	    "FENCE" };
	char buf[NAME_MAX_TEXT], why[1024];
	const char *error;
	int width[COLUMNS], w;
	json_t *row;
	size_t i;

	for (int c = 0; c < COLUMNS; c++) {
		width[c] = text_columns(heading[c]);
		json_array_foreach(all, i, row) {
			w = text_columns(cell(buf, row, c));
			if (w > width[c])
				width[c] = w;
		}
	}
	fputs(message_bold(1), stdout);
	print_row(NULL, width, heading);
	printf("%s\n", message_plain(1));
	json_array_foreach(all, i, row) {
		print_row(row, width, NULL);
		putchar('\n');
		error = json_string_value(json_object_get(row, "error"));
		if (error == NULL)
			continue;
		(void)text_clean(why, sizeof(why), error, strlen(error), false);
		printf("  %s\n", why);
	}
	return output_flush(EX_YES);
}

static int
take_option(int c, char *value, void *arg)
{
	struct table_scan *scan = arg;

	scan->of_user = true;
	return parse_uid("--uid", value, &scan->uid);
}

static int
list_tables(const struct table_scan *scan, bool json)
{
	int status;
	json_t *all;
	size_t n;

	if (scan->of_user && !paths_has_user(scan->uid)) {
		message("--uid %u: no user has that number in this user "
		    "namespace, so which tables are theirs is not known: "
		    "look outside of the namespace", (unsigned)scan->uid);
		return EX_DENIED;
	}
	all = table_scan(scan, &status);
	n = json_array_size(all);
	if (all == NULL)
		return status;
	if (json)
		return show_json(all, n == 0 ? EX_NO : EX_YES);
	if (n > 0)
		status = print_text(all);
	else
		message("there is no %stable%s%s%s on this machine",
		    scan->system ? "system " : "", scan->name != NULL ? " '" :
		    "", scan->name != NULL ? scan->name : "",
		    scan->name != NULL ? "'" : "");
	json_decref(all);
	return n == 0 ? EX_NO : status;
}

int
verb_tables(int argc, char **argv)
{
	static const struct option options[] = {
		{ "uid", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	struct table_opts table = { 0 };
	struct table_scan scan = { 0 };
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = &scan };
	int status;

	if (!parse_verb_opts("tables", help, argc, argv, &table, &own, &status))
		return status;
	if (optind < argc)
		return usage_error("tables takes no argument: '%s'; a table's "
		    "name goes after --table", argv[optind]);
	if (scan.of_user && table.system)
		return usage_error("--uid N lists a user's own tables, and "
		    "--system those of the machine: use one of them");
	scan.name = table.name;
	scan.system = table.system;
	return list_tables(&scan, table.json);
}
