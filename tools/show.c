/* SPDX-License-Identifier: MIT */
/*
 * Prints a key as JSON, in the form that `list` (an array) and `status` use.
 *
 *	{ "table": "default", "key": "nightly", "state": "held",
 *	  "mode": "exclusive", "token": "42",
 *	  "holders": [ { "lease_id": "...", "pid": 4711, "tid": 4711, "uid": 0,
 *	    "application": "backup", "mode": "exclusive", "token": "42",
 *	    "info": "...", "request": "<32 hex digits>",	(if it has them)
 *	    "policy": "lease", "since_ms": "1790000000000",
 *	    "expires_ms": "1790000030000" } ],
 *	  "waiters": [ { ..., "rank": 1, "priority": 0, "since_ms": "..." } ] }
 *
 * The holder of a lease in a named session is the session: "session" and
 * "application" are its name, "in_session" is true, and "maker_pid" replaces
 * "pid" and "tid".
 *
 * A shared key has one holder for each reader, each with a token of its own.
 * The key's token is that of the latest grant.
 *
 * Numbers of 64 bits are decimal strings, because many JSON parsers keep
 * numbers in a double and would round a token.  Times are milliseconds since
 * 1970.  A lease without a deadline (policy strict) has no expires_ms, nor one
 * with "right_ended" if it is not known when that was.  A free
 * key has no mode; an unknown one ("state": "unknown") has no token, holders
 * or waiters.
 *
 * JSON text is UTF-8, but keys are bytes.  If a key (or application) is not
 * UTF-8, "key" has the printable form with \xNN, and "key_hex" has the bytes.
 * Without key_hex, "key" is the key itself.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <leasehold.h>
#include "advice.h"
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "message.h"
#include "output.h"
#include "show.h"
#include "show_state.h"

int
show_json(json_t *value, int status)
{
	if (value == NULL) {
		message("out of memory");
		return EX_SYSTEM;
	}
	if (json_dumpf(value, stdout, JSON_INDENT(2)) != 0 ||
	    putchar('\n') == EOF)
		status = output_flush(EX_SYSTEM);
	json_decref(value);
	return output_flush(status);
}

const char *
show_mode(uint32_t mode)
{
	return mode == LH_SHARED ? "shared" : "exclusive";
}

const char *
show_run(uint32_t run)
{
	static const char *const words[] = {
		"not to be seen from here", "running", "asleep",
		"blocked in the kernel", "stopped", "dead", "frozen",
		"ended; a process that it started keeps the key"
	};

	return run < sizeof(words) / sizeof(words[0]) ? words[run] : "?";
}

/* The same as one word, for JSON. */
static const char *
run_state_word(uint32_t run)
{
	static const char *const words[] = {
		"unseen", "running", "sleeping", "blocked", "stopped", "dead",
		"frozen", "inherited"
	};

	return run < sizeof(words) / sizeof(words[0]) ? words[run] : "?";
}

const char *
show_order(uint32_t order)
{
	static const char *const names[] = { "bounded", "fifo", "barge" };

	return order < sizeof(names) / sizeof(names[0]) ? names[order] : "?";
}

const char *
show_clock(uint32_t clock)
{
	static const char *const names[] = { "monotonic", "boottime" };

	return clock < sizeof(names) / sizeof(names[0]) ? names[clock] : "?";
}

uint64_t
show_token(const struct lh_key_info *info)
{
	return info->n_holders == 1 && info->holders[0].token != 0 ?
	    info->holders[0].token : info->token;
}

/* Names the scope within which a table's tokens rise. */
const char *
show_tokens(uint32_t global)
{
	return global ? "global" : "key";
}

const char *
show_scope(uint32_t scope)
{
	return scope == LH_LOCAL ? "local" : scope == LH_QUORUM ? "quorum" :
	    "ephemeral";
}

const char *
show_right(uint32_t right)
{
	return right == LH_CLUSTER_SHARED ? "shared" :
	    right == LH_CLUSTER_EXCLUSIVE ? "exclusive" : "none";
}

