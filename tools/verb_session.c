/* SPDX-License-Identifier: MIT */
/*
 * `leasehold session`: named sessions, which live by their ttl and not in a
 * process.  `acquire` puts its leases into one.  `leasehold renew` is short for
 * `session renew`.
 *
 * `open` and `renew` print what a script needs next: the session's name and the
 * ttl in force.  The exit status for a session that has ended is 76, as for a
 * lost lease of `run`.
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
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold session open [OPTION...] [NAME]\n"
"       leasehold session renew|destroy [OPTION...] [NAME]\n"
"       leasehold session list [OPTION...] [PREFIX]\n"
"\n"
"A session holds leases without a process, until it is destroyed or\n"
"not renewed for its ttl; with --pid, until that process ends.\n"
"NAME defaults to $LEASEHOLD_SESSION; without both,\n"
"open chooses a new name.  open prints the name, renew the ttl in seconds,\n"
"list the sessions whose names begin with PREFIX.\n"
"Exit status 0; 1: there is no such session; 76: it has just ended.\n"
"\n"
"open:\n"
"      --ttl DUR     how long it lives after each renewal (default 15s)\n"
"      --pid PID     it lives as long as that process, and needs no renewal\n"
"                    (in a script: --pid $$)\n"
"      --lock-delay DUR  how long its keys stay locked after it expires\n"
"      --delete      remove its keys when it ends, not just release them\n"
"      --create-only fail if it exists\n"
"      --no-create   fail if it does not exist\n"
"all:\n"
"      --json        print JSON (open, list)\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root (list)\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

static const char renew_help[] =
"usage: leasehold renew [OPTION...] [SESSION]\n"
"\n"
"Renews a named session (else $LEASEHOLD_SESSION), and all leases in it; the\n"
"same as leasehold session renew.  Prints the ttl in force, in seconds.\n"
"Exit status 0; 1: there is no such session; 76: it has just ended, or leases\n"
"in it are lost.\n"
"\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

enum { OPT_TTL = 256, OPT_DELAY, OPT_DELETE, OPT_ONLY, OPT_NO_CREATE,
	OPT_PID };

static const struct option options[] = {
	{ "create-only", no_argument, NULL, OPT_ONLY },
	{ "delete", no_argument, NULL, OPT_DELETE },
	{ "lock-delay", required_argument, NULL, OPT_DELAY },
	{ "no-create", no_argument, NULL, OPT_NO_CREATE },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "ttl", required_argument, NULL, OPT_TTL },
	{ NULL, 0, NULL, 0 },
};

struct session_args {
	struct table_opts table;
	struct lh_session_opts opts;
	bool any;		/* an option of open was given */
	bool ttl;		/* this one was */
	const char *name;
	struct lh *lh;
};

static int
take_option(int c, char *value, void *arg)
{
	struct session_args *a = arg;

	a->any = true;
	switch (c) {
	case OPT_PID:
		return parse_pid("--pid", value, &a->opts.pid);
	case OPT_TTL:
		a->ttl = true;
		return parse_span("--ttl", value, &a->opts.ttl_ms);
	case OPT_DELAY:
		return parse_span("--lock-delay", value,
		    &a->opts.lock_delay_ms);
	case OPT_DELETE:
		a->opts.on_end = LH_ON_END_DELETE;
		return 0;
	case OPT_ONLY:
		a->opts.flags |= LH_CREATE_ONLY;
		return 0;
	default:
		a->opts.flags |= LH_NO_CREATE;
		return 0;
	}
}

static json_t *
session_json(struct session_args *a, const struct lh_session_info *i)
{
	json_t *j = json_object();

	if (j == NULL || show_set_bytes(j, "session", i->name) != 0 ||
	    show_set_u64(j, "id", i->id) != 0 ||
	    json_object_set_new(j, "ttl_ms", json_integer(i->ttl_ms)) != 0 ||
	    json_object_set_new(j, "lock_delay_ms",
	    json_integer(i->lock_delay_ms)) != 0 ||
	    (i->ttl_ms != 0 && show_set_u64(j, "expires_ms",
	    (uint64_t)lh_epoch_ms(a->lh, i->expires_ns)) != 0) ||
	    (i->ttl_ms == 0 && json_object_set_new(j, "bound",
	    json_true()) != 0) ||
	    (i->foreign != 0 && json_object_set_new(j, "foreign",
	    json_true()) != 0) ||
	    show_set_u64(j, "made_ms", (uint64_t)lh_epoch_ms(a->lh,
	    i->made_ns)) != 0 ||
	    json_object_set_new(j, "on_end", json_string(i->on_end ==
	    LH_ON_END_DELETE ? "delete" : "release")) != 0 ||
	    json_object_set_new(j, "leases", json_integer(i->leases)) != 0 ||
	    (i->lost > 0 && json_object_set_new(j, "lost",
	    json_integer(i->lost)) != 0) ||
	    json_object_set_new(j, "pid", json_integer(i->pid)) != 0 ||
	    json_object_set_new(j, "uid", json_integer(i->uid)) != 0) {
		json_decref(j);
		return NULL;
	}
	return j;
}

