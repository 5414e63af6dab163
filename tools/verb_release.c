/* SPDX-License-Identifier: MIT */
/* `leasehold release`: releases what `leasehold acquire` acquired. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

enum { OPT_SESSION = 256, OPT_REQUEST };

static const char help[] =
"usage: leasehold release [OPTION...] KEY ID TOKEN\n"
"       leasehold release --request ID [OPTION...]\n"
"\n"
"Releases the lease on KEY that has that id and token (as acquire printed "
"them).\nExit status 0; 76: it had been lost, or released; nobody else's was "
"touched.\n"
"\n"
"      --request ID  the lease that acquire --request ID got in the session;\n"
"                    repeated within a minute, the exit status is 0 as well\n"
"      --session S   the session; default $LEASEHOLD_SESSION\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct implicit_search {
	uint64_t id;
	char name[LH_SESSION_NAME_MAX + 1];
};

static int
find_implicit(const struct lh_session_info *i, void *arg)
{
	struct implicit_search *s = arg;

	if (i->id != s->id || i->leases > 0)
		return 0;
	memcpy(s->name, i->name, sizeof(s->name));
	return 1;
}

/* Ends a session that was opened for one lease. */
static void
end_implicit(struct lh *lh, uint64_t id)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct implicit_search found = { .id = id };
	struct lh_session *s;

	o.flags = LH_NO_CREATE;
	if (lh_session_list(lh, IMPLICIT_SESSION, find_implicit, &found) != 1 ||
	    lh_session_open(lh, found.name, &o, &s) != 0)
		return;
	(void)lh_session_destroy(s);
	lh_session_close(s);
}

/* Opens the table of a lease that is to be released.  Returns EX_YES, or the
 * exit status; without a table the lease is lost. */
static int
open_lease_table(struct lh **lh, const struct table_opts *table)
{
	int e = open_table(lh, table, LH_NO_CREATE, NULL);

	if (e == -ENOENT) {
		(void)open_table_missing(table);
		return EX_LOST;
	}
	return e == 0 ? EX_YES : message_error(e, lh_error_detail(), "cannot "
	    "open the table");
}

static int
release_lease(const struct table_opts *table, const char *key,
    const uint64_t id[2], uint64_t token)
{
	char name[NAME_MAX_TEXT];
	struct lh_lease lease;
	struct lh *lh;
	int e, status = open_lease_table(&lh, table);

	if (status != EX_YES)
		return status;
	e = lh_lease_recall(lh, key, id, token, &lease);
	if (e == 0)
		e = lh_release(lh, &lease);
	if (e == 0)
		end_implicit(lh, id[0]);
	else
		status = message_error(e, lh_error_detail(), "'%s' is not "
		    "released", text_name(name, key));
	if (e == -ESTALE || e == -ENOENT)
		status = EX_LOST;
	(void)lh_close(lh);
	return status;
}

/* Releases the lease that a request id was granted. */
struct by_request {
	const char *session;
	uint64_t id[2];
};

static int
take_release_option(int c, char *value, void *arg)
{
	struct by_request *r = arg;

	if (c == OPT_REQUEST)
		return parse_request_id(value, r->id);
	r->session = value;
	return 0;
}

static int
release_request(const struct table_opts *table, const struct by_request *r)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	struct lh *lh;
	int e, status = open_lease_table(&lh, table);

	if (status != EX_YES)
		return status;
	o.flags = LH_NO_CREATE;
	e = lh_session_open(lh, r->session, &o, &s);
	if (e == 0) {
		e = lh_release_request(lh, s, r->id);
		lh_session_close(s);
	}
	if (e != 0)
		status = message_error(e, lh_error_detail(), "not released");
	(void)lh_close(lh);
	return e == -ESTALE || e == -ENOENT ? EX_LOST : status;
}

int
verb_release(int argc, char **argv)
{
	static const struct option release_options[] = {
		{ "request", required_argument, NULL, OPT_REQUEST },
		{ "session", required_argument, NULL, OPT_SESSION },
		{ NULL, 0, NULL, 0 },
	};
	struct by_request r = { .session = secure_getenv("LEASEHOLD_SESSION") };
	const struct verb_opts own = { .options = release_options,
	    .take = take_release_option, .arg = &r };
	struct table_opts table = { 0 };
	uint64_t id[2], token;
	int status;

	if (!parse_verb_opts("release", help, argc, argv, &table,
	    &own, &status))
		return status;
	if (table.json)
		return usage_error("release prints nothing: no --json");
	if ((r.id[0] | r.id[1]) != 0 && optind == argc && r.session != NULL)
		return release_request(&table, &r);
	if ((r.id[0] | r.id[1]) != 0)
		return usage_error("release --request ID takes no key, and a "
		    "session: leasehold release --request ID --session S");
	if (optind + 3 != argc)
		return usage_error("release takes a key, an id and a token: "
		    "leasehold release KEY ID TOKEN");
	if (parse_key(argv[optind]) != 0 ||
	    parse_lease_id("the id", argv[optind + 1], id) != 0 ||
	    parse_number("the token", argv[optind + 2], INT64_MAX, &token) != 0)
		return EX_BAD_USAGE;
	return release_lease(&table, argv[optind], id, token);
}