const char *
show_policy(uint32_t policy)
{
	return policy == LH_POLICY_STRICT ? "strict" :
	    policy == LH_POLICY_LIVE ? "live" : "lease";
}

const char *
show_left(char buf[SPAN_MAX], const struct lh_party *party, int64_t now_ns)
{
	return party->expires_ns == INT64_MAX ? "no end" :
	    (party->flags & LH_PARTY_RIGHT_ENDED) != 0 ? "ended" :
	    text_span(buf, party->expires_ns - now_ns);
}

const struct lh_party *
show_oldest(const struct lh_key_info *info)
{
	const struct lh_party *oldest = info->holders;
	uint32_t i;

	for (i = 1; i < info->n_holders; i++)
		if (info->holders[i].since_ns < oldest->since_ns)
			oldest = &info->holders[i];
	return oldest;
}

const struct lh_party *
show_last(const struct lh_key_info *info)
{
	const struct lh_party *last = info->holders;
	uint32_t i;

	for (i = 1; i < info->n_holders; i++)
		if (info->holders[i].expires_ns > last->expires_ns)
			last = &info->holders[i];
	return last;
}

/* After a pid that is none of ours. */
#define FOREIGN " of another pid namespace"

const char *
show_foreign(const struct lh_party *party)
{
	return (party->flags & LH_PARTY_FOREIGN) != 0 ? FOREIGN : "";
}

const char *
show_party(char buf[PARTY_MAX], const struct lh_party *party)
{
	size_t n;

	if ((party->flags & LH_PARTY_SESSION) != 0) {
		(void)strcpy(buf, "session ");
		n = strlen(buf);
		n += text_clean(buf + n, PARTY_MAX - n - 16 - sizeof(FOREIGN),
		    party->application, LH_APPLICATION_MAX, true);
		if ((party->flags & LH_PARTY_BOUND) != 0)
			(void)snprintf(buf + n, PARTY_MAX - n,
			    "[%" PRIu32 "%s]", party->pid, show_foreign(party));
		return buf;
	}
	n = text_clean(buf, PARTY_MAX - 16 - sizeof(FOREIGN),
	    party->application, LH_APPLICATION_MAX, true);
	(void)snprintf(buf + n, PARTY_MAX - n, "[%" PRIu32 "%s]", party->pid,
	    show_foreign(party));
	return buf;
}

const char *
show_info(char buf[INFO_MAX_TEXT], const char *before,
    const struct lh_party *party)
{
	size_t n = 0;

	buf[0] = '\0';
	if (party->info[0] == '\0')
		return buf;
	while (n < 8 && before[n] != '\0') {
		buf[n] = before[n];
		n++;
	}
	(void)text_clean(buf + n, INFO_MAX_TEXT - n, party->info, LH_INFO_MAX,
	    true);
	return buf;
}

/* Every setter below takes over the new reference, also if it fails. */

int
show_set_u64(json_t *to, const char *name, uint64_t n)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, n);
	return json_object_set_new(to, name, json_string(text));
}

int
show_append_text(json_t *to, const char *text)
{
	json_t *value = json_string(text);

	if (value == NULL)	/* characters that are printable in the
				 * locale */
		value = json_string("(not UTF-8)");
	return json_array_append_new(to, value);
}

/* Adds a point on a clock that was 0 at zero_ms. */
static int
set_time_ms(int64_t zero_ms, json_t *to, const char *name, int64_t clock_ns)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64,
	    zero_ms + clock_ns / 1000000);
	return json_object_set_new(to, name, json_string(text));
}

int
show_set_bytes(json_t *to, const char *name, const char *bytes)
{
	char text[NAME_MAX_TEXT], hex[2 * KEY_MAX + 1], hex_name[32];
	json_t *value = json_string(bytes);
	size_t i, n = strnlen(bytes, KEY_MAX);

	if (value != NULL)
		return json_object_set_new(to, name, value);
	for (i = 0; i < n; i++)
		(void)sprintf(hex + 2 * i, "%02x", (unsigned char)bytes[i]);
	hex[2 * n] = '\0';
	(void)snprintf(hex_name, sizeof(hex_name), "%s_hex", name);
	if (json_object_set_new(to, hex_name, json_string(hex)) != 0)
		return -1;
	/* Text that is printable in the locale need not be UTF-8. */
	value = json_string(text_name(text, bytes));
	if (value == NULL)
		value = json_string(hex);
	return json_object_set_new(to, name, value);
}