static int
report_error(const char *what, const char *name, int e)
{
	char clean[NAME_MAX_TEXT];
	int status = message_error(e, lh_error_detail(), "cannot %s session "
	    "'%s'", what, text_name(clean, name));

	return e == -ENOENT ? EX_NO : e == -ESTALE ? EX_LOST : status;
}

/* Says which of the options are not in force, because the session existed. */
static void
warn_of_options(const struct session_args *a, const struct lh_session_info *i)
{
	char clean[NAME_MAX_TEXT], span[SPAN_MAX];

	(void)text_name(clean, i->name);
	if (a->ttl && i->ttl_ms == 0)
		message("warning: session '%s' exists, and is bound to process "
		    "%" PRIu32 ": --ttl is ignored", clean, i->pid);
	else if (a->ttl && i->ttl_ms != a->opts.ttl_ms)
		message("warning: session '%s' exists: it keeps its ttl of %s; "
		    "to change that, destroy it first", clean, text_span(span,
		    i->ttl_ms * 1000000));
	if (a->opts.lock_delay_ms != 0 &&
	    i->lock_delay_ms != a->opts.lock_delay_ms)
		message("warning: session '%s' exists: it keeps its lock-delay "
		    "of %s; to change that, destroy it first", clean,
		    text_span(span, i->lock_delay_ms * 1000000));
	if (a->opts.on_end != i->on_end && a->opts.on_end != 0)
		message("warning: session '%s' exists: --delete is ignored",
		    clean);
}

static int
open_session(struct session_args *a)
{
	struct lh_session_info i;
	struct lh_session *s;
	int e = lh_session_open(a->lh, a->name, &a->opts, &s);

	if (e == 0) {
		e = lh_session_info(s, &i);
		lh_session_close(s);
	}
	if (e != 0)
		return report_error("open", a->name == NULL ? "" : a->name, e);
	warn_of_options(a, &i);
	if (a->table.json)
		return show_json(session_json(a, &i), EX_YES);
	puts(i.name);
	return output_flush(EX_YES);
}

struct lost {
	const struct session_args *a;
	uint64_t id;
};

/* Names each lease of the session that ended with this host's right. */
static int
report_lost_lease(const struct lh_key_info *info, void *arg)
{
	char clean[NAME_MAX_TEXT], name[NAME_MAX_TEXT];
	const struct lost *l = arg;

	for (uint32_t i = 0; i < info->n_holders; i++) {
		const struct lh_party *p = &info->holders[i];

		if (p->id[0] == l->id &&
		    (p->flags & LH_PARTY_RIGHT_ENDED) != 0)
			message("the lease on '%s' in session '%s' is lost: "
			    "this host's right to the key in the cluster has "
			    "ended, and another host may have it; stop using "
			    "what it guards, and acquire again",
			    text_name(clean, info->key),
			    text_name(name, l->a->name));
	}
	return 0;
}

/* Returns EX_LOST if leases in the session are lost, although it lives. */
static int
report_lost(const struct session_args *a, const struct lh_session *s)
{
	struct lh_session_info info;
	struct lost l = { .a = a };

	if (lh_session_info(s, &info) != 0 || info.lost == 0)
		return EX_YES;
	l.id = info.id;
	(void)lh_list(a->lh, NULL, report_lost_lease, &l);
	return EX_LOST;
}

static int
renew_session(struct session_args *a, struct lh_session *s)
{
	int64_t ms = lh_session_renew(s);

	if (ms < 0)
		return report_error("renew", a->name, (int)ms);
	printf("%g\n", (double)ms / 1000);
	return output_flush(report_lost(a, s));
}

static int
renew_or_destroy(struct session_args *a, bool destroy)
{
	struct lh_session *s;
	int e, status;

	a->opts.flags = LH_NO_CREATE;
	e = lh_session_open(a->lh, a->name, &a->opts, &s);
	if (e != 0)
		return report_error(destroy ? "destroy" : "renew", a->name, e);
	if (!destroy) {
		status = renew_session(a, s);
	} else {
		e = lh_session_destroy(s);
		status = e == 0 ? EX_YES : report_error("destroy", a->name, e);
	}
	lh_session_close(s);
	return status;
}

struct list {
	struct session_args *a;
	json_t *all;
	bool bad;
};

