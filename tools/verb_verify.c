/* SPDX-License-Identifier: MIT */
/*
 * `leasehold verify KEY TOKEN`: asks whether this is the token of a present
 * lease.
 *
 * It is for a process that got a key and a token from another one.  The answer
 * is true at the time of the check; an action that must not be repeated needs a
 * gate as well.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold verify [OPTION...] KEY TOKEN\n"
"\n"
"Asks whether TOKEN is the fencing token of a lease on KEY that is held now.\n"
"Exit status 0: it is; 1: it is not.\n"
"\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static int
verify_token(const struct table_opts *table, const char *key, uint64_t token)
{
	char name[NAME_MAX_TEXT];
	struct lh *lh;
	int e = open_table_to_look(&lh, table), status = EX_YES;

	if (e == -ENOENT)
		return open_table_missing(table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = lh_verify_token(lh, key, token);
	(void)text_name(name, key);
	if (e == -ESTALE) {
		message("%s", lh_error_detail());
		status = EX_NO;
	} else if (e != 0) {
		status = message_error(e, lh_error_detail(), "not known "
		    "whether '%s' is held", name);
	}
	(void)lh_close(lh);
	return status;
}

int
verb_verify(int argc, char **argv)
{
	struct table_opts table = { 0 };
	uint64_t token;
	int status;

	if (!parse_look_opts("verify", help, argc, argv, &table, &status))
		return status;
	if (table.json)
		return usage_error("verify prints nothing: no --json");
	if (optind + 2 != argc)
		return usage_error("verify takes a key and a token: leasehold "
		    "verify KEY \"$LEASEHOLD_FENCE\"");
	status = parse_key(argv[optind]);
	if (status == 0)
		status = parse_number("the token", argv[optind + 1], INT64_MAX,
		    &token);
	if (status == 0 && token == 0)
		status = usage_error("the token: no lease has token 0");
	return status != 0 ? status : verify_token(&table, argv[optind], token);
}