/* Adds the members that only some holders and waiters have. */
static int
set_optional_members(json_t *o, int64_t zero_ms, const struct lh_party *p)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{ LH_PARTY_SHAREABLE, "shareable" },
		{ LH_PARTY_SUSPECT, "suspect" },
		{ LH_PARTY_STARVING, "starving" },
		{ LH_PARTY_UPGRADE, "upgrade" },
		{ LH_PARTY_SESSION, "in_session" },
		{ LH_PARTY_ENDS_WITH_SESSION, "ends_with_session" },
		{ LH_PARTY_BOUND, "bound" },
		{ LH_PARTY_FOR_CLUSTER, "for_cluster" },
		{ LH_PARTY_ENDS_WITH_RIGHT, "ends_with_right" },
		{ LH_PARTY_RIGHT_ENDED, "right_ended" },
	};
	int bad = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if ((p->flags & flags[i].flag) != 0)
			bad |= json_object_set_new(o, flags[i].name,
			    json_true());
	if (p->run != LH_RUN_UNSEEN)
		bad |= json_object_set_new(o, "run",
		    json_string(run_state_word(p->run)));
	if (p->waits_for != NULL) {
		bad |= show_set_bytes(o, "waits_for", p->waits_for);
		bad |= set_time_ms(zero_ms, o, "waits_since_ms",
		    p->waits_since_ns);
		if (p->waits_pid != 0)
			bad |= json_object_set_new(o, "waits_pid",
			    json_integer(p->waits_pid));
	}
	return bad;
}

