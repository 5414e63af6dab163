/* SPDX-License-Identifier: MIT */
/* `leasehold destroy`: remove a key that nobody uses. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <leasehold.h>
#include "advice.h"
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
"A key whose robust holder did not release it stays (run --robust).\n"
"Exit status 0: removed, or not there; 75: in use; 77: that note stands.\n"
"\n"
"      --inconsistent  remove it nevertheless, and the note on it\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static const struct option options[] = {
	{ "inconsistent", no_argument, NULL, 256 },
	{ NULL, 0, NULL, 0 },
};

static int
take_option(int c, char *value, void *arg)
{
	bool *with_note = arg;

	(void)c;
	(void)value;
	*with_note = true;
	return 0;
}

/* Nothing is removed, because the note would be lost. */
static int
fail_noted(const struct table_opts *table, const char *key)
{
	char name[NAME_MAX_TEXT], mark[ADVICE_MAX], destroy[ADVICE_MAX];

	message("'%s' stays: a holder did not release it, and what it guards "
	    "may be inconsistent; repair it under \"leasehold run --robust\", "
	    "or declare it consistent (%s); to remove the key and this note: "
	    "%s", text_name(name, key), advice_command(mark, table, false,
	    "mark-consistent", key), advice_command(destroy, table, false,
	    "destroy --inconsistent", key));
	return EX_DENIED;
}

static int
destroy_key(const struct table_opts *table, const char *key, bool with_note)
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
	e = with_note ? lh_destroy(lh, key) : lh_destroy_consistent(lh, key);
	if (e == -ENOTRECOVERABLE)
		status = fail_noted(table, key);
	else if (e != 0)
		status = message_error(e, lh_error_detail(), "'%s' stays",
		    text_name(name, key));
	(void)lh_close(lh);
	return status;
}

int
verb_destroy(int argc, char **argv)
{
	struct table_opts table = { 0 };
	bool with_note = false;
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = &with_note };
	int status;

	if (!parse_verb_opts("destroy", help, argc, argv, &table, &own,
	    &status))
		return status;
	if (table.json)
		return usage_error("destroy prints nothing: no --json");
	if (optind + 1 != argc)
		return usage_error("destroy takes one key: leasehold destroy "
		    "KEY");
	return parse_key(argv[optind]) != 0 ? EX_BAD_USAGE :
	    destroy_key(&table, argv[optind], with_note);
}
