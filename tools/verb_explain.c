/* SPDX-License-Identifier: MIT */
/*
 * `leasehold explain KEY`: prints which processes block the key, what they do,
 * and what the user could do about it.
 *
 * The library reports the key that a holder's thread waits for.  This verb
 * follows these waits from key to key, until a holder waits for nothing or a
 * key is reached again; then the holders wait for each other.  The keys are
 * read one after the other, so each one's state is of a slightly different
 * time.
 *
 * The advice follows from the facts: wait, resume a stopped process, or end the
 * lease.  It is never longer than a line of shell that can be copied.
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
#include "advice.h"
#include "daemon/exit_status.h"
#include "daemon/keeper.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "show_state.h"
#include "verbs.h"

#define HOPS_MAX 8
#define READERS_MAX 10		/* described one by one, in words */
#define WAITERS_MAX 10

static const char help[] =
"usage: leasehold explain [OPTION...] KEY\n"
"\n"
"Prints who holds KEY, what they do, what they wait for in turn, who waits\n"
"for KEY, and what you could do.\n"
"Exit status 0: it is held (also on another host of its cluster) or waited\n"
"for; 1: it is free; 69: the cluster does not say.\n"
"\n"
"      --json        print JSON: an array of the keys visited\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct explain {
	struct lh *lh;
	const struct table_opts *table;
	char keys[HOPS_MAX][KEY_MAX + 1];
	uint32_t n;		/* number of keys; the last is being read */
	json_t *list;		/* NULL: print words */
	bool no_memory;
	int status;		/* is the first key held, or waited for? */
	char next[KEY_MAX + 1];	/* the key that a holder of it waits for; or
				 * "" */
};

/* `about` is the key or the session that the command is for. */
static void
print_command(const struct explain *x, const char *what, bool reads,
    const char *verb, const char *about)
{
	char command[ADVICE_MAX];

	printf("  %-23s%s%s\n", what, strlen(what) < 23 ? "" : "  ",
	    advice_command(command, x->table, reads, verb, about));
}

/* The lease is one of process `ended`, and `keeper` keeps it; 0: that process
 * is not seen. */
static void
print_keeper(uint32_t ended, pid_t keeper)
{
	if (keeper != 0)
		printf("  end what keeps it:     kill %d\n", (int)keeper);
	else
		printf("  end what keeps it:     the processes that %" PRIu32
		    " started; they may use what the key guards\n", ended);
}

static void
print_advice(const struct explain *x, const char *key, const struct lh_party *p)
{
	char name[KEEPER_NAME_MAX];

	printf("\nWhat you could do:\n");
	if (p->run == LH_RUN_STOPPED)
		printf("  resume it:             kill -CONT %" PRIu32 "\n",
		    p->pid);
	if (p->run == LH_RUN_FROZEN)
		printf("  resume it:             thaw its control group, see "
		    "/proc/%" PRIu32 "/cgroup\n", p->pid);
	if (p->run == LH_RUN_INHERITED)
		print_keeper(p->pid, keeper_find(x->lh, p->id[0], name));
	if ((p->flags & LH_PARTY_BOUND) != 0 &&
	    (p->flags & LH_PARTY_FOREIGN) != 0)
		print_command(x, "if its process has ended:", false,
		    "session destroy", p->application);
	print_command(x, "wait for a change:", true, "watch -n 1", key);
	print_command(x, "end its lease:", false, "break", key);
}

struct session_end {
	uint64_t id;
	int64_t ns;		/* 0: it has ended */
};

static int
find_session_end(const struct lh_session_info *info, void *arg)
{
	struct session_end *end = arg;

	if (info->id != end->id)
		return 0;
	end->ns = info->expires_ns;
	return 1;
}

/* The lease belongs to a session: each process that uses the session may
 * release it, and it ends with the session. */
