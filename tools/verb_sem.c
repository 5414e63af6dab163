/* SPDX-License-Identifier: MIT */
/* `leasehold sem`: shows or destroys a semaphore.  `sem run` is `run
 * --permits`. */
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
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "run_command.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold sem status [OPTION...] NAME\n"
"       leasehold sem destroy [OPTION...] NAME\n"
"       leasehold sem run --permits N [OPTION...] NAME [--] COMMAND ...\n"
"\n"
"status prints how many permits the semaphore NAME has, how many are held and\n"
"how many wait for one.  destroy removes it if it is not in use; then it can\n"
"get another number.  run is 'leasehold run' with --permits.\n"
"Exit status 0; 1: there is no such semaphore; 75: it is in use.\n"
"\n"
"  -q, --quiet       print nothing when it is in use (destroy), or when no\n"
"                    permit is free in time (run)\n"
"      --json        print JSON (status)\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
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
open_and_do(const struct table_opts *table, const char *name, bool to_destroy)
{
	struct lh *lh;
	int e = open_table(&lh, table, LH_NO_CREATE, NULL);

	if (e == -ENOENT && to_destroy)
		return EX_YES;
	if (e == -ENOENT)
		return open_table_missing(table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = to_destroy ? destroy_semaphore(lh, name) : show_semaphore(lh, name,
	    table->json);
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
	static const struct verb_opts own = { options, "q", take_option, NULL };
	const char *what = argc > 1 ? argv[1] : "--help";
	struct table_opts table = { 0 };
	bool to_destroy = strcmp(what, "destroy") == 0;
	int e;

	if (strcmp(what, "run") == 0)
		return run_with_permit(argc - 1, argv + 1);
	if (!to_destroy && strcmp(what, "status") != 0 && what[0] != '-')
		return usage_error("sem: '%s' is none of status, destroy, run",
		    what);
	if (what[0] != '-') {
		argc--;
		argv++;
	}
	if (!parse_verb_opts("sem", help, argc, argv, &table, &own, &e))
		return e;
	if (what[0] == '-' || optind + 1 != argc)
		return usage_error("leasehold sem status NAME, or sem destroy "
		    "NAME");
	if (table.json && to_destroy)
		return usage_error("sem destroy prints nothing: no --json");
	return parse_key(argv[optind]) != 0 ? EX_BAD_USAGE :
	    open_and_do(&table, argv[optind], to_destroy);
}
