/* SPDX-License-Identifier: MIT */
/*
 * `leasehold init`: creates a table with chosen sizes.
 *
 * It is optional, because the first process that opens a table creates it with
 * the default sizes.  It is for tables that need other sizes, another order or
 * a group.  An existing table is not changed.  That is an error, because its
 * sizes may differ from those requested; with --if-missing it is success, for
 * scripts that run at every start.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <leasehold.h>
#include "advice.h"
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold init [OPTION...]\n"
"\n"
"Creates a table.\n"
"\n"
"      --keys N        maximum number of keys (1,048,576)\n"
"      --sessions N    maximum number of attached processes (1,024)\n"
"      --leases N      maximum number of leases and waits (262,144)\n"
"      --order ORDER   who goes first: bounded, fifo or barge (bounded)\n"
"      --clock CLOCK   clock of deadlines: monotonic, or boottime, which goes\n"
"                      on while the machine is suspended (monotonic)\n"
"      --mode OCTAL    permissions of its object (600)\n"
"      --group GROUP   group of its object, by name or number\n"
"      --configured    for the owner, with the group and mode that\n"
"                      /etc/leasehold.conf sets (--system, root)\n"
"      --durable       with a fence file, for scope local: tokens outlive the\n"
"                      table; in /var/lib/leasehold (--system),\n"
"                      $XDG_STATE_HOME/leasehold or ~/.local/state/leasehold\n"
"      --fence-dir DIR the same, in that directory\n"
"      --no-clock-floor\n"
"                      do not begin tokens above the wall clock\n"
"      --hold-times    count how long leases are held; makes them slower\n"
"      --tokens SCOPE  key: tokens rise for each key by itself; or global:\n"
"                      over all its keys, which is slower (key)\n"
"      --cluster-prefix TEXT\n"
"                      keys that begin so are cluster keys (cluster:)\n"
"      --if-missing    do nothing if the table exists\n"
"      --json          print JSON\n"
"      --table NAME    its name, instead of $LEASEHOLD_TABLE or \"default\"\n"
"      --system        a table of the machine, not your own\n"
"      --help          print this\n";

struct init {
	struct table_opts table;
	struct lh_open_opts opts;
	bool if_missing;
};

enum {
	KEYS = 256, SESSIONS, LEASES, ORDER, CLOCK, MODE, GROUP, IF_MISSING,
	DURABLE, FENCE_DIR, NO_CLOCK_FLOOR, HOLD_TIMES, TOKENS, CLUSTER_PREFIX,
	CONFIGURED
};

static const struct option options[] = {
	{ "keys", required_argument, NULL, KEYS },
	{ "sessions", required_argument, NULL, SESSIONS },
	{ "leases", required_argument, NULL, LEASES },
	{ "order", required_argument, NULL, ORDER },
	{ "clock", required_argument, NULL, CLOCK },
	{ "mode", required_argument, NULL, MODE },
	{ "group", required_argument, NULL, GROUP },
	{ "configured", no_argument, NULL, CONFIGURED },
	{ "durable", no_argument, NULL, DURABLE },
	{ "fence-dir", required_argument, NULL, FENCE_DIR },
	{ "no-clock-floor", no_argument, NULL, NO_CLOCK_FLOOR },
	{ "hold-times", no_argument, NULL, HOLD_TIMES },
	{ "tokens", required_argument, NULL, TOKENS },
	{ "cluster-prefix", required_argument, NULL, CLUSTER_PREFIX },
	{ "if-missing", no_argument, NULL, IF_MISSING },
	{ NULL, 0, NULL, 0 },
};

static int
parse_count(const char *what, const char *text, uint32_t min, uint32_t max,
    uint32_t *n)
{
	uint64_t v = 0;
	int e = parse_number(what, text, max, &v);

	if (e == 0 && v < min)
		return usage_error("%s: %" PRIu64 " are too few: it can be %"
		    PRIu32 " to %" PRIu32, what, v, min, max);
	*n = (uint32_t)v;
	return e;
}

static int
parse_order(const char *text, uint32_t *order)
{
	for (uint32_t i = LH_ORDER_BOUNDED; i <= LH_ORDER_BARGE; i++) {
		if (strcmp(text, show_order(i)) == 0) {
			*order = i;
			return 0;
		}
	}
	return usage_error("--order: '%s' is none of bounded, fifo, barge",
	    text);
}

static int
parse_clock(const char *text, uint32_t *clock)
{
	for (uint32_t i = LH_CLOCK_MONOTONIC; i <= LH_CLOCK_BOOTTIME; i++) {
		if (strcmp(text, show_clock(i)) == 0) {
			*clock = i;
			return 0;
		}
	}
	return usage_error("--clock: '%s' is neither monotonic nor boottime",
	    text);
}

static int
parse_tokens(const char *text, uint32_t *flags)
{
	if (strcmp(text, "global") == 0)
		*flags |= LH_TOKENS_GLOBAL;
	else if (strcmp(text, "key") == 0)
		*flags &= ~LH_TOKENS_GLOBAL;
	else
		return usage_error("--tokens: '%s' is neither key nor global",
		    text);
	return 0;
}

static int
parse_mode(const char *text, uint32_t *mode)
{
	size_t len = strlen(text);
	unsigned m = 0;

	if (len == 0 || len > 4 || strspn(text, "01234567") != len ||
	    sscanf(text, "%o", &m) != 1 || (m & ~0777u) != 0)
		return usage_error("--mode: '%s' is not three octal digits, as "
		    "in 660", text);
	if ((m & 0600) != 0600)
		return usage_error("--mode: %03o would lock its owner out: it "
		    "begins with 6 or 7", m);
	*mode = m;
	return 0;
}

static int
parse_group(const char *text, uint32_t *group)
{
	const struct group *g = getgrnam(text);
	uint64_t id = 0;

	if (g != NULL) {
		*group = g->gr_gid;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return usage_error("--group: there is no group '%s'", text);
	if (parse_number("--group", text, UINT32_MAX - 1, &id) != 0)
		return EX_BAD_USAGE;
	*group = (uint32_t)id;
	return 0;
}

static int
take_option(int c, char *value, void *arg)
{
	struct init *in = arg;
	struct lh_open_opts *o = &in->opts;

	switch (c) {
	case KEYS:
		return parse_count("--keys", value, 1, (1u << 26) - 1,
		    &o->max_keys);
	case SESSIONS:
		return parse_count("--sessions", value, 2, 4096,
		    &o->max_sessions);
	case LEASES:
		return parse_count("--leases", value, 128, 4193984,
		    &o->max_leases);
	case ORDER:
		return parse_order(value, &o->order);
	case CLOCK:
		return parse_clock(value, &o->clock);
	case MODE:
		return parse_mode(value, &o->mode);
	case GROUP:
		return parse_group(value, &o->group);
	case HOLD_TIMES:
		o->flags |= LH_HOLD_TIMES;
		return 0;
	case TOKENS:
		return parse_tokens(value, &o->flags);
	case CLUSTER_PREFIX:
		o->cluster_prefix = value;
		return 0;
	case CONFIGURED:
		o->flags |= LH_CONFIGURED;
		return 0;
	case DURABLE:
		o->flags |= LH_DURABLE;
		return 0;
	case FENCE_DIR:
		o->fence_dir = value;
		return 0;
	case NO_CLOCK_FLOOR:
		o->flags |= LH_NO_CLOCK_FLOOR;
		return 0;
	default:			/* IF_MISSING */
		in->if_missing = true;
		return 0;
	}
}