static void
print_session(struct explain *x, const struct lh_party *p, int64_t now)
{
	struct session_end end = { .id = p->id[0] };
	char name[NAME_MAX_TEXT], span[SPAN_MAX];

	if ((p->flags & LH_PARTY_BOUND) != 0) {
		printf("    %s session %s, which ends with process %" PRIu32
		    "%s\n", p->policy == LH_POLICY_STRICT ?
		    "or until the end of" : "and with", text_name(name,
		    p->application), p->pid, show_foreign(p));
		if ((p->flags & LH_PARTY_FOREIGN) != 0)
			printf("    the end of that process is not seen from "
			    "here: the key stays held if its container ends\n");
		return;
	}
	(void)lh_session_list(x->lh, NULL, find_session_end, &end);
	printf("    %s session %s, %s", p->policy == LH_POLICY_STRICT ?
	    "or until the end of" : "and with", text_name(name,
	    p->application), end.ns == 0 ? "which has ended\n" : "which ");
	if (end.ns != 0)
		printf("ends in %s, unless it is renewed\n",
		    text_span(span, end.ns - now));
}

static void
print_run(const struct explain *x, const struct lh_party *p)
{
	char keeper[KEEPER_NAME_MAX], name[NAME_MAX_TEXT];
	pid_t pid = p->run != LH_RUN_INHERITED ? 0 :
	    keeper_find(x->lh, p->id[0], keeper);

	if (pid == 0)
		printf("    %s\n", show_run(p->run));
	else
		printf("    %s: %s[%d], which may use what the key guards\n",
		    show_run(p->run), text_name(name, keeper), (int)pid);
}

static void
print_holder(struct explain *x, const struct lh_party *p, int64_t now)
{
	char who[PARTY_MAX], info[INFO_MAX_TEXT], span[SPAN_MAX];
	char name[NAME_MAX_TEXT];
	bool in_session = (p->flags & LH_PARTY_SESSION) != 0;

	if ((p->flags & LH_PARTY_FOR_CLUSTER) != 0) {
		printf("  in this table %s keeps it, for the cluster: no "
		    "process of this host has it\n", show_party(who, p));
		return;
	}
	printf("  %s, uid %" PRIu32 ", %s, token %" PRIu64 "%s\n",
	    show_party(who, p), p->uid, show_mode(p->mode), p->token,
	    show_info(info, ": ", p));
	if (!show_state_holds(p)) {
		printf("    has lost it: its lease ended with this host's "
		    "right to the key%s%s%s\n", p->expires_ns == 0 ? "" : ", ",
		    p->expires_ns == 0 ? "" : text_span(span, now -
		    p->expires_ns), p->expires_ns == 0 ? "" : " ago");
		return;
	}
	printf("    has held it for %s", text_span(span, now - p->since_ns));
	if ((p->flags & LH_PARTY_ENDS_WITH_RIGHT) != 0)
		printf("; its lease ends in %s, with this host's right to the "
		    "key, unless the cluster confirms that\n", text_span(span,
		    p->expires_ns - now));
	else if (p->policy == LH_POLICY_STRICT)
		printf("; holds it until it %s\n", in_session ? "is released" :
		    "gives it back, or dies");
	else
		printf("; its lease ends in %s, %s\n",
		    text_span(span, p->expires_ns - now),
		    p->policy == LH_POLICY_LIVE ? "or later while it runs" :
		    p->run == LH_RUN_INHERITED ? "and nothing renews it" :
		    "unless it is renewed");
	if (p->waits_for != NULL && p->waits_pid != 0)
		printf("    %s process %" PRIu32 " waits, for %s so far, for "
		    "'%s'\n", in_session ? "into it" : "its job,",
		    p->waits_pid, text_span(span, now - p->waits_since_ns),
		    text_name(name, p->waits_for));
	else if (p->waits_for != NULL)
		printf("    waits, for %s so far, for '%s'\n", text_span(span,
		    now - p->waits_since_ns), text_name(name, p->waits_for));
	else if (!in_session)
		print_run(x, p);
	else
		print_session(x, p, now);
}

