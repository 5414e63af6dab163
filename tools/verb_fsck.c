/* SPDX-License-Identifier: MIT */
/*
 * `leasehold fsck`: checks whether a table is sound; --repair makes it so.
 *
 * The check runs next to all other processes and blocks none of them.  A table
 * that cannot be opened, because it is damaged or is no table, is a finding
 * too.  A repair needs the table to be unused.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "advice.h"
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "error_status.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold fsck [OPTION...]\n"
"\n"
"Checks a table, which may be in use, and prints the damage that it finds.\n"
"Exit status 0: sound; 65: damaged, or not a table; 71: sound, but its\n"
"fence directory cannot be used; 1: no such table.\n"
"\n"
"      --repair      make it sound, if no process uses it (75: one does)\n"
"      --force       with --repair: also declare dead the sessions that\n"
"                    cannot be proved dead, if their process is not seen\n"
"      --dry-run     with --repair: only print what would be done\n"
"      --json        print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct fsck {
	const struct table_opts *table;
	bool json, repair, dry, force;
	json_t *findings;	/* with json */
	bool no_memory;
};

static void
note_finding(const char *finding, void *arg)
{
	struct fsck *k = arg;
	char clean[512];

	/* a damaged table can contain any bytes */
	(void)text_clean(clean, sizeof(clean), finding, sizeof(clean), false);
	if (!k->json)
		printf("%s\n", clean);
	else if (show_append_text(k->findings, clean) != 0)
		k->no_memory = true;
}

/* Prints the status and a sentence, or their JSON. fence: why the directory of
 * a sound table cannot be used, or NULL. */
static int
print_result(struct fsck *k, const char *table, uint64_t keys, int n,
    const char *fence)
{
	int status = n > 0 ? EX_DAMAGED : fence != NULL ? EX_SYSTEM : EX_YES;

	if (k->json)
		return show_json(k->no_memory ? NULL : json_pack("{s:s, s:b, "
		    "s:O, s:s*}", "table", table, "sound", n == 0, "findings",
		    k->findings, "fence_error", fence), status);
	if (fence != NULL)
		message("%s", fence);
	else if (n == 0)
		printf("table '%s' is sound (%" PRIu64 " keys)\n", table, keys);
	else
		message("table '%s' is damaged (%d findings): keep a copy of "
		    "its object if you want to know why, then end its users, "
		    "repair it (%s), and start them again", table, n,
		    ADVICE(k->table, "fsck --repair"));
	return output_flush(status);
}

static int
check_table(struct fsck *k, const struct table_opts *table)
{
	struct lh_stats s = { .size = sizeof(s) };
	char *fence = NULL;
	struct lh *lh;
	int n, e, status;

	e = open_table_to_look(&lh, table);
	if (e == -ENOENT)
		return open_table_missing(table);
	if (k->json && (e == -EUCLEAN || e == -EPROTO)) {
		note_finding(lh_error_detail(), k);
		return print_result(k, open_table_name(table), 0, 1, NULL);
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	n = lh_check(lh, note_finding, k);
	if (n == -EIO) {
		fence = strdup(lh_error_detail());
		n = fence != NULL ? 0 : -ENOMEM;
	}
	e = n < 0 ? n : lh_stats(lh, &s);
	if (e != 0) {
		status = message_error(e, lh_error_detail(), "cannot check the "
		    "table");
	} else {
		if (n == 0 && s.damaged) {
			note_finding("damage was met earlier, though none is "
			    "to be seen now", k);
			n = 1;
		}
		if (!k->json && show_life(&s, table) != NULL)
			message("warning: %s", show_life(&s, table));
		if ((fence == NULL || n > 0) && show_fence_lost(&s) != NULL)
			message("warning: %s", show_fence_lost(&s));
		status = print_result(k, lh_table_name(lh), s.keys, n,
		    n > 0 ? NULL : fence);
	}
	free(fence);
	(void)lh_close(lh);
	return status;
}

/* Prints the last lines after n findings: what was done. */
static int
print_repaired(struct fsck *k, const char *table, int n)
{
	int status = k->dry && n > 0 ? EX_DAMAGED : EX_YES;
	json_t *done;

	if (!k->json) {
		if (n == 0)
			printf("table '%s' is sound\n", table);
		else
			printf("table '%s' %s (%d findings)\n", table, k->dry ?
			    "is damaged" : "was damaged and is repaired", n);
		return output_flush(status);
	}
	done = json_array();
	while (done != NULL && !k->no_memory &&
	    json_array_size(k->findings) > (size_t)n) {
		if (json_array_append(done, json_array_get(k->findings,
		    (size_t)n)) != 0)
			k->no_memory = true;
		(void)json_array_remove(k->findings, (size_t)n);
	}
	return show_json(k->no_memory ? NULL : json_pack("{s:s, s:b, s:b, s:O, "
	    "s:o}", "table", table, "sound", n == 0 || !k->dry, "repaired",
	    n > 0 && !k->dry, "findings", k->findings, "done", done), status);
}

static int
repair_table(struct fsck *k, const struct table_opts *table)
{
	int n = lh_table_repair(table->name, (table->system ? LH_SYSTEM : 0) |
	    (k->dry ? LH_DRY_RUN : 0) | (k->force ? LH_FORCE : 0), note_finding,
	    k);

	if (n == -ENOENT)
		return open_table_missing(table);
	if (n == -EIO) {	/* the detail says whether the table is sound */
		message("%s", lh_error_detail());
		return error_status(n);
	}
	if (n == -EBUSY)
		return message_error(n, lh_error_detail(), "table '%s' is not "
		    "repaired", open_table_name(table));
	if (n == -EXDEV)	/* not the place to judge it from */
		return message_error(n, lh_error_detail(), "cannot repair "
		    "table '%s' from here, and nothing is known to be wrong "
		    "with it", open_table_name(table));
	if (n == -EPROTO || n == -EUCLEAN)
		return message_error(n, lh_error_detail(), "table '%s' is "
		    "beyond repair ('%s' removes it)", open_table_name(table),
		    ADVICE(table, "rm --force"));
	if (n < 0)
		return message_error(n, lh_error_detail(), "cannot repair "
		    "table '%s'", open_table_name(table));
	return print_repaired(k, open_table_name(table), n);
}

static int
take_option(int c, char *value, void *arg)
{
	struct fsck *k = arg;

	(void)value;
	*(c == 'n' ? &k->dry : c == 'f' ? &k->force : &k->repair) = true;
	return 0;
}

int
verb_fsck(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dry-run", no_argument, NULL, 'n' },
		{ "force", no_argument, NULL, 'f' },
		{ "repair", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct table_opts table = { 0 };
	struct fsck k = { 0 };
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = &k,
	    .reads = true };
	int status;

	if (!parse_verb_opts("fsck", help, argc, argv, &table, &own, &status))
		return status;
	if (optind < argc)
		return usage_error("fsck takes no argument ('%s'): the table's "
		    "name goes after --table", argv[optind]);
	if (k.dry && !k.repair)
		return usage_error("--dry-run goes with --repair; without "
		    "either fsck changes nothing");
	if (k.force && !k.repair)
		return usage_error("--force goes with --repair: without it "
		    "fsck changes nothing");
	if (k.repair && parse_refuse_uid(&table, "fsck --repair") != 0)
		return EX_BAD_USAGE;
	k.table = &table;
	k.json = table.json;
	if (k.json)
		k.findings = json_array();
	k.no_memory = k.json && k.findings == NULL;
	status = k.repair ? repair_table(&k, &table) : check_table(&k, &table);
	json_decref(k.findings);
	return status;
}