/* Returns false if everything is done or an option was wrong; *status is then
 * the exit status. */
static bool
parse_arguments(struct init *in, int argc, char **argv, int *status)
{
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = in };

	if (!parse_verb_opts("init", help, argc, argv, &in->table, &own,
	    status))
		return false;
	if (optind < argc)
		*status = usage_error("init takes no argument ('%s'): the "
		    "table's name goes after --table", argv[optind]);
	else if (*status == 0 && (in->opts.flags & LH_CONFIGURED) &&
	    !in->table.system)
		*status = usage_error("--configured: say --system as well, "
		    "since only the machine's tables are configured");
	return *status == 0;
}

static int
print_result(const struct init *in, struct lh *lh, bool made)
{
	struct lh_stats s = { .size = sizeof(s) };
	int e = lh_stats(lh, &s);

	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot look at the "
		    "table");
	if (in->table.json)
		return show_json(json_pack("{s:s, s:b, s:I, s:I, s:I, s:s,"
		    " s:s, s:s, s:s}", "table", lh_table_name(lh),
		    "created", (int)made,
		    "max_keys", (json_int_t)s.max_keys,
		    "max_sessions", (json_int_t)s.max_sessions,
		    "max_leases", (json_int_t)s.max_leases,
		    "order", show_order(s.order),
		    "clock", show_clock(s.clock),
		    "fence_dir", s.fence_dir,
		    "tokens", show_tokens(s.tokens_global)), EX_YES);
	printf("%s table '%s': up to %" PRIu32 " keys, %" PRIu32 " sessions, %"
	    PRIu32 " leases, order %s, clock %s%s%s%s\n",
	    made ? "made" : "there is a",
	    lh_table_name(lh), s.max_keys, s.max_sessions, s.max_leases,
	    show_order(s.order), show_clock(s.clock),
	    s.fence_dir[0] != '\0' ? ", fence file in " : "", s.fence_dir,
	    s.tokens_global ? ", tokens global" : "");
	return output_flush(EX_YES);
}

int
verb_init(int argc, char **argv)
{
	struct init in = { .opts = LH_OPEN_OPTS_INIT };
	bool made = true;
	struct lh *lh;
	int e, status;

	if (!parse_arguments(&in, argc, argv, &status))
		return status;
	in.opts.flags |= LH_CREATE_ONLY | (in.table.system ? LH_SYSTEM : 0);
	e = lh_open(&lh, in.table.name, &in.opts);
	if (e == -EEXIST && in.if_missing) {
		made = false;
		in.opts.flags &= ~LH_CREATE_ONLY;
		e = lh_open(&lh, in.table.name, &in.opts);
	}
	if (e == -EEXIST)
		return message_error(e, lh_error_detail(), "table '%s' exists "
		    "and stays as it is: choose another name, remove it "
		    "(%s), or say --if-missing", open_table_name(&in.table),
		    ADVICE(&in.table, "rm"));
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot make table "
		    "'%s'", open_table_name(&in.table));
	status = print_result(&in, lh, made);
	(void)lh_close(lh);
	return status;
}
