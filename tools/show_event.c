/* SPDX-License-Identifier: MIT */
/*
 * Prints an event of the flight recorder in words and as JSON. In words it is
 * one line: the time, the process, the key, the event.  A key that is no longer
 * in the table is shown by its hash.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "show.h"
#include "show_event.h"

const char *
show_event_who(char buf[PARTY_MAX], const struct lh_log_entry *e)
{
	struct lh_party p = { .pid = e->pid };

	memcpy(p.application, e->application, sizeof(p.application));
	if (e->visitor)
		(void)strcpy(buf, "(no session)");
	else if (e->session_id == 0)
		(void)strcpy(buf, "?");
	else
		(void)show_party(buf, &p);
	return buf;
}

const char *
show_event_moment(char buf[MOMENT_MAX], int64_t epoch_ms)
{
	time_t s = (time_t)(epoch_ms / 1000);
	struct tm tm;

	if (localtime_r(&s, &tm) == NULL ||
	    strftime(buf, MOMENT_MAX - 8, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)strcpy(buf, "?");
	else
		(void)sprintf(buf + strlen(buf), ".%03d",
		    (int)(epoch_ms % 1000));
	return buf;
}

/* (No default here and in describe_event(), so that the compiler reports a kind
 * without words.) */
static const char *
kind_name(const struct lh_log_entry *e)
{
	switch ((enum lh_log_kind)e->kind) {
	case LH_LOG_SESSION_BEGAN:
		return "session-began";
	case LH_LOG_SESSION_ENDED:
		return "session-ended";
	case LH_LOG_WAIT_BEGAN:
		return "wait-began";
	case LH_LOG_WAIT_GRANTED:
		return "wait-granted";
	case LH_LOG_TIMED_OUT:
		return "timed-out";
	case LH_LOG_CANCELLED:
		return "cancelled";
	case LH_LOG_GRANTED:
		return "granted";
	case LH_LOG_RELEASED:
		return "released";
	case LH_LOG_CONVERTED:
		return "converted";
	case LH_LOG_TOLD_LOST:
		return "told-lost";
	case LH_LOG_EXPIRED:
		return "expired";
	case LH_LOG_FREED_DEAD:
		return "freed-dead";
	case LH_LOG_FOUND_DEAD:
		return "found-dead";
	case LH_LOG_BURIED:
		return "buried";
	case LH_LOG_KEY_MADE:
		return "key-made";
	case LH_LOG_EVICTED:
		return "evicted";
	case LH_LOG_GRANTS_ON:
		return "grants-on";
	case LH_LOG_GRANTS_OFF:
		return "grants-off";
	case LH_LOG_BROKEN:
		return "broken";
	case LH_LOG_HANDED_OVER:
		return "handed-over";
	}
	return "unknown";
}

static const char *const endings[] = {
	[LH_ENDED_RELEASED] = "released", [LH_ENDED_DIED] = "died",
	[LH_ENDED_EXPIRED] = "expired", [LH_ENDED_BROKEN] = "broken",
};

#define OTHER_MAX (PARTY_MAX + 16)

const char *
show_event_other(char buf[PARTY_MAX], const struct lh_log_entry *e)
{
	struct lh_party p = { .pid = e->other_pid,
	    .flags = e->other_named ? LH_PARTY_SESSION : 0 };

	memcpy(p.application, e->other_application, sizeof(p.application));
	if (e->other == LH_NO_RECORD)
		buf[0] = '\0';
	else if (e->other_named && p.application[0] == '\0')
		(void)strcpy(buf, "a named session");
	else if (!e->other_named && e->other_pid == 0)
		(void)strcpy(buf, "a process");
	else
		(void)show_party(buf, &p);
	return buf;
}

/* Names the owner of the lease in the event. */
static const char *
other_lease(char buf[OTHER_MAX], const struct lh_log_entry *e)
{
	static const char of[] = "the lease of ";

	if (e->other == LH_NO_RECORD)
		return "its own lease";
	(void)strcpy(buf, of);
	(void)show_event_other(buf + sizeof(of) - 1, e);
	return buf;
}

