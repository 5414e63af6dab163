/* SPDX-License-Identifier: MIT */
/*
 * `leasehold acquire`: leases for shell scripts.  They are in a named session,
 * because the process that acquires them ends at once.
 *
 *	s=$(leasehold session open --ttl 60s)
 *	read -r id token session < <(leasehold acquire --session "$s" disk)
 *	...				leasehold renew "$s", every 30 s
 *	leasehold release disk "$id" "$token"
 *
 * In a script, with a lease that lasts as long as the script:
 *
 *	leasehold acquire --for-pid $$ disk
 *
 * Without a session `acquire` opens one for this lease and prints its name,
 * which begins with "acquire-". `release` ends it with its last lease.  Several
 * keys, with commas between them, are acquired all or none, into one session.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "hold_signals.h"
#include "key_list.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "process_watch.h"
#include "show.h"
#include "verbs.h"

static const char acquire_help[] =
"usage: leasehold acquire [OPTION...] KEY[,KEY...]\n"
"\n"
"Acquires KEY into a named session, and prints the lease's id, its token, and\n"
"the session's name, in one line.  The lease lasts until it is released, or\n"
"the session ends: renew that (leasehold renew) before its ttl is over.\n"
"Several keys are acquired all or none, and each has its line.  A comma in\n"
"a key is written \\, and a backslash \\\\.\n"
"Exit status 0; 75: busy, or timed out; 76: the session has ended.\n"
"\n"
"      --session S   the session; default $LEASEHOLD_SESSION, or a new one\n"
"                    that ends with this lease\n"
"      --ttl DUR     ttl of a new session (default 15s)\n"
"      --for-pid PID open a session that lives as long as that process, and\n"
"                    needs no renewal (in a script: --for-pid $$)\n"
"  -s, --shared      share KEY with other readers\n"
"  -n, --nonblock    do not wait\n"
"  -w, --wait DUR    wait at most that long (default 1h), or \"forever\"\n"
"      --priority N  a higher one goes first\n"
"      --info TEXT   the purpose, shown to others\n"
"      --robust      if KEY is not released, warn later holders, until one\n"
"                    says that it is consistent (leasehold mark-consistent)\n"
"  -E, --conflict-exit-code N\n"
"                    exit status when busy or timed out; default 75\n"
"  -q, --quiet       print nothing when KEY is busy or not free in time\n"
"  -v, --verbose     print what blocks, and how long the wait took\n"
"      --request ID  32 hex digits, new for each request; repeated in the\n"
"                    session, it gets the same lease, or the same failure\n"
"      --json        print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

enum { OPT_SESSION = 256, OPT_FOR_PID, OPT_TTL, OPT_PRIORITY, OPT_INFO,
	OPT_REQUEST, OPT_ROBUST };

static const struct option options[] = {
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	{ "for-pid", required_argument, NULL, OPT_FOR_PID },
	{ "info", required_argument, NULL, OPT_INFO },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "priority", required_argument, NULL, OPT_PRIORITY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "request", required_argument, NULL, OPT_REQUEST },
	{ "robust", no_argument, NULL, OPT_ROBUST },
	{ "session", required_argument, NULL, OPT_SESSION },
	{ "shared", no_argument, NULL, 's' },
	{ "ttl", required_argument, NULL, OPT_TTL },
	{ "verbose", no_argument, NULL, 'v' },
	{ "wait", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 },
};

struct acquire_args {
	struct table_opts table;
	struct lh_session_opts session_opts;
	struct lh_acquire_opts opts;
	struct lh_acquire_more more;
	const char *session;	/* or NULL */
	bool given;		/* by --session */
	bool ttl;
	bool try;		/* -n */
	bool verbose;
	int busy_code;
	struct lh *lh;
	const char *keys;	/* as given on the command line */
	struct lh_item items[LH_MANY_MAX];
	struct lh_lease leases[LH_MANY_MAX];
	size_t n;
};

