/* SPDX-License-Identifier: MIT */
/*
 * `leasehold break` ends another process's lease.  `leasehold ask` requests its
 * release.
 *
 * Both are for operators.  `break` does not ask the holder.  It prints the
 * holder on standard output, so that the lease that was ended is on record.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "show_state.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold break [OPTION...] KEY\n"
"\n"
"Ends the lease on KEY, all of them if it is shared, and prints who held it.\n"
"The holder is not asked and may still work: what KEY guards should check\n"
"fencing tokens.  A command under 'leasehold run' is ended with its lease.\n"
"Exit status 0: ended; 1: nobody held it.\n"
"\n"
"      --json        print the key as it was, as status does\n"
"      --lease ID    only the lease with that id, as status shows it\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static const char ask_help[] =
"usage: leasehold ask [OPTION...] KEY\n"
"\n"
"Asks the holder of KEY to release it, and prints who it is.  A program with\n"
"a live handle gets an event at once; so does 'leasehold run' (see --on-ask).\n"
"The holder decides what to do.\n"
"Exit status 0: asked; 1: nobody holds it.\n"
"\n"
"      --json        print the key as it is, as status does\n"
"      --lease ID    only the lease with that id, as status shows it\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct break_args {
	struct lh *lh;
	const char *key;
	const char *table;
	const uint64_t *id;	/* NULL: all leases; else the one */
	uint64_t wanted[2];
	uint64_t token;		/* its token when it was found */
	bool json;
	bool ask;		/* only request the release */
	enum key_state state;	/* what lh_status() found */
	bool ended;		/* the table has a lease that has ended */
	char where[300];	/* which hosts have it, in words */
};

/* Prints the holders that are about to lose the lease. */
static int
print_holders(const struct lh_key_info *info, void *arg)
{
	char name[NAME_MAX_TEXT], who[PARTY_MAX], held[SPAN_MAX];
	struct break_args *b = arg;

	b->state = show_state(info);
	(void)snprintf(b->where, sizeof(b->where), "%s",
	    show_state_where(info));
	b->ended = show_state_has_ended(info);
	if (b->state != KEY_HELD && !b->json && !(b->ended && !b->ask))
		return 0;
	for (uint32_t i = 0; i < info->n_holders; i++) {
		const struct lh_party *p = &info->holders[i];

		if (b->id != NULL && (p->id[0] != b->id[0] ||
		    p->id[1] != b->id[1]))
			continue;
		if (b->id != NULL)
			b->token = p->token;
		if (b->json)
			continue;
		printf("%s: %s, %s, token %" PRIu64 ", held for %s%s\n",
		    text_name(name, b->key), show_party(who, p),
		    show_mode(p->mode), p->token,
		    text_span(held, lh_clock_ns(b->lh) - p->since_ns),
		    show_state_holds(p) ? "" : ", lost with this host's right: "
		    "it leaves the table");
	}
	return b->json ? show_json(show_key(b->lh, b->table, b->key, info),
	    0) : 0;
}

static int
break_or_ask(struct break_args *b)
{
	char name[NAME_MAX_TEXT];
	int e;

	(void)text_name(name, b->key);
	e = lh_status(b->lh, b->key, NULL, print_holders, b);
	/* a lease that has ended already only leaves the table */
	if (e == 0 && (b->state == KEY_HELD || (b->ended && !b->ask)))
		e = b->ask ? lh_ask_release(b->lh, b->key, b->id, b->token) :
		    lh_break(b->lh, b->key, b->id, b->token);
	if (b->state == KEY_ELSEWHERE || b->state == KEY_UNKNOWN) {
		message(b->state == KEY_ELSEWHERE ? "'%s' is held on another "
		    "host: %s; %s there" : "no process of this host holds "
		    "'%s': %s; %s where it is held", name, b->where, b->ask ?
		    "ask for it" : "end its lease");
		return output_flush(b->state == KEY_ELSEWHERE ? EX_BUSY :
		    EX_AWAY);
	}
	if (e == -ENOENT || e == -ESTALE || e == 0) {
		message("%s '%s'", e == -ESTALE ? "that lease does not hold" :
		    "nobody holds", name);
		return output_flush(EX_NO);
	}
	if (e < 0)
		return message_error(e, lh_error_detail(), "cannot %s '%s'",
		    b->ask ? "ask for" : "end the lease on", name);
	return output_flush(EX_YES);
}

static int
open_and_break(const struct table_opts *table, struct break_args *b)
{
	int e = open_table_to_look(&b->lh, table), status;

	if (e == -ENOENT)
		return open_table_missing(table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	b->table = lh_table_name(b->lh);
	b->json = table->json;
	status = break_or_ask(b);
	(void)lh_close(b->lh);
	return status;
}

static int
take_option(int c, char *value, void *arg)
{
	struct break_args *b = arg;

	(void)c;			/* --lease is the only option */
	b->id = b->wanted;
	return parse_lease_id("--lease", value, b->wanted);
}

static int
verb_break_or_ask(int argc, char **argv, bool ask)
{
	static const struct option options[] = {
		{ "lease", required_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	struct table_opts table = { 0 };
	struct break_args b = { .id = NULL, .ask = ask };
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = &b };
	const char *name = ask ? "ask" : "break";
	int status;

	if (!parse_verb_opts(name, ask ? ask_help : help, argc, argv, &table,
	    &own, &status))
		return status;
	if (optind + 1 != argc)
		return usage_error("%s takes one key: leasehold %s KEY", name,
		    name);
	b.key = argv[optind];
	return parse_key(b.key) != 0 ? EX_BAD_USAGE : open_and_break(&table,
	    &b);
}

int
verb_break(int argc, char **argv)
{
	return verb_break_or_ask(argc, argv, false);
}

int
verb_ask(int argc, char **argv)
{
	return verb_break_or_ask(argc, argv, true);
}