json_t *
show_party_json(int64_t zero_ms, const struct lh_party *p)
{
	char id[LEASE_ID_MAX];
	json_t *o;
	int bad;

	o = json_pack("{s:s, s:I, s:s}",
	    "lease_id", text_lease_id(id, p->id),
	    "uid", (json_int_t)p->uid, "mode", show_mode(p->mode));
	if (o == NULL)
		return NULL;
	/* the process that opened a session does not hold its leases and may be
	 * dead */
	if ((p->flags & LH_PARTY_SESSION) != 0) {
		bad = show_set_bytes(o, "session", p->application);
		bad |= json_object_set_new(o, (p->flags & LH_PARTY_BOUND) != 0 ?
		    "bound_pid" : "maker_pid", json_integer(p->pid));
	} else {
		bad = json_object_set_new(o, "pid", json_integer(p->pid));
		bad |= json_object_set_new(o, "tid", json_integer(p->tid));
	}
	if ((p->flags & LH_PARTY_FOREIGN) != 0)
		bad |= json_object_set_new(o, "foreign", json_true());
	bad |= show_set_bytes(o, "application", p->application);
	if (p->info[0] != '\0')
		bad |= show_set_bytes(o, "info", p->info);
	if ((p->request[0] | p->request[1]) != 0)
		bad |= json_object_set_new(o, "request",
		    json_string(text_lease_id(id, p->request)));
	bad |= set_time_ms(zero_ms, o, "since_ms", p->since_ns);
	if (p->rank == 0) {
		if (p->token != 0)	/* just granted, not yet noticed by
					 * the waiter */
			bad |= show_set_u64(o, "token", p->token);
		bad |= json_object_set_new(o, "policy",
		    json_string(show_policy(p->policy)));
		if (p->expires_ns != INT64_MAX && p->expires_ns != 0)
			bad |= set_time_ms(zero_ms, o, "expires_ms",
			    p->expires_ns);
	} else {
		bad |= json_object_set_new(o, "rank", json_integer(p->rank));
		bad |= json_object_set_new(o, "priority",
		    json_integer(p->priority));
	}
	bad |= set_optional_members(o, zero_ms, p);
	if (bad != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *
parties_json(int64_t zero_ms, const struct lh_party *p, uint32_t n)
{
	json_t *all = json_array();
	uint32_t i;

	for (i = 0; all != NULL && i < n; i++) {
		if (json_array_append_new(all,
		    show_party_json(zero_ms, &p[i])) != 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

json_t *
show_key(struct lh *lh, const char *table, const char *key,
    const struct lh_key_info *info)
{
	return show_key_at(info == NULL ? 0 : lh_epoch_ms(lh, 0), table, key,
	    info);
}

json_t *
show_key_at(int64_t zero_ms, const char *table, const char *key,
    const struct lh_key_info *info)
{
	static const char *const others[] = {
		"not asked", "nobody", "held", "unknown"
	};
	const char *state = "unknown";
	json_t *o = json_object();
	int bad;

	if (o == NULL)
		return NULL;
	if (info != NULL)
		state = show_state_words(show_state(info));
	bad = json_object_set_new(o, "table", json_string(table));
	bad |= show_set_bytes(o, "key", key);
	bad |= json_object_set_new(o, "state", json_string(state));
	if (info != NULL) {
		if (info->n_holders > 0)
			bad |= json_object_set_new(o, "mode",
			    json_string(show_mode(info->mode)));
		bad |= show_set_u64(o, "token", info->token);
		bad |= json_object_set_new(o, "scope",
		    json_string(show_scope(info->scope)));
		if (info->value_len > 0)
			bad |= json_object_set_new(o, "value_bytes",
			    json_integer(info->value_len));
		bad |= json_object_set_new(o, "holders",
		    parties_json(zero_ms, info->holders, info->n_holders));
		if (info->cluster != LH_CLUSTER_LOCAL)
			bad |= json_object_set_new(o, "right",
			    json_string(show_right(info->cluster)));
		if (info->elsewhere != NULL)
			bad |= json_object_set_new(o, "cluster",
			    json_string(info->elsewhere));
		if (info->others != LH_OTHERS_UNASKED)
			bad |= json_object_set_new(o, "elsewhere",
			    json_string(others[info->others % 4]));
		if (info->inconsistent)
			bad |= json_object_set_new(o, "inconsistent",
			    json_true());
		if (info->delayed_ns > 0)
			bad |= show_set_u64(o, "delayed_ms",
			    (uint64_t)info->delayed_ns / 1000000);
		bad |= json_object_set_new(o, "waiters",
		    parties_json(zero_ms, info->waiters, info->n_waiters));
	}
	if (bad != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

const char *
show_fence_lost(const struct lh_stats *s)
{
	return s->fence_lost == LH_FENCE_LOST ? "the latest range of tokens is "
	    "missing in the fence directory, and no other can be claimed: "
	    "acquires in scope local fail until the directory is back" :
	    s->fence_lost == LH_FENCE_REPLACED ? "files of the fence directory "
	    "were lost: another range of tokens was claimed, and no token "
	    "repeats while the table's memory lasts; see who removed them" :
	    NULL;
}

const char *
show_fence_state(const struct lh_stats *s)
{
	return s->fence_lost == LH_FENCE_LOST ? "lost" :
	    s->fence_lost == LH_FENCE_REPLACED ? "replaced" : "there";
}

#define DAY_NS (24 * INT64_C(3600000000000))

const char *
show_life(const struct lh_stats *s, const struct table_opts *table)
{
	static char text[ADVICE_MAX + 160];

	if (s->life_left_ns > 365 * DAY_NS)
		return NULL;
	if (s->life_left_ns == 0)
		(void)snprintf(text, sizeof(text), "nothing is granted or "
		    "extended here any more, because the table is too old: "
		    "remove it (%s) and make it anew", ADVICE(table, "rm"));
	else
		(void)snprintf(text, sizeof(text), "%" PRId64 " days more, "
		    "then nothing is granted here: before that, remove the "
		    "table (%s) and make it anew", s->life_left_ns / DAY_NS,
		    ADVICE(table, "rm"));
	return text;
}