static void
print_waiter(const struct lh_party *p, int64_t now, bool mine)
{
	char who[PARTY_MAX], info[INFO_MAX_TEXT], span[SPAN_MAX];

	printf("%3" PRIu32 "  %s, %s, priority %" PRIu32 ", for %s, %s%s%s%s\n",
	    p->rank, show_party(who, p), show_mode(p->mode), p->priority,
	    text_span(span, now - p->since_ns), show_run(p->run),
	    (p->flags & LH_PARTY_SUSPECT) != 0 ? ", passed over" : "",
	    mine ? " (this process)" : "", show_info(info, ": ", p));
}

static const char *
state_phrase(const struct lh_key_info *info)
{
	switch (show_state(info)) {
	case KEY_HELD:
		return "held by";
	case KEY_ELSEWHERE:
		return "held on another host";
	case KEY_UNKNOWN:
		return show_state_has_ended(info) ? "not held here any more, "
		    "and perhaps held on another host" : "held by nobody in "
		    "this table, and perhaps on another host";
	default:
		return info->inconsistent ? "free, but inconsistent" : "free";
	}
}

/* For a key that another key's holder waits for, prints only its holders. */
static void
print_key(struct explain *x, const struct lh_key_info *info)
{
	char name[NAME_MAX_TEXT], span[SPAN_MAX];
	int64_t now = lh_clock_ns(x->lh);
	uint32_t i;

	printf("%s'%s' is %s%s\n", x->n == 1 ? "" : "\n",
	    text_name(name, info->key), state_phrase(info), info->moved ?
	    " (changed while it was read)" : "");
	for (i = 0; i < info->n_holders && i < READERS_MAX; i++)
		print_holder(x, &info->holders[i], now);
	if (i < info->n_holders)
		printf("  and %" PRIu32 " more\n", info->n_holders - i);
	if (info->inconsistent)
		printf("  a robust holder did not release it, and nobody has "
		    "marked it consistent: readers are refused\n");
	if (info->cluster == LH_CLUSTER_NONE)
		printf("  and this host has no right to it in the cluster\n");
	if (info->elsewhere != NULL)
		printf("  %s\n", info->elsewhere);
	if (show_state(info) == KEY_ELSEWHERE)
		printf("  %s\n", SHOW_STATE_IN_USE);
	if (info->delayed_ns > 0)
		printf("  and stays so for %s: it was held by a session that "
		    "ended uncleanly\n", text_span(span, info->delayed_ns));
	if (x->n > 1)
		return;
	if (info->n_waiters > 0)
		printf("%" PRIu32 " %s for it, in the order in which they are "
		    "due:\n", info->n_waiters, info->n_waiters == 1 ? "waits" :
		    "wait");
	for (i = 0; i < info->n_waiters && i < WAITERS_MAX; i++)
		print_waiter(&info->waiters[i], now,
		    info->waiters[i].rank == info->rank);
	if (i < info->n_waiters)
		printf("     and %" PRIu32 " more\n", info->n_waiters - i);
}

static int
explain_key(const struct lh_key_info *info, void *arg)
{
	struct explain *x = arg;
	json_t *o;

	if (x->n == 1)
		x->status = info->n_waiters > 0 ? EX_YES :
		    show_state_status(show_state(info));
	x->next[0] = '\0';
	for (uint32_t i = 0; i < info->n_holders && x->next[0] == '\0'; i++)
		if (info->holders[i].waits_for != NULL)
			(void)strcpy(x->next, info->holders[i].waits_for);
	if (x->list == NULL) {
		print_key(x, info);
		return 0;
	}
	o = show_key(x->lh, lh_table_name(x->lh), info->key, info);
	if (o != NULL && info->moved)
		x->no_memory |= json_object_set_new(o, "moved",
		    json_true()) != 0;
	if (json_array_append_new(x->list, o) != 0)
		x->no_memory = true;
	return 0;
}

static int
advise_about_first(const struct lh_key_info *info, void *arg)
{
	if (info->n_holders == 0 && info->inconsistent) {
		printf("\nWhat you could do:\n");
		print_command(arg, "once that is repaired:", false,
		    "mark-consistent", info->key);
	}
	if (show_state(info) == KEY_ELSEWHERE)
		printf("\nWhat you could do:\n  see, or end, its lease on the "
		    "host that has it: %s\n", show_state_where(info));
	else if (show_state_is_held_here(info))
		print_advice(arg, info->key, show_oldest(info));
	return 0;
}

