/* SPDX-License-Identifier: MIT */
/*
 * `leasehold log`: prints recent events from the flight recorder of a table, or
 * of a copy of one.
 *
 * With --follow the recorder is read five times a second, from a little before
 * the last event printed.  The event's number in its session record shows
 * whether it was printed already.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "log_at.h"
#include "log_query.h"
#include "message.h"
#include "moment.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "show_event.h"
#include "verbs.h"

#define RECORDS_MAX 4096
#define LATE_NS (LOG_LATE_MS * INT64_C(1000000))

static const char help[] =
"usage: leasehold log [OPTION...] [KEY]\n"
"\n"
"Prints recent events: waits and how they ended, leases that were lost,\n"
"keys and sessions that came and went, every lease of this command; with\n"
"--grants on those of programs that use the library, too.\n"
"\n"
"      --since DUR      only events that are not older than that\n"
"      --at TIME        who held KEY then?  (now, -5m, HH:MM[:SS],\n"
"                       YYYY-MM-DD, YYYY-MM-DD HH:MM[:SS], the same with a T\n"
"                       and a zone, or @SECONDS since 1970)\n"
"      --follow         print new events until interrupted\n"
"      --grants on|off  record every lease of every program, too (slower)\n"
"      --file FILE      read FILE, a copy of a table\n"
"      --json           print JSON; with --follow an object a line\n"
"      --table NAME     use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N          look at the tables of user N, as root\n"
"      --system         use the machine's table of that name, not your own\n"
"      --help           print this\n";

struct log {
	const struct log_opts *o;
	json_t *list;		/* JSON, not following */
	bool no_memory;
	int64_t from_ms;	/* since 1970: print none before it */
	int64_t last_ns;	/* time of the latest event printed */
	uint64_t *told;		/* with --follow: 1 + number of the last
				 * event printed, by record */
};

