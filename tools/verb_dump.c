/* SPDX-License-Identifier: MIT */
/*
 * `leasehold dump [FILE]`: prints the contents of a table, or of a copy of one.
 *
 * It does not attach and changes nothing.  So it works if all sessions are in
 * use, if the table is only readable, and on an image from another boot.
 * Damage is printed on standard error after the contents (JSON: "findings");
 * the exit status is then 65.
 *
 *	table     /dev/shm/leasehold.0/default.table
 *	...
 *	session 0  alive, backup[4711], uid 0, since 2026-11-21 13:52:07, ...
 *	key nightly, slot 1, word 00000000 00800040, token 4294967297
 *	  holder    backup[4711], uid 0, exclusive, token 4294967297,
 *	            2026-11-21 13:52:07 to 2026-11-21 13:53:07, lease ...
 *	  waiter 1  ...
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
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
"usage: leasehold dump [OPTION...] [FILE]\n"
"\n"
"Prints the contents of a table, or of FILE, a copy of a table's object.\n"
"Changes nothing.  Exit status 0: no damage found; 65: damaged,\n"
"or not a table; 1: no such table.\n"
"\n"
"      --json        print JSON\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct dump {
	bool json;
	int64_t zero_ms;	/* zero of the table's clock, in ms since
				 * 1970 */
	char path[512];
	json_t *table, *sessions, *keys, *findings;
	bool no_memory;
};

#define WHEN_MAX 32

