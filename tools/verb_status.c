/* SPDX-License-Identifier: MIT */
/*
 * `leasehold status KEY`: prints who holds the key, until when, and who waits
 * for it.
 *
 * The exit status is the answer for scripts: 0 if it is held, here or on
 * another host of its cluster; 1 if not (free, or unknown to the table); 69 if
 * the cluster does not say.  Nothing is created.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
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
"usage: leasehold status [OPTION...] KEY\n"
"\n"
"Prints who holds KEY, exclusively or shared, and who waits for it.\n"
"Exit status 0: held, also on another host of its cluster; 1: not held;\n"
"69: the cluster does not say.\n"
"\n"
"      --json        print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct status {
	struct lh *lh;
	const char *table;
	const char *key;
	bool json;
	int result;
};

static void
print_time(struct lh *lh, const char *label, int64_t at_ns, int64_t span_ns,
    const char *before, const char *after)
{
	time_t s = (time_t)(lh_epoch_ms(lh, at_ns) / 1000);
	char when[64] = "?", span[SPAN_MAX];
	struct tm tm;

	if (localtime_r(&s, &tm) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%-9s%s (%s%s%s)\n", label, when, before,
	    text_span(span, span_ns), after);
}

/* The shim is no holder: it keeps the key from the processes here. */
static void
print_keeper(const struct lh_party *p)
{
	char name[PARTY_MAX];

	printf("%-9s%s, for the cluster: no process of this host has it\n",
	    "kept by", show_party(name, p));
}

/* Prints when the lease ended with this host's right. */
static void
print_ended(struct lh *lh, const struct lh_party *p, int64_t now)
{
	if (p->expires_ns == 0)
		printf("%-9swith this host's right to it; when is not known\n",
		    "ended");
	else
		print_time(lh, "ended", p->expires_ns, now - p->expires_ns, "",
		    " ago, with this host's right to it");
}

/* Prints the only holder in detail. */
static void
print_holder(struct status *q, const struct lh_party *p)
{
	int64_t now = lh_clock_ns(q->lh);
	char id[LEASE_ID_MAX], name[PARTY_MAX], info[INFO_MAX_TEXT];

	printf("%-9s%s, uid %" PRIu32 "\n", show_state_holds(p) ? "holder" :
	    "lost by", show_party(name, p), p->uid);
	if (p->info[0] != '\0')
		printf("%-9s%s\n", "info", show_info(info, "", p));
	if ((p->request[0] | p->request[1]) != 0)
		printf("%-9s%s\n", "request", text_lease_id(id, p->request));
	printf("%-9s%s\n", "lease", text_lease_id(id, p->id));
	print_time(q->lh, "since", p->since_ns, now - p->since_ns, "", " ago");
	if (p->policy != LH_POLICY_LEASE)
		printf("%-9s%s\n", "policy", show_policy(p->policy));
	if ((p->flags & LH_PARTY_RIGHT_ENDED) != 0)
		print_ended(q->lh, p, now);
	else if (p->expires_ns == INT64_MAX && (p->flags & LH_PARTY_BOUND) != 0)
		printf("%-9swith process %" PRIu32 "%s\n", "expires", p->pid,
		    show_foreign(p));
	else if (p->expires_ns == INT64_MAX)
		printf("%-9snever\n", "expires");
	else
		print_time(q->lh, "expires", p->expires_ns, p->expires_ns - now,
		    "in ", (p->flags & LH_PARTY_ENDS_WITH_SESSION) != 0 ?
		    ", with its session, unless that is renewed" :
		    (p->flags & LH_PARTY_ENDS_WITH_RIGHT) != 0 ? ", with this "
		    "host's right to it, unless the cluster confirms that" :
		    "");
}

/* Prints one of several holders as a line. */
static void
print_reader(struct status *q, const struct lh_party *p)
{
	char id[LEASE_ID_MAX], name[PARTY_MAX], held[SPAN_MAX], left[SPAN_MAX];
	char info[INFO_MAX_TEXT];
	int64_t now = lh_clock_ns(q->lh);

	printf("%9s%s, uid %" PRIu32 ", %s, for %s, %s%s, lease %s", "",
	    show_party(name, p), p->uid, show_mode(p->mode),
	    text_span(held, now - p->since_ns), show_left(left, p, now),
	    show_state_holds(p) ? " left" : " with this host's right",
	    text_lease_id(id, p->id));
	if (p->token != 0)	/* just granted, not yet noticed by the
				 * waiter */
		printf(", token %" PRIu64, p->token);
	printf("%s\n", show_info(info, ": ", p));
}

static void
print_waiter(struct status *q, const struct lh_party *p)
{
	int64_t now = lh_clock_ns(q->lh);
	char name[PARTY_MAX], span[SPAN_MAX], info[INFO_MAX_TEXT];

	printf("%6" PRIu32 "   %s, uid %" PRIu32 ", %s, priority %" PRIu32
	    ", waiting for %s%s\n", p->rank, show_party(name, p), p->uid,
	    show_mode(p->mode), p->priority,
	    text_span(span, now - p->since_ns), show_info(info, ": ", p));
}