static int
print_event(const struct lh_log_entry *e, void *arg)
{
	struct log *l = arg;
	json_t *o;

	if (e->epoch_ms < l->from_ms)
		return 0;
	if (l->told != NULL && e->record < RECORDS_MAX) {
		if (e->number < l->told[e->record])
			return 0;
		l->told[e->record] = e->number + 1;
	}
	if (e->time_ns > l->last_ns)
		l->last_ns = e->time_ns;
	if (!l->o->table.json) {
		show_event_print(e);
		return 0;
	}
	o = show_event_json(e);
	if (l->list != NULL) {
		l->no_memory |= json_array_append_new(l->list, o) != 0;
	} else if (o != NULL) {
		(void)json_dumpf(o, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(o);
	}
	return 0;
}

static volatile sig_atomic_t interrupted;

static void
note_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static int
follow_log(struct log *l, struct lh_log_opts *ask)
{
	const struct timespec a_while = { 0, 200000000 };
	const struct sigaction sa = { .sa_handler = note_interrupt };
	int error = 0, status = EX_YES;

	l->told = calloc(RECORDS_MAX, sizeof(l->told[0]));
	if (l->told == NULL)
		return message_error(-ENOMEM, NULL, "cannot follow");
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	while (!interrupted && status == EX_YES) {
		error = lh_log(l->o->table.name, ask, print_event, l);
		if (error != 0 && error != -EAGAIN)
			break;
		status = output_flush(EX_YES);
		if (l->last_ns - LATE_NS > ask->since_ns)
			ask->since_ns = l->last_ns - LATE_NS;
		(void)nanosleep(&a_while, NULL);
	}
	free(l->told);
	return error != 0 && error != -EAGAIN ? log_query_error(l->o, error) :
	    status;
}

static int
print_log(const struct log_opts *o)
{
	struct lh_log_opts ask = log_query(o);
	struct log l = { .o = o, .from_ms = INT64_MIN,
	    .last_ns = INT64_MIN / 2 };
	int error;

	log_query_warn(o);
	if (o->since_ms >= 0)
		l.from_ms = moment_now_ms() - o->since_ms;
	if (o->follow)
		return follow_log(&l, &ask);
	if (o->table.json)
		l.list = json_array();
	error = lh_log(o->table.name, &ask, print_event, &l);
	if (error != 0) {
		json_decref(l.list);
		return log_query_error(o, error);
	}
	if (!o->table.json)
		return output_flush(EX_YES);
	if (l.no_memory) {
		json_decref(l.list);
		l.list = NULL;
	}
	return show_json(l.list, EX_YES);
}

static int
switch_grants(const struct log_opts *o)
{
	struct lh *lh;
	int e = open_table(&lh, &o->table, LH_NO_CREATE, NULL), was;

	if (e == -ENOENT)
		return open_table_missing(&o->table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	was = lh_log_grants(lh, o->grants);
	(void)lh_close(lh);
	if (o->table.json)
		return show_json(json_pack("{s:b, s:b}", "grants", o->grants,
		    "was", was), EX_YES);
	printf("grants and releases are %s%s\n", o->grants ?
	    "recorded from now on" : "not recorded any more",
	    was == o->grants ? ", as before" : "");
	return output_flush(EX_YES);
}

static int
parse_switch(const char *text, int *on)
{
	*on = strcmp(text, "on") == 0;
	return *on || strcmp(text, "off") == 0 ? 0 : usage_error("--grants: "
	    "'%s' is neither on nor off", text);
}

/* True if these options can be combined. */
static int
check_options(const struct log_opts *o)
{
	if (o->file != NULL && (o->table.name != NULL || o->table.system ||
	    o->follow || o->grants >= 0))
		return usage_error("log: with --file there is no --table, "
		    "--uid, --system, --follow and --grants");
	if (o->grants >= 0 && parse_refuse_uid(&o->table, "log --grants") != 0)
		return EX_BAD_USAGE;
	if (o->grants >= 0 && (o->key != NULL || o->follow || o->at != NULL ||
	    o->since_ms >= 0))
		return usage_error("log: --grants is only a switch: it goes "
		    "with nothing but --table, --system and --json");
	if (o->at != NULL && (o->follow || o->since_ms >= 0))
		return usage_error("log: --at is about one moment: it goes "
		    "neither with --since nor with --follow");
	if (o->at != NULL && o->key == NULL)
		return usage_error("log: --at wants a KEY");
	return 0;
}

static int
take_option(int c, char *value, void *arg)
{
	struct log_opts *o = arg;

	switch (c) {
	case 'a':
		o->at = value;
		return 0;
	case 'f':
		o->file = value;
		return 0;
	case 'F':
		o->follow = true;
		return 0;
	case 'g':
		return parse_switch(value, &o->grants);
	default:			/* 's' */
		return parse_span("--since", value, &o->since_ms);
	}
}

/* Returns false if everything is done or an option was wrong; *status is then
 * the exit status. */
static bool
parse_arguments(struct log_opts *o, int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "at", required_argument, NULL, 'a' },
		{ "file", required_argument, NULL, 'f' },
		{ "follow", no_argument, NULL, 'F' },
		{ "grants", required_argument, NULL, 'g' },
		{ "since", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = o,
	    .reads = true };

	if (!parse_verb_opts("log", help, argc, argv, &o->table, &own, status))
		return false;
	if (optind < argc)
		*status = parse_key(o->key = argv[optind]);
	if (*status == 0 && optind + 1 < argc)
		*status = usage_error("log takes one key: '%s' is one too many",
		    argv[optind + 1]);
	if (*status == 0)
		*status = check_options(o);
	return *status == 0;
}

int
verb_log(int argc, char **argv)
{
	struct log_opts o = { .since_ms = -1, .grants = -1 };
	int status;

	if (!parse_arguments(&o, argc, argv, &status))
		return status;
	if (o.grants >= 0)
		return switch_grants(&o);
	return o.at != NULL ? log_at(&o) : print_log(&o);
}