/* Describes the event, to be printed after the process and the key. */
static void
describe_event(char *buf, size_t room, const struct lh_log_entry *e)
{
	static const char *const before[] = { "",
	    "; the one before died", "; the one before let it run out",
	    "; the one before was made to give it up" };
	static const char *const lost[] = { "", ", its process had died",
	    ", it had run out", ", it was broken" };
	const char *mode = e->mode == LH_SHARED ? ", shared" : "";
	char other[OTHER_MAX];

	switch ((enum lh_log_kind)e->kind) {
	case LH_LOG_SESSION_BEGAN:
		(void)snprintf(buf, room, "attached");
		return;
	case LH_LOG_SESSION_ENDED:
		(void)snprintf(buf, room, "detached, with its leases");
		return;
	case LH_LOG_WAIT_BEGAN:
		(void)snprintf(buf, room, "begins to wait%s", mode);
		return;
	case LH_LOG_WAIT_GRANTED:
		(void)snprintf(buf, room, "has it after waiting%s%s", mode,
		    before[e->ending & 3]);
		return;
	case LH_LOG_TIMED_OUT:
		(void)snprintf(buf, room, "waited for too long%s", mode);
		return;
	case LH_LOG_CANCELLED:
		(void)snprintf(buf, room, "its wait was cancelled%s", mode);
		return;
	case LH_LOG_GRANTED:
		(void)snprintf(buf, room, "has it%s%s", mode,
		    before[e->ending & 3]);
		return;
	case LH_LOG_RELEASED:
		(void)snprintf(buf, room, "released it%s", mode);
		return;
	case LH_LOG_CONVERTED:
		(void)snprintf(buf, room, "made its lease %s",
		    show_mode(e->mode));
		return;
	case LH_LOG_TOLD_LOST:
		(void)snprintf(buf, room, "learnt that it has lost it%s",
		    lost[e->ending & 3]);
		return;
	case LH_LOG_EXPIRED:
		(void)snprintf(buf, room, "ended %s, which had run out",
		    other_lease(other, e));
		return;
	case LH_LOG_FREED_DEAD:
		(void)snprintf(buf, room, "ended %s, which had %s",
		    other_lease(other, e), !e->other_named ? "died" :
		    e->ending == LH_ENDED_RELEASED ? "been destroyed" :
		    "ended");
		return;
	case LH_LOG_BROKEN:
		(void)snprintf(buf, room, "broke %s",
		    other_lease(other, e));
		return;
	case LH_LOG_FOUND_DEAD:
		(void)snprintf(buf, room, "found %s %s",
		    show_event_other(other, e), e->other_named ? "ended" :
		    "dead");
		return;
	case LH_LOG_BURIED:
		(void)snprintf(buf, room, "cleared away what %s had left",
		    show_event_other(other, e));
		return;
	case LH_LOG_KEY_MADE:
		(void)snprintf(buf, room, "made the key");
		return;
	case LH_LOG_EVICTED:
		(void)snprintf(buf, room, "removed the key: destroyed, or to "
		    "make room");
		return;
	case LH_LOG_GRANTS_ON:
		(void)snprintf(buf, room, "switched grants on");
		return;
	case LH_LOG_GRANTS_OFF:
		(void)snprintf(buf, room, "switched grants off");
		return;
	case LH_LOG_HANDED_OVER:
		if (e->other == LH_NO_RECORD)
			(void)snprintf(buf, room, "took a lease over%s", mode);
		else
			(void)snprintf(buf, room, "handed it over to %s%s",
			    show_event_other(other, e), mode);
		return;
	}
	(void)snprintf(buf, room, "event of a kind that this version does not "
	    "know (%" PRIu32 ")", e->kind);
}

void
show_event_print(const struct lh_log_entry *e)
{
	char when[MOMENT_MAX], who[PARTY_MAX], name[NAME_MAX_TEXT];
	char what[PARTY_MAX + 96];

	describe_event(what, sizeof(what), e);
	printf("%s %s", show_event_moment(when, e->epoch_ms),
	    show_event_who(who, e));
	if (e->key != NULL)
		printf(" %s:", text_name(name, e->key));
	else if (e->key_hash != 0)
		printf(" key #%016" PRIx64 ":", e->key_hash);
	printf(" %s", what);
	if (e->token != 0)
		printf(", token %" PRIu64, e->token);
	printf("\n");
}

json_t *
show_event_json(const struct lh_log_entry *e)
{
	char hash[20];
	json_t *o = json_pack("{s:s, s:I, s:s, s:s}", "kind", kind_name(e),
	    "record", (json_int_t)e->record, "mode", show_mode(e->mode),
	    "ending", endings[e->ending & 3]);
	int bad = 0;

	(void)snprintf(hash, sizeof(hash), "%016" PRIx64, e->key_hash);
	bad |= show_set_u64(o, "time_ms", (uint64_t)e->epoch_ms);
	bad |= show_set_u64(o, "clock_ns", (uint64_t)e->time_ns);
	bad |= show_set_u64(o, "number", e->number);
	if (e->session_id != 0) {
		bad |= show_set_u64(o, "session", e->session_id);
		bad |= json_object_set_new(o, "pid", json_integer(e->pid));
		bad |= json_object_set_new(o, "uid", json_integer(e->uid));
	}
	if (e->visitor)
		bad |= json_object_set_new(o, "visitor", json_true());
	if (e->application[0] != '\0')
		bad |= show_set_bytes(o, "application", e->application);
	if (e->other != LH_NO_RECORD) {
		bad |= json_object_set_new(o, "other_record",
		    json_integer(e->other));
		if (e->other_pid != 0)
			bad |= json_object_set_new(o, e->other_named ?
			    "other_maker_pid" : "other_pid",
			    json_integer(e->other_pid));
		if (e->other_session_id != 0)
			bad |= show_set_u64(o, "other_session",
			    e->other_session_id);
		if (e->other_application[0] != '\0')
			bad |= show_set_bytes(o, e->other_named ?
			    "other_session_name" : "other_application",
			    e->other_application);
	}
	if (e->token != 0)
		bad |= show_set_u64(o, "token", e->token);
	if (e->key_hash != 0)
		bad |= json_object_set_new(o, "hash", json_string(hash));
	if (e->key != NULL)
		bad |= show_set_bytes(o, "key", e->key);
	if (bad == 0)
		return o;
	json_decref(o);
	return NULL;
}
