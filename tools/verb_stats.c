/* SPDX-License-Identifier: MIT */
/*
 * `leasehold stats`: prints a table's sizes, how full it is, and counters of
 * its events.
 *
 * If the table does not exist, nothing is created and the exit status is 1, as
 * for `list`. The verb's own session is not counted.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <leasehold.h>
#include "advice.h"
#include "daemon/exit_status.h"
#include "daemon/metrics_text.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "show_counters.h"
#include "verbs.h"

#define REAPER_AWAY_MS 2000

static const char help[] =
"usage: leasehold stats [OPTION...]\n"
"\n"
"Prints how large a table is, how much of it is in use, and counters of what\n"
"has happened in it.\n"
"\n"
"      --sessions    also print each session's counters\n"
"      --prometheus  print in the text format of Prometheus\n"
"      --shim        print the counters of leasehold-shimd in that format\n"
"      --json        print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct options {
	struct table_opts table;
	bool sessions;
	bool prometheus;
	bool shim;
};

struct sessions {
	struct lh *lh;
	json_t *list;		/* NULL: print words */
	bool no_memory;
};

static void
print_count(const char *label, uint32_t n, uint32_t max, const char *what)
{
	printf("%-10s%" PRIu32 " of at most %" PRIu32 "%s\n", label, n, max,
	    what);
}

/* Prints how many keys are held and waited for, and for how long. */
static void
print_load(const struct lh_stats *s)
{
	char span[SPAN_MAX];

	printf("%-10s%" PRIu32 " of them held, %" PRIu32 " waiting%s%s\n", "",
	    s->held, s->waiters, s->waiters == 0 ? "" : ", the longest for ",
	    s->waiters == 0 ? "" : text_span(span, s->longest_wait_ns));
}

/* Formats "2.2 MB", in units of 10^6, rounded down to a tenth. */
static void
print_size(const char *before, uint64_t bytes, const char *after)
{
	uint64_t tenths = bytes / 100000;

	printf("%s%" PRIu64 ".%" PRIu64 " MB%s", before, tenths / 10,
	    tenths % 10, after);
}

static int
add_session(const struct lh_session_stats *s, void *arg)
{
	struct sessions *all = arg;

	if (s->id == lh_session_id(all->lh))
		return 0;
	if (all->list == NULL)
		show_counters_session(all->lh, s);
	else if (json_array_append_new(all->list,
	    show_counters_session_json(all->lh, s)) != 0)
		all->no_memory = true;
	return 0;
}

static void
print_reaper(const struct lh_stats *s)
{
	char span[SPAN_MAX];

	printf("%-10s", "reaper");
	if (s->reaper_pid == 0)
		printf("none\n");
	else if (s->reaper_ms < REAPER_AWAY_MS)
		printf("%" PRIu32 ", which last ran %" PRIu32 " ms ago\n",
		    s->reaper_pid, s->reaper_ms);
	else
		printf("%" PRIu32 ", which has not run for %s\n",
		    s->reaper_pid, text_span(span,
		    (int64_t)s->reaper_ms * 1000000));
}

static int
print_text(struct lh *lh, const struct lh_stats *s,
    const struct table_opts *table, bool sessions)
{
	struct sessions all = { .lh = lh };

	printf("%-10s%s\n", "table", lh_table_name(lh));
	print_count("keys", s->keys, s->max_keys, "");
	print_load(s);
	print_count("sessions", s->sessions, s->max_sessions, "");
	printf("%-10sthe kernel tells waiters of the death of %" PRIu32
	    " of them\n", "", s->deaths_told);
	print_count("leases", s->leases_reserved, s->max_leases,
	    " reserved by sessions, 64 at a time");
	printf("%-10s", "memory");
	if (s->bytes_used > 0)
		print_size("", s->bytes_used, " of ");
	print_size("at most ", s->bytes, "\n");
	printf("%-10s%s\n", "order", show_order(s->order));
	printf("%-10s%s\n", "clock", show_clock(s->clock));
	printf("%-10sabove %" PRIu64 ", so far below %" PRIu64 "%s\n", "tokens",
	    s->token_base, s->token_ceiling, s->tokens_global ?
	    ", rising over all keys" : "");
	if (s->fence_dir[0] != '\0')
		printf("%-10s%s; tokens below %" PRIu64 " are claimed there\n",
		    "fence", s->fence_dir, s->token_durable);
	else
		printf("%-10snone: no scope local\n", "fence");
	if (show_fence_lost(s) != NULL)
		printf("%-10s%s\n", "", show_fence_lost(s));
	printf("%-10s%s%s%s\n", "damaged", s->damaged ? "yes: " : "",
	    s->damaged ? ADVICE(table, "fsck") : "no damage has been seen",
	    s->damaged ? " tells where" : "");
	if (show_life(s, table) != NULL)
		printf("%-10s%s\n", "life", show_life(s, table));
	print_reaper(s);
	printf("\n");
	show_counters_text(s);
	if (sessions) {
		printf("\n");
		(void)lh_stats_sessions(lh, add_session, &all);
	}
	return output_flush(EX_YES);
}