static int
print_session(const struct lh_session_info *i, void *arg)
{
	struct list *l = arg;
	char name[NAME_MAX_TEXT], ttl[SPAN_MAX], left[SPAN_MAX];
	json_t *j;

	if (l->all != NULL) {
		j = session_json(l->a, i);
		l->bad |= j == NULL || json_array_append_new(l->all, j) != 0;
		return 0;
	}
	if (i->ttl_ms == 0)
		printf("%-31s  %7s  %7s  %6" PRIu32 "  %" PRIu32 "%s\n",
		    text_name(name, i->name), "bound", "-", i->leases, i->pid,
		    i->foreign != 0 ? " of another pid namespace" : "");
	else
		printf("%-31s  %7s  %7s  %6" PRIu32 "  %" PRIu32 "\n",
		    text_name(name, i->name), text_span(ttl,
		    i->ttl_ms * 1000000), text_span(left, i->expires_ns -
		    lh_clock_ns(l->a->lh)), i->leases, i->pid);
	return 0;
}

static int
list_sessions(struct session_args *a)
{
	struct list l = { a, a->table.json ? json_array() : NULL, false };
	int e;

	if (!a->table.json)
		printf("%-31s  %7s  %7s  %6s  %s\n", "SESSION", "TTL", "LEFT",
		    "LEASES", "PID");
	e = lh_session_list(a->lh, a->name, print_session, &l);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot list "
		    "sessions");
	return a->table.json ? show_json(l.bad ? NULL : l.all, EX_YES) :
	    output_flush(EX_YES);
}

static int
open_and_do(struct session_args *a, const char *what)
{
	bool make = strcmp(what, "open") == 0;
	int e, status;

	/* an operator can list and end them where no session is left */
	e = make ? open_table(&a->lh, &a->table, 0, NULL) :
	    open_table_to_look(&a->lh, &a->table);
	if (e == -ENOENT && !make)
		return open_table_missing(&a->table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	if (make)
		status = open_session(a);
	else if (strcmp(what, "list") == 0)
		status = list_sessions(a);
	else
		status = renew_or_destroy(a, strcmp(what, "destroy") == 0);
	(void)lh_close(a->lh);
	return status;
}

int
verb_session(int argc, char **argv)
{
	struct session_args a = { .opts = LH_SESSION_OPTS_INIT };
	const struct verb_opts own = { options, NULL, take_option, &a, true };
	bool make, all;
	const char *what;
	int status;

	if (!parse_verb_opts("session", help, argc, argv, &a.table, &own,
	    &status))
		return status;
	what = optind < argc ? argv[optind++] : "";
	make = strcmp(what, "open") == 0;
	all = strcmp(what, "list") == 0;
	if (!make && !all && strcmp(what, "renew") != 0 &&
	    strcmp(what, "destroy") != 0)
		return usage_error("session what? leasehold session "
		    "open|renew|destroy|list");
	if (!all && parse_refuse_uid(&a.table, "session") != 0)
		return EX_BAD_USAGE;
	if (a.opts.pid != 0 && (a.ttl || (a.opts.flags & LH_NO_CREATE) != 0))
		return usage_error("session open --pid: the session is made, "
		    "and has no ttl: without --ttl and --no-create");
	if (a.any && !make)
		return usage_error("session %s takes no option of open", what);
	if (a.table.json && !make && !all)
		return usage_error("session %s prints no JSON", what);
	if (optind + 1 < argc)
		return usage_error("session %s: '%s' is one too many", what,
		    argv[argc - 1]);
	a.name = optind < argc ? argv[optind] :
	    all ? NULL : secure_getenv("LEASEHOLD_SESSION");
	if (a.name != NULL && *a.name == '\0')
		a.name = NULL;
	if (a.name == NULL && !make && !all)
		return usage_error("session %s: which one? give its name, or "
		    "set LEASEHOLD_SESSION", what);
	return open_and_do(&a, what);
}

int
verb_renew(int argc, char **argv)
{
	static char session[] = "session", renew[] = "renew";
	struct table_opts table = { 0 };
	char *args[8] = { session };
	int status, n = 1;

	if (!parse_table_opts("renew", renew_help, argc, argv, &table,
	    &status))
		return status;
	if (table.json)
		return usage_error("renew prints no JSON");
	if (optind + 1 < argc)
		return usage_error("renew: '%s' is one too many",
		    argv[argc - 1]);
	if (table.name != NULL) {
		args[n++] = "--table";
		args[n++] = (char *)table.name;
	}
	if (table.system)
		args[n++] = "--system";
	args[n++] = renew;
	if (optind < argc)
		args[n++] = argv[optind];
	optind = 0;
	return verb_session(n, args);
}