static int
take_option(int c, char *value, void *arg)
{
	struct acquire_args *h = arg;
	uint64_t n;

	switch (c) {
	case OPT_INFO:
		if (strlen(value) > LH_INFO_MAX)
			return usage_error("--info: %zu bytes, and %d are the "
			    "most", strlen(value), LH_INFO_MAX);
		h->more.info = value;
		return 0;
	case OPT_PRIORITY:
		if (parse_number("--priority", value, UINT32_MAX, &n) != 0)
			return EX_BAD_USAGE;
		h->opts.priority = (uint32_t)n;
		return 0;
	case OPT_REQUEST:
		return parse_request_id(value, h->more.request);
	case OPT_ROBUST:
		h->opts.flags |= LH_ROBUST;
		return 0;
	case OPT_FOR_PID:
		return parse_pid("--for-pid", value, &h->session_opts.pid);
	case OPT_SESSION:
		h->session = value;
		h->given = true;
		return 0;
	case OPT_TTL:
		h->ttl = true;
		return parse_span("--ttl", value, &h->session_opts.ttl_ms);
	case 'E':
		if (parse_number("-E", value, 255, &n) != 0)
			return EX_BAD_USAGE;
		h->busy_code = (int)n;
		return 0;
	case 'n':
		h->try = true;
		return 0;
	case 'q':
		message_quiet();
		return 0;
	case 'v':
		h->verbose = true;
		return 0;
	case 's':
		h->opts.mode = LH_SHARED;
		return 0;
	default:
		if (strcmp(value, "forever") == 0) {
			h->opts.max_wait_ms = LH_WAIT_FOREVER;
			return 0;
		}
		return parse_span("-w", value, &h->opts.max_wait_ms);
	}
}

static json_t *
lease_json(const char *key, const struct lh_lease *l, const char *session)
{
	char id[LEASE_ID_MAX];
	json_t *j = json_object();

	if (j != NULL && (show_set_bytes(j, "key", key) != 0 ||
	    json_object_set_new(j, "lease",
	    json_string(text_lease_id(id, l->id))) != 0 ||
	    show_set_u64(j, "token", l->token) != 0 ||
	    json_object_set_new(j, "mode", json_string(show_mode(l->mode)))
	    != 0 || show_set_bytes(j, "session", session) != 0)) {
		json_decref(j);
		j = NULL;
	}
	return j;
}

/*
 * Prints one lease as a line or an object, several as a line each or an array.
 */
static int
print_leases(struct acquire_args *h, const char *session)
{
	char id[LEASE_ID_MAX];
	json_t *all;

	if (!h->table.json) {
		for (size_t i = 0; i < h->n; i++)
			printf("%s %" PRIu64 " %s\n", text_lease_id(id,
			    h->leases[i].id), h->leases[i].token, session);
		return output_flush(EX_YES);
	}
	if (h->n == 1)
		return show_json(lease_json(h->items[0].key, &h->leases[0],
		    session), EX_YES);
	all = json_array();
	for (size_t i = 0; all != NULL && i < h->n; i++)
		if (json_array_append_new(all, lease_json(h->items[i].key,
		    &h->leases[i], session)) != 0) {
			json_decref(all);
			all = NULL;
		}
	return show_json(all, EX_YES);
}

/* Returns the keys as messages name them. */
static const char *
keys_name(const struct acquire_args *h, char name[NAME_MAX_TEXT])
{
	return text_name(name, h->n == 1 ? h->items[0].key : h->keys);
}

static int
call_acquire(struct acquire_args *h)
{
	return h->n == 1 ?
	    lh_acquire(h->lh, h->items[0].key, &h->opts, h->leases) :
	    lh_acquire_many(h->lh, h->items, h->n, &h->opts, h->leases);
}

/* Warns of each key that a robust holder has left without a release. */
static void
report_inconsistent(const struct acquire_args *h)
{
	char name[NAME_MAX_TEXT];

	for (size_t i = 0; i < h->n; i++)
		if (h->leases[i].notes & LH_NOTE_INCONSISTENT)
			message("warning: a holder of '%s' did not release "
			    "it, and what it guards may be inconsistent",
			    text_name(name, h->items[i].key));
}

/* With -v, tries first and prints the blocker before the wait.  Not with a
 * request id, because the try's outcome would be that of the request. */
