/* SPDX-License-Identifier: MIT */
/* `leasehold sem`: shows or destroys a semaphore, and says whether this process
 * has a permit of it.  `sem run` is `run --permits`. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "nesting.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "run_command.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold sem status [OPTION...] NAME\n"
"       leasehold sem held [OPTION...] NAME\n"
"       leasehold sem destroy [OPTION...] NAME\n"
"       leasehold sem run --permits N [OPTION...] NAME [--] COMMAND ...\n"
"\n"
"status prints how many permits the semaphore NAME has, how many are held and\n"
"how many wait for one.  held asks whether this process belongs to a\n"
"'sem run' that holds a permit now, and prints nothing.  destroy removes it\n"
"if it is not in use; then it can get another number.  run is 'leasehold run'\n"
"with --permits.\n"
"Exit status 0; 1: there is no such semaphore, or no permit is held (held);\n"
"75: it is in use.\n"
"\n"
"  -q, --quiet       print nothing when it is in use (destroy), or when no\n"
"                    permit is free in time (run)\n"
"      --json        print JSON (status)\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root (status)\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static int
print_status(const char *name, const struct lh_sem_status *s, bool json)
{
	char text[NAME_MAX_TEXT];
	json_t *j;

	if (!json) {
		printf("%s: %u of %u permits held, %u waiting\n",
		    text_name(text, name), s->held, s->limit, s->waiting);
		return output_flush(EX_YES);
	}
	j = json_object();
	if (j != NULL && (show_set_bytes(j, "semaphore", name) != 0 ||
	    json_object_set_new(j, "permits", json_integer(s->limit)) != 0 ||
	    json_object_set_new(j, "held", json_integer(s->held)) != 0 ||
	    json_object_set_new(j, "waiting", json_integer(s->waiting)) !=
	    0)) {
		json_decref(j);
		j = NULL;
	}
	return show_json(j, EX_YES);
}

static int
show_semaphore(struct lh *lh, const char *name, bool json)
{
	struct lh_sem_status s = { .size = sizeof(s) };
	char text[NAME_MAX_TEXT];
	struct lh_sem *sem;
	int e = lh_sem_open(lh, name, 0, &sem);

	if (e == -ENOENT) {
		message("there is no semaphore '%s'", text_name(text, name));
		return EX_NO;
	}
	if (e == 0) {
		e = lh_sem_status(sem, &s);
		(void)lh_sem_close(sem);
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot look at "
		    "'%s'", text_name(text, name));
	return print_status(name, &s, json);
}

static int
destroy_semaphore(struct lh *lh, const char *name)
{
	char text[NAME_MAX_TEXT];
	int e = lh_sem_destroy(lh, name);

	return e == 0 ? EX_YES : message_error(e, lh_error_detail(), "'%s' "
	    "stays", text_name(text, name));
}

static int
missing_table(const struct table_opts *table, char what)
{
	return what == 'd' ? EX_YES : what == 'h' ? EX_NO :
	    open_table_missing(table);
}

/* what: the first letter of status, held or destroy. */
static int
open_and_do(const struct table_opts *table, const char *name, char what)
{
	struct lh *lh;
	int e = open_table(&lh, table, LH_NO_CREATE, NULL);

	if (e == -ENOENT)
		return missing_table(table, what);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	if (what == 'd')
		e = destroy_semaphore(lh, name);
	else if (what == 's')
		e = show_semaphore(lh, name, table->json);
	else
		e = nesting_count_permits(lh, table->system, name) > 0 ?
		    EX_YES : EX_NO;
	(void)lh_close(lh);
	return e;
}

/* Checks that --permits is given for `sem run`. `run` reports other errors. */
static int
run_with_permit(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--permits", 9) == 0 ||
		    strcmp(argv[i], "--help") == 0)
			return run_command(argc, argv);
	}
	return usage_error("of how many permits? leasehold sem run --permits N "
	    "NAME COMMAND");
}

static int
take_option(int c, char *value, void *arg)
{
	message_quiet();	/* it is the only option */
	return 0;
}

int
verb_sem(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ NULL, 0, NULL, 0 },
	};
	static const struct verb_opts own = { options, "q", take_option, NULL,
	    true };
	const char *what = argc > 1 ? argv[1] : "--help";
	struct table_opts table = { 0 };
	int e;

	if (strcmp(what, "run") == 0)
		return run_with_permit(argc - 1, argv + 1);
	if (strcmp(what, "destroy") != 0 && strcmp(what, "status") != 0 &&
	    strcmp(what, "held") != 0 && what[0] != '-')
		return usage_error("sem: '%s' is none of status, held, "
		    "destroy, run", what);
	if (what[0] != '-') {
		argc--;
		argv++;
	}
	if (!parse_verb_opts("sem", help, argc, argv, &table, &own, &e))
		return e;
	if (what[0] == '-' || optind + 1 != argc)
		return usage_error("leasehold sem status NAME, sem held NAME, "
		    "or sem destroy NAME");
	if (what[0] != 's' && parse_refuse_uid(&table, "sem") != 0)
		return EX_BAD_USAGE;
	if (table.json && what[0] != 's')
		return usage_error("sem %s prints nothing: no --json", what);
	return parse_key(argv[optind]) != 0 ? EX_BAD_USAGE :
	    open_and_do(&table, argv[optind], what[0]);
}