/* True if that key was visited before. */
static bool
is_visited(const struct explain *x, const char *key)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (strcmp(x->keys[i], key) == 0)
			return true;
	return false;
}

/*
 * Follows the waits from key to key.  Returns 0, or -errno about the first key.
 */
static int
follow_keys(struct explain *x, const char *key)
{
	char name[NAME_MAX_TEXT];
	int e;

	(void)strcpy(x->keys[x->n++], key);
	e = lh_explain(x->lh, key, explain_key, x);
	if (e != 0)
		return e;
	while (x->next[0] != '\0' && !is_visited(x, x->next) &&
	    x->n < HOPS_MAX) {
		(void)strcpy(x->keys[x->n++], x->next);
		x->next[0] = '\0';
		if (lh_explain(x->lh, x->keys[x->n - 1], explain_key, x) != 0)
			break;		/* it no longer exists: nothing to
					 * print */
	}
	if (x->list != NULL)
		return 0;
	if (x->next[0] != '\0')
		printf("\n%s '%s'%s\n", is_visited(x, x->next) ?
		    "They wait for each other: that is" : "And so on, from",
		    text_name(name, x->next), is_visited(x, x->next) ?
		    " again." : "");
	return lh_explain(x->lh, key, advise_about_first, x);
}

/* Prints, in the requested form, that the key is neither held nor known. */
static int
report_not_held(const struct table_opts *table, const char *key,
    const char *why)
{
	char name[NAME_MAX_TEXT];
	json_t *list;

	if (!table->json) {
		message("nobody holds '%s': %s", text_name(name, key), why);
		return EX_NO;
	}
	list = json_array();
	if (json_array_append_new(list,
		show_key(NULL, open_table_name(table), key, NULL)) != 0) {
		json_decref(list);
		list = NULL;
	}
	return show_json(list, EX_NO);
}

/* A key of a cluster may be held on another host. */
static int
report_no_table(const struct table_opts *table, const char *key)
{
	char name[NAME_MAX_TEXT];
	int status;

	if (table->json || !show_state_may_be_elsewhere(key)) {
		status = report_not_held(table, key, "there is no such table");
		return status == EX_NO && show_state_may_be_elsewhere(key) ?
		    EX_AWAY : status;
	}
	message("it is not known who holds '%s': there is no such table here, "
	    "so the cluster cannot be asked", text_name(name, key));
	return EX_AWAY;
}

static int
explain_from(const struct table_opts *table, const char *key)
{
	struct explain x = { .table = table };
	char name[NAME_MAX_TEXT];
	int e = open_table_to_look(&x.lh, table), status;

	if (e == -ENOENT)
		return report_no_table(table, key);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	if (table->json && (x.list = json_array()) == NULL)
		x.no_memory = true;
	e = follow_keys(&x, key);
	status = x.status;
	if (e == -ENOENT)
		status = report_not_held(table, key, "the table does not know "
		    "it");
	else if (e != 0)
		status = message_error(e, lh_error_detail(), "cannot look at "
		    "'%s'", text_name(name, key));
	else if (x.no_memory)
		status = show_json(NULL, EX_SYSTEM);
	else if (table->json)
		status = show_json(json_incref(x.list), status);
	else
		status = output_flush(status);
	json_decref(x.list);
	(void)lh_close(x.lh);
	return status;
}

int
verb_explain(int argc, char **argv)
{
	struct table_opts table = { 0 };
	int status;

	if (!parse_look_opts("explain", help, argc, argv, &table, &status))
		return status;
	if (optind + 1 != argc)
		return usage_error("explain takes one key: leasehold explain "
		    "KEY");
	return parse_key(argv[optind]) != 0 ? EX_BAD_USAGE :
	    explain_from(&table, argv[optind]);
}