static int
acquire_keys(struct acquire_args *h)
{
	int64_t began = lh_clock_ns(h->lh), wait_ms = h->opts.max_wait_ms;
	char name[NAME_MAX_TEXT], span[SPAN_MAX];
	int e = -EAGAIN;

	if (h->verbose && wait_ms != 0 &&
	    (h->more.request[0] | h->more.request[1]) == 0) {
		h->opts.max_wait_ms = 0;
		e = call_acquire(h);
		h->opts.max_wait_ms = wait_ms;
		if (e == -EAGAIN)
			message("waiting: %s", lh_error_detail());
	}
	if (e == -EAGAIN)
		e = call_acquire(h);
	if (e == 0)
		report_inconsistent(h);
	if (e == 0 && h->verbose)
		message("acquired '%s' (%s) after %s", keys_name(h, name),
		    show_mode(h->opts.mode), text_span(span,
		    lh_clock_ns(h->lh) - began));
	return e;
}

static int
fail_to_acquire(struct acquire_args *h, int e)
{
	char name[NAME_MAX_TEXT];
	int status = message_error(e, lh_error_detail(), h->n == 1 ?
	    "'%s' is not acquired" : "'%s' are not acquired",
	    keys_name(h, name));

	return status == EX_BUSY ? h->busy_code : status;
}

static int
acquire_into(struct acquire_args *h, struct lh_session *s)
{
	int e, status;

	h->more.session = s;
	e = acquire_keys(h);
	status = e == 0 ? print_leases(h, h->session) : fail_to_acquire(h, e);
	/* the result was not reported; a request id asks for it again */
	if (e == 0 && status != EX_YES &&
	    (h->more.request[0] | h->more.request[1]) == 0)
		(void)lh_release_many(h->lh, h->leases, h->n);
	return e == -ESTALE || e == -ECANCELED ? EX_LOST : status;
}

/* Moves the leases into the session.  Returns 0, or -errno: lease *i was not
 * moved. */
static int
hand_over(struct acquire_args *h, struct lh_session *s, size_t *i)
{
	int e = 0;

	for (*i = 0; *i < h->n; ++*i) {
		e = lh_handoff(h->lh, &h->leases[*i], s);
		if (e != 0)
			break;
	}
	return e;
}

/*
 * Binds a session to the process, and with `move` puts into it what was
 * acquired; else only finds out whether that is possible.  It would outlive us,
 * so signals wait.
 */
static int
bind_to_process(struct acquire_args *h, const char *session, bool move)
{
	char name[NAME_MAX_TEXT];
	struct lh_session *s;
	int e, status = EX_YES;
	sigset_t usual;
	size_t i;

	signals_hold(&usual);
	e = lh_session_open(h->lh, session, &h->session_opts, &s);
	if (e != 0) {
		status = message_error(e, lh_error_detail(), "cannot open a "
		    "session for process %d", (int)h->session_opts.pid);
	} else {
		e = move ? hand_over(h, s, &i) : 0;
		if (e != 0)
			status = message_error(e, lh_error_detail(),
			    "'%s' is lost", text_name(name, h->items[i].key));
		else if (move)
			status = print_leases(h, session);
		if (!move || status != EX_YES)
			(void)lh_session_destroy(s);
		lh_session_close(s);
	}
	signals_go_on(&usual);
	return status;
}

/* Waits in this process's own session, which ends with it, however that ends.
 * The wait ends when the process ends that it is for. */
static int
acquire_for_process(struct acquire_args *h)
{
	char own[LH_SESSION_NAME_MAX + 1];
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct process_watch watch;
	int e, status;

	(void)snprintf(own, sizeof(own), IMPLICIT_SESSION "%" PRIx64,
	    lh_session_id(h->lh));
	h->session_opts.flags = LH_CREATE_ONLY;
	status = bind_to_process(h, own, false);
	if (status != EX_YES)
		return status;
	h->opts.cancel = &cancel;
	process_watch_begin(&watch, h->session_opts.pid, &cancel);
	e = acquire_keys(h);
	process_watch_end(&watch);
	if (e == 0)
		return bind_to_process(h, own, true);
	status = fail_to_acquire(h, e);
	return e == -ECANCELED ? EX_LOST : status;
}

/* A session of its own is opened after the grant, so that it need not be
 * renewed during the wait. */