static int
print_json(struct lh *lh, const struct lh_stats *s, bool sessions)
{
	struct sessions all = { .lh = lh };
	json_t *o;

	o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, "
	    "s:b, s:I, s:s, s:I, s:I, s:I}",
	    "table", lh_table_name(lh),
	    "keys", (json_int_t)s->keys, "max_keys", (json_int_t)s->max_keys,
	    "sessions", (json_int_t)s->sessions,
	    "max_sessions", (json_int_t)s->max_sessions,
	    "deaths_told", (json_int_t)s->deaths_told,
	    "leases_reserved", (json_int_t)s->leases_reserved,
	    "max_leases", (json_int_t)s->max_leases,
	    "order", show_order(s->order),
	    "clock", show_clock(s->clock), "damaged", (int)s->damaged,
	    "reaper_pid", (json_int_t)s->reaper_pid,
	    "tokens", show_tokens(s->tokens_global), "life_left_s",
	    (json_int_t)(s->life_left_ns / 1000000000),
	    "held", (json_int_t)s->held, "waiters", (json_int_t)s->waiters);
	if (o != NULL && s->reaper_pid != 0 &&
	    json_object_set_new(o, "reaper_ms",
	    json_integer(s->reaper_ms)) != 0) {
		json_decref(o);
		o = NULL;
	}
	if (o != NULL && (show_set_u64(o, "longest_wait_ms",
	    (uint64_t)s->longest_wait_ns / 1000000) != 0 ||
	    show_set_u64(o, "bytes_used", s->bytes_used) != 0 ||
	    show_set_u64(o, "bytes", s->bytes) != 0 ||
	    show_set_u64(o, "token_base", s->token_base) != 0 ||
	    show_set_u64(o, "token_ceiling", s->token_ceiling) != 0 ||
	    show_set_u64(o, "token_latest", s->token_latest) != 0 ||
	    show_set_u64(o, "token_durable", s->token_durable) != 0 ||
	    show_set_bytes(o, "fence_dir", s->fence_dir) != 0 ||
	    json_object_set_new(o, "fence",
	    json_string(show_fence_state(s))) != 0 ||
	    json_object_set_new(o, "counters", show_counters_json(&s->counters,
	    s->hold_times != 0)) != 0)) {
		json_decref(o);
		o = NULL;
	}
	if (o != NULL && sessions) {
		all.list = json_array();
		all.no_memory = json_object_set_new(o, "by_session",
		    all.list) != 0;
		if (!all.no_memory)
			(void)lh_stats_sessions(lh, add_session, &all);
		if (all.no_memory) {
			json_decref(o);
			o = NULL;
		}
	}
	return show_json(o, EX_YES);
}

static int
print_stats(struct lh *lh, const struct lh_stats *s, const struct options *o)
{
	struct metrics_table t = { lh_table_name(lh), *s };

	if (o->prometheus) {
		metrics_print(stdout, &t, 1);
		return output_flush(EX_YES);
	}
	return o->table.json ? print_json(lh, s, o->sessions) :
	    print_text(lh, s, &o->table, o->sessions);
}

static int
take_option(int c, char *value, void *arg)
{
	struct options *o = arg;

	(void)value;
	*(c == 'p' ? &o->prometheus : c == 'S' ? &o->shim : &o->sessions) =
	    true;
	return 0;
}

/* Returns false if everything is done or an option was wrong; *status is then
 * the exit status. */
static bool
parse_arguments(struct options *o, int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "prometheus", no_argument, NULL, 'p' },
		{ "sessions", no_argument, NULL, 's' },
		{ "shim", no_argument, NULL, 'S' },
		{ NULL, 0, NULL, 0 },
	};
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = o,
	    .reads = true };

	if (!parse_verb_opts("stats", help, argc, argv, &o->table, &own,
	    status))
		return false;
	if (optind < argc)
		*status = usage_error("stats takes no argument: '%s'",
		    argv[optind]);
	else if (o->prometheus && (o->table.json || o->sessions))
		*status = usage_error("--prometheus goes with neither --json "
		    "nor --sessions");
	else if (o->shim && (o->prometheus || o->table.json || o->sessions))
		*status = usage_error("--shim goes with no other of these");
	return *status == 0;
}

static void
print_shim_text(const char *text, void *arg)
{
	(void)fputs(text, stdout);
}

static int
print_shim(struct lh *lh)
{
	int e = lh_shim_stats(lh, print_shim_text, NULL);

	return e == 0 ? output_flush(EX_YES) : message_error(e,
	    lh_error_detail(), "cannot ask the shim");
}

int
verb_stats(int argc, char **argv)
{
	struct options o = { .sessions = false };
	struct lh_stats s = { .size = sizeof(s) };
	struct lh *lh;
	int e, status;

	if (!parse_arguments(&o, argc, argv, &status))
		return status;
	e = open_table_to_look(&lh, &o.table);
	if (e == -ENOENT)
		return open_table_missing(&o.table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	e = o.shim ? 0 : lh_stats(lh, &s);
	if (o.shim) {
		status = print_shim(lh);
	} else if (e == 0) {
		/* without our own, of which the kernel tells as well; we
		 * have none of another user's table, or of a full one */
		if (lh_session_id(lh) != 0) {
			s.sessions -= s.sessions > 0;
			s.deaths_told -= s.deaths_told > 0;
		}
		status = print_stats(lh, &s, &o);
	} else {
		status = message_error(e, lh_error_detail(), "cannot look at "
		    "the table");
	}
	(void)lh_close(lh);
	return status;
}
