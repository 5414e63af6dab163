/* SPDX-License-Identifier: MIT */
/*
 * `leasehold stats`: a table's sizes, and how far it is filled.
 *
 * Where the table does not exist nothing is made, and the exit status is 1, as
 * of `list`.  The session of the question itself is not counted.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include "show.h"
#include "tool.h"

static const char help[] =
"usage: leasehold stats [OPTION...]\n"
"\n"
"Tells how large a table is and how much of it is in use.\n"
"\n"
"      --json        print JSON\n"
"      --table NAME  that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      the machine's table of that name, not your own\n"
"      --help        print this\n";

static void
count(const char *label, uint32_t n, uint32_t max, const char *what)
{
	printf("%-10s%" PRIu32 " of at most %" PRIu32 "%s\n", label, n, max,
	    what);
}

/* "2.2 MB": 10^6 of them, tenths cut. */
static void
size(const char *before, uint64_t bytes, const char *after)
{
	uint64_t tenths = bytes / 100000;

	printf("%s%" PRIu64 ".%" PRIu64 " MB%s", before, tenths / 10,
	    tenths % 10, after);
}

static int
print_text(const char *table, const struct lh_stats *s)
{
	printf("%-10s%s\n", "table", table);
	count("keys", s->keys, s->max_keys, "");
	count("sessions", s->sessions, s->max_sessions, "");
	count("leases", s->leases_reserved, s->max_leases,
	    " reserved by sessions, 64 at a time");
	printf("%-10s", "memory");
	if (s->bytes_used > 0)
		size("", s->bytes_used, " of ");
	size("at most ", s->bytes, "\n");
	printf("%-10s%s\n", "order", show_order(s->order));
	printf("%-10s%s\n", "clock", show_clock(s->clock));
	printf("%-10sabove %" PRIu64 ", so far below %" PRIu64 "\n", "tokens",
	    s->token_base, s->token_ceiling);
	printf("%-10s%s\n", "damaged", s->damaged ?
	    "yes: leasehold fsck tells where" : "no damage has been seen");
	return tool_flush(EX_YES);
}

static int
print_json(const char *table, const struct lh_stats *s)
{
	json_t *o;

	o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:b}",
	    "table", table,
	    "keys", (json_int_t)s->keys, "max_keys", (json_int_t)s->max_keys,
	    "sessions", (json_int_t)s->sessions,
	    "max_sessions", (json_int_t)s->max_sessions,
	    "leases_reserved", (json_int_t)s->leases_reserved,
	    "max_leases", (json_int_t)s->max_leases,
	    "order", show_order(s->order),
	    "clock", show_clock(s->clock), "damaged", (int)s->damaged);
	if (o != NULL && (show_set_u64(o, "bytes_used", s->bytes_used) != 0 ||
	    show_set_u64(o, "bytes", s->bytes) != 0 ||
	    show_set_u64(o, "token_base", s->token_base) != 0 ||
	    show_set_u64(o, "token_ceiling", s->token_ceiling) != 0)) {
		json_decref(o);
		o = NULL;
	}
	return show_json(o, EX_YES);
}

int
verb_stats(int argc, char **argv)
{
	struct table_opts table = { 0 };
	struct lh_stats s = { .size = sizeof(s) };
	struct lh *lh;
	int e, status;

	if (!parse_table_opts("stats", help, argc, argv, &table, &status))
		return status;
	if (optind < argc)
		return say_usage("stats takes no argument: '%s'",
		    argv[optind]);
	e = tool_open(&lh, &table, LH_NO_CREATE, NULL);
	if (e == -ENOENT)
		return tool_no_table(&table);
	if (e != 0)
		return say_error(e, lh_error_detail(), "cannot open the table");
	e = lh_stats(lh, &s);
	if (e == 0) {
		s.sessions -= s.sessions > 0;
		status = table.json ? print_json(lh_table_name(lh), &s) :
		    print_text(lh_table_name(lh), &s);
	} else {
		status = say_error(e, lh_error_detail(), "cannot look at the "
		    "table");
	}
	(void)lh_close(lh);
	return status;
}