static int
acquire_leases(struct acquire_args *h)
{
	bool implicit = h->session == NULL;
	struct lh_session *s;
	char own[LH_SESSION_NAME_MAX + 1], name[NAME_MAX_TEXT];
	int e, status;
	size_t i;

	if (implicit) {
		(void)snprintf(own, sizeof(own), IMPLICIT_SESSION "%" PRIx64,
		    lh_session_id(h->lh));
		e = acquire_keys(h);
		if (e != 0)
			return fail_to_acquire(h, e);
		h->session_opts.flags = LH_CREATE_ONLY;
	} else {
		h->session_opts.flags = LH_NO_CREATE;
	}
	e = lh_session_open(h->lh, implicit ? own : h->session,
	    &h->session_opts, &s);
	if (e != 0) {
		status = message_error(e, lh_error_detail(), "cannot open the "
		    "session '%.31s'", implicit ? own : h->session);
		return e == -ENOENT ? EX_LOST : status;
	}
	if (!implicit)
		status = acquire_into(h, s);
	else if ((e = hand_over(h, s, &i)) == 0)
		status = print_leases(h, own);
	else
		status = message_error(e, lh_error_detail(), "'%s' is lost",
		    text_name(name, h->items[i].key));
	if (implicit && status != EX_YES)
		(void)lh_session_destroy(s);
	lh_session_close(s);
	return status;
}

/* Returns 0, EX_BAD_USAGE or EX_SYSTEM. */
static int
split_keys(struct acquire_args *h)
{
	char *copy = strdup(h->keys), *rest = copy, *key;

	if (copy == NULL)
		return message_error(-ENOMEM, NULL, "cannot read the keys");
	if (!key_list_is_valid(h->keys)) {
		free(copy);
		return usage_error("'%s': a backslash in keys is written \\\\, "
		    "a comma \\,", h->keys);
	}
	/* not freed: the items point into it */
	while ((key = key_list_next(&rest)) != NULL) {
		if (parse_key(key) != 0)
			return EX_BAD_USAGE;
		if (h->n == LH_MANY_MAX)
			return usage_error("up to %d keys can be acquired "
			    "together", LH_MANY_MAX);
		for (size_t i = 0; i < h->n; i++)
			if (strcmp(h->items[i].key, key) == 0)
				return usage_error("'%s' is there twice: it "
				    "would wait for itself", key);
		h->items[h->n++] = (struct lh_item){ .key = key,
		    .mode = h->opts.mode, .priority = h->opts.priority };
	}
	return 0;
}

int
verb_acquire(int argc, char **argv)
{
	struct acquire_args h = {
		.session_opts = LH_SESSION_OPTS_INIT,
		.opts = LH_ACQUIRE_OPTS_INIT,
		.more = LH_ACQUIRE_MORE_INIT,
		.busy_code = EX_BUSY,
	};
	const struct verb_opts own = { .options = options,
	    .letters = "E:nqsvw:", .take = take_option, .arg = &h };
	int e, status;

	h.session = secure_getenv("LEASEHOLD_SESSION");
	h.opts.more = &h.more;
	h.more.policy = LH_POLICY_STRICT;
	if (!parse_verb_opts("acquire", acquire_help, argc, argv, &h.table,
	    &own, &status))
		return status;
	if (optind + 1 != argc)
		return usage_error("acquire takes one argument: leasehold "
		    "acquire KEY[,KEY...]");
	if (h.try)
		h.opts.max_wait_ms = 0;
	h.keys = argv[optind];
	status = split_keys(&h);
	if (status != 0)
		return status;
	if (h.session != NULL && *h.session == '\0')
		h.session = NULL;
	if (h.session_opts.pid != 0) {
		if (h.given || h.ttl)
			return usage_error("--for-pid opens a session that "
			    "lives as long as that process: it goes neither "
			    "with --session nor with --ttl");
		h.session = NULL;
	}
	if (h.session != NULL && h.ttl)
		return usage_error("--ttl is of a new session, and there is "
		    "'%s' already", h.session);
	if (h.session == NULL && (h.more.request[0] | h.more.request[1]) != 0)
		return usage_error("--request needs --session: it is repeated "
		    "in the same one");
	e = open_table(&h.lh, &h.table, 0, NULL);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	status = h.session_opts.pid != 0 ? acquire_for_process(&h) :
	    acquire_leases(&h);
	(void)lh_close(h.lh);
	return status;
}