static int
print_key(const struct lh_key_info *info, void *arg)
{
	char name[NAME_MAX_TEXT];
	struct status *q = arg;
	enum key_state state;
	uint32_t i;

	state = show_state(info);
	q->result = show_state_status(state);
	if (q->json) {
		q->result = show_json(show_key(q->lh, q->table, q->key, info),
		    q->result);
		return 0;
	}
	printf("%-9s%s\n", "key", text_name(name, info->key));
	printf("%-9s%s\n", "table", q->table);
	printf("%-9s%s%s%s\n", "state", message_bold(1), state == KEY_FREE &&
	    info->delayed_ns > 0 ? "delayed" : show_state_words(state),
	    message_plain(1));
	if (info->n_holders == 0 && info->delayed_ns > 0)
		print_time(q->lh, "until", lh_clock_ns(q->lh) +
		    info->delayed_ns, info->delayed_ns, "nobody is granted it "
		    "for ", ": its holder's session ended uncleanly");
	if (info->n_holders > 0)
		printf("%-9s%s\n", "mode", show_mode(info->mode));
	printf("%-9s%" PRIu64 "%s\n", "token", show_token(info),
	    show_state_by_shim(info) ? " (this host's latest; the holder's is "
	    "not known here)" : info->n_holders == 1 || info->token == 0 ? "" :
	    info->n_holders > 1 ? " (the latest)" : " (the next is larger)");
	printf("%-9s%s\n", "scope", show_scope(info->scope));
	if (info->cluster != LH_CLUSTER_LOCAL)
		printf("%-9s%s%s%s\n", "right", show_right(info->cluster),
		    info->elsewhere != NULL ? "; " : "", info->elsewhere !=
		    NULL ? info->elsewhere : "");
	if (state == KEY_ELSEWHERE)
		printf("%-9s%s\n", "note", SHOW_STATE_IN_USE);
	if (info->inconsistent)
		printf("%-9s%s\n", "note", "a robust holder did not release "
		    "it, and nobody has marked it consistent");
	if (info->value_len > 0)
		printf("%-9s%" PRIu32 " bytes\n", "value", info->value_len);
	if (show_state_by_shim(info))
		print_keeper(&info->holders[0]);
	else if (info->n_holders == 1)
		print_holder(q, &info->holders[0]);
	else if (info->n_holders > 1)
		printf("%-9s%" PRIu32 "\n", show_state_has_ended(info) ?
		    "lost by" : "holders", info->n_holders);
	for (i = 0; info->n_holders > 1 && i < info->n_holders; i++)
		print_reader(q, &info->holders[i]);
	printf("%-9s%" PRIu32 "\n", "waiters", info->n_waiters);
	for (i = 0; i < info->n_waiters; i++)
		print_waiter(q, &info->waiters[i]);
	return 0;
}

/* Prints, in the requested form, that the key is neither held nor known. */
static int
report_not_held(struct status *q, const char *why)
{
	char name[NAME_MAX_TEXT];

	if (q->json)
		return show_json(show_key(q->lh, q->table, q->key, NULL),
		    q->lh == NULL && show_state_may_be_elsewhere(q->key) ?
		    EX_AWAY : EX_NO);
	message("nobody holds '%s': %s", text_name(name, q->key), why);
	return EX_NO;
}

static int
show_status(const struct table_opts *table, const char *key)
{
	struct status q = { .key = key, .json = table->json };
	char name[NAME_MAX_TEXT];
	int e;

	e = open_table_to_look(&q.lh, table);
	if (e == -ENOENT) {
		q.table = open_table_name(table);
		if (!q.json && show_state_may_be_elsewhere(key)) {
			message("it is not known who holds '%s': there is no "
			    "such table here, so the cluster cannot be asked",
			    text_name(name, key));
			return EX_AWAY;
		}
		return report_not_held(&q, "there is no such table");
	}
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	q.table = lh_table_name(q.lh);
	e = lh_status(q.lh, key, NULL, print_key, &q);
	if (e == -ENOENT)
		q.result = report_not_held(&q, "the table does not know it");
	else if (e != 0)
		q.result = message_error(e, lh_error_detail(), "cannot look at "
		    "'%s'", text_name(name, key));
	else if (!q.json)
		q.result = output_flush(q.result);
	(void)lh_close(q.lh);
	return q.result;
}

int
verb_status(int argc, char **argv)
{
	struct table_opts table = { 0 };
	int status;

	if (!parse_look_opts("status", help, argc, argv, &table, &status))
		return status;
	if (optind >= argc)
		return usage_error("status: which key? leasehold status KEY");
	if (optind + 1 < argc)
		return usage_error("status takes one key: '%s' is one too many",
		    argv[optind + 1]);
	if (parse_key(argv[optind]) != 0)
		return EX_BAD_USAGE;
	return show_status(&table, argv[optind]);
}