static const char *
epoch_text(char buf[WHEN_MAX], int64_t epoch_ms)
{
	time_t s = (time_t)(epoch_ms / 1000);
	struct tm tm;

	if (localtime_r(&s, &tm) == NULL ||
	    strftime(buf, WHEN_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)strcpy(buf, "?");
	return buf;
}

static const char *
clock_text(const struct dump *d, char buf[WHEN_MAX], int64_t clock_ns)
{
	return epoch_text(buf, (int64_t)((uint64_t)d->zero_ms +
	    (uint64_t)(clock_ns / 1000000)));
}

/* Appends to an array, unless an earlier step failed.  Takes over the
 * reference. */
static int
append_json(struct dump *d, json_t *to, json_t *value, int bad)
{
	if (bad == 0 && value != NULL && json_array_append_new(to, value) == 0)
		return 0;
	if (bad != 0)
		json_decref(value);
	d->no_memory = true;
	return -ENOMEM;
}

static int
make_table_json(struct dump *d, const struct lh_dump_table *t)
{
	char uuid[LEASE_ID_MAX];
	json_t *o;
	int bad;

	o = json_pack("{s:s, s:I, s:b, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:I,"
	    " s:I, s:b}",
	    "uuid", text_lease_id(uuid, t->uuid),
	    "format", (json_int_t)t->format,
	    "damaged", (t->flags & LH_DUMP_DAMAGED) != 0,
	    "retired", (t->flags & LH_DUMP_RETIRED) != 0,
	    "order", show_order(t->order),
	    "clock", show_clock(t->clock),
	    "creator_pid", (json_int_t)t->creator_pid,
	    "max_keys", (json_int_t)t->max_keys,
	    "ready_keys", (json_int_t)t->ready_keys,
	    "max_leases", (json_int_t)t->max_leases,
	    "ready_leases", (json_int_t)t->ready_leases,
	    "max_sessions", (json_int_t)t->max_sessions,
	    "other_boot", (t->flags & LH_DUMP_OTHER_BOOT) != 0);
	if (o == NULL)
		return -ENOMEM;
	bad = show_set_bytes(o, "path", d->path);
	bad |= show_set_u64(o, "created_ms", (uint64_t)t->created_epoch_ms);
	bad |= show_set_u64(o, "bytes", t->bytes);
	bad |= show_set_u64(o, "token_base", t->token_base);
	bad |= show_set_u64(o, "token_ceiling", t->token_ceiling);
	bad |= show_set_u64(o, "token_durable", t->token_durable);
	bad |= show_set_u64(o, "token_last", t->token_last);
	bad |= show_set_bytes(o, "fence_dir", t->fence_dir);
	d->table = o;
	return bad != 0 ? -ENOMEM : 0;
}

static int
print_table(const struct lh_dump_table *t, void *arg)
{
	char uuid[LEASE_ID_MAX], made[WHEN_MAX], path[2048];
	struct dump *d = arg;

	d->zero_ms = t->zero_epoch_ms;
	(void)snprintf(d->path, sizeof(d->path), "%s", t->path);
	if (d->json)
		return make_table_json(d, t);
	(void)text_clean(path, sizeof(path), d->path, sizeof(d->path), true);
	printf("table     %s\n", path);
	printf("uuid      %s\n", text_lease_id(uuid, t->uuid));
	printf("made      %s, by process %" PRIu32 "\n",
	    epoch_text(made, t->created_epoch_ms), t->creator_pid);
	printf("format    %" PRIu32 "%s%s\n", t->format,
	    t->flags & LH_DUMP_DAMAGED ? ", damage was met" : "",
	    t->flags & LH_DUMP_RETIRED ? ", retired" : "");
	printf("order     %s\n", show_order(t->order));
	printf("clock     %s%s\n", show_clock(t->clock),
	    t->flags & LH_DUMP_OTHER_BOOT ? ", of another boot or time "
	    "namespace: times are by the copy's own creation, and ends of "
	    "named sessions are not checked" : "");
	printf("room      for %" PRIu32 " keys now, %" PRIu32 " at most; %"
	    PRIu32 " leases now, %" PRIu32 " at most; %" PRIu32 " sessions\n",
	    t->ready_keys, t->max_keys, t->ready_leases, t->max_leases,
	    t->max_sessions);
	printf("length    %" PRIu64 "\n", t->bytes);
	printf("tokens    above %" PRIu64 ", below %" PRIu64 "\n",
	    t->token_base, t->token_ceiling);
	if (t->token_last != 0)
		printf("          rising over all keys, the last one %" PRIu64
		    "\n", t->token_last);
	if (t->fence_dir[0] != '\0') {
		(void)text_clean(path, sizeof(path), t->fence_dir,
		    strlen(t->fence_dir), true);
		printf("fence     %s, tokens below %" PRIu64 "\n", path,
		    t->token_durable);
	}
	return 0;
}

static int
print_session(const struct lh_dump_session *s, void *arg)
{
	struct lh_party p = { .pid = s->pid };
	char since[WHEN_MAX], name[PARTY_MAX];
	struct dump *d = arg;
	json_t *o;
	int bad;

	if (!d->json) {
		memcpy(p.application, s->application, sizeof(p.application));
		printf("session %" PRIu32 "  %s, %s, uid %" PRIu32 ", since "
		    "%s, %" PRIu32 " leases reserved, id %016" PRIx64 "\n",
		    s->index, s->state, show_party(name, &p), s->uid,
		    clock_text(d, since, s->attached_ns), s->leases_reserved,
		    s->id);
		return 0;
	}
	o = json_pack("{s:I, s:s, s:I, s:I, s:I}",
	    "index", (json_int_t)s->index, "state", s->state,
	    "pid", (json_int_t)s->pid, "uid", (json_int_t)s->uid,
	    "leases_reserved", (json_int_t)s->leases_reserved);
	bad = o == NULL ? -1 : show_set_bytes(o, "application",
	    s->application) | show_set_u64(o, "id", s->id) |
	    show_set_u64(o, "attached_ms", (uint64_t)d->zero_ms +
	    (uint64_t)(s->attached_ns / 1000000));
	return append_json(d, d->sessions, o, bad);
}

static void
print_party(const struct dump *d, const struct lh_party *p)
{
	char name[PARTY_MAX], id[LEASE_ID_MAX], from[WHEN_MAX], to[WHEN_MAX];

	if (p->rank == 0)
		printf((p->flags & LH_PARTY_FOR_CLUSTER) != 0 ? "  kept by   " :
		    show_state_holds(p) ? "  holder    " : "  lost by   ");
	else
		printf("  waiter %-3" PRIu32, p->rank);
	printf("%s, uid %" PRIu32 ", %s, since %s, ", show_party(name, p),
	    p->uid, show_mode(p->mode), clock_text(d, from, p->since_ns));
	if (p->rank == 0)
		printf("until %s, token %" PRIu64 ", lease %s\n",
		    p->expires_ns == INT64_MAX ? "its end" :
		    p->expires_ns == 0 ? "the end of the host's right" :
		    clock_text(d, to, p->expires_ns), p->token,
		    text_lease_id(id, p->id));
	else
		printf("priority %" PRIu32 ", id %s\n", p->priority,
		    text_lease_id(id, p->id));
}

static int
print_key(const struct lh_dump_key *k, void *arg)
{
	const struct lh_key_info *info = k->info;
	char name[NAME_MAX_TEXT], word[32];
	struct dump *d = arg;
	uint32_t i;
	json_t *o;
	int bad;

	(void)snprintf(word, sizeof(word), "%016" PRIx64, k->word);
	if (d->json) {
		o = show_key_at(d->zero_ms, d->path, info->key, info);
		bad = o == NULL ? -1 :
		    json_object_set_new(o, "slot", json_integer(k->slot)) |
		    json_object_set_new(o, "word", json_string(word));
		return append_json(d, d->keys, o, bad);
	}
	printf("key %s, %s, token %" PRIu64 ", slot %" PRIu32 ", word %s\n",
	    text_name(name, info->key), show_state_is_held_here(info) ? "held" :
	    info->n_holders > 0 ? "held by no process here" :
	    info->inconsistent ? "inconsistent" : "free",
	    info->token, k->slot, word);
	for (i = 0; i < info->n_holders; i++)
		print_party(d, &info->holders[i]);
	for (i = 0; i < info->n_waiters; i++)
		print_party(d, &info->waiters[i]);
	return 0;
}

static void
print_finding(const char *finding, void *arg)
{
	struct dump *d = arg;
	char clean[512];

	(void)text_clean(clean, sizeof(clean), finding, sizeof(clean), false);
	if (!d->json)
		message("%s", clean);
	else if (show_append_text(d->findings, clean) != 0)
		d->no_memory = true;
}

static int
begin_dump(struct dump *d)
{
	if (!d->json)
		return 0;
	d->sessions = json_array();
	d->keys = json_array();
	d->findings = json_array();
	return d->sessions == NULL || d->keys == NULL || d->findings == NULL ?
	    -ENOMEM : 0;
}

static void
free_dump(struct dump *d)
{
	json_decref(d->table);
	json_decref(d->sessions);
	json_decref(d->keys);
	json_decref(d->findings);
}

static int
dump_table(struct dump *d, const struct table_opts *table, const char *file)
{
	static const struct lh_dump_to to = { sizeof(to), print_table,
		print_session, print_key, print_finding };
	int n = begin_dump(d), status;

	if (n == 0)
		n = lh_dump(table->name, file, table->system ? LH_SYSTEM : 0,
		    &to, d);
	if (n == -ENOENT && file == NULL)
		return open_table_missing(table);
	if (n == -ENOENT) {
		message("%s", lh_error_detail());
		return EX_NO;
	}
	if (n < 0)
		return message_error(n, n == -ENOMEM ? NULL : lh_error_detail(),
		    "cannot dump the table");
	status = n == 0 ? EX_YES : EX_DAMAGED;
	if (d->json)
		return show_json(d->no_memory ? NULL : json_pack(
		    "{s:O, s:O, s:O, s:O}", "table", d->table, "sessions",
		    d->sessions, "keys", d->keys, "findings", d->findings),
		    status);
	if (n > 0)
		message("%d findings: the table is damaged", n);
	return output_flush(status);
}

int
verb_dump(int argc, char **argv)
{
	struct table_opts table = { 0 };
	struct dump d = { 0 };
	int status;

	if (!parse_look_opts("dump", help, argc, argv, &table, &status))
		return status;
	if (optind + 1 < argc)
		return usage_error("dump takes one file: '%s' is one too many",
		    argv[optind + 1]);
	if (optind < argc && (table.name != NULL || table.system))
		return usage_error("dump: a file, or --table, --uid and "
		    "--system, not both");
	d.json = table.json;
	status = dump_table(&d, &table, optind < argc ? argv[optind] : NULL);
	free_dump(&d);
	return status;
}
