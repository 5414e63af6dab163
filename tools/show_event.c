/* SPDX-License-Identifier: MIT */
/*
 * An event of the flight recorder in words and in JSON.  In words a line: when,
 * who, which key, what; a key that is not in the table any more is its hash.
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
		(void)strcpy(buf, "reaper");
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

static const char *const kinds[] = {
	[LH_LOG_SESSION_BEGAN] = "session-began",
	[LH_LOG_SESSION_ENDED] = "session-ended",
	[LH_LOG_WAIT_BEGAN] = "wait-began",
	[LH_LOG_WAIT_GRANTED] = "wait-granted",
	[LH_LOG_TIMED_OUT] = "timed-out",
	[LH_LOG_CANCELLED] = "cancelled",
	[LH_LOG_GRANTED] = "granted",
	[LH_LOG_RELEASED] = "released",
	[LH_LOG_CONVERTED] = "converted",
	[LH_LOG_TOLD_LOST] = "told-lost",
	[LH_LOG_EXPIRED] = "expired",
	[LH_LOG_FREED_DEAD] = "freed-dead",
	[LH_LOG_FOUND_DEAD] = "found-dead",
	[LH_LOG_BURIED] = "buried",
	[LH_LOG_KEY_MADE] = "key-made",
	[LH_LOG_EVICTED] = "evicted",
	[LH_LOG_GRANTS_ON] = "grants-on",
	[LH_LOG_GRANTS_OFF] = "grants-off",
	[LH_LOG_BROKEN] = "broken",
};

static const char *
kind_name(const struct lh_log_entry *e)
{
	return e->kind < sizeof(kinds) / sizeof(kinds[0]) &&
	    kinds[e->kind] != NULL ? kinds[e->kind] : "unknown";
}

static const char *const endings[] = {
	[LH_ENDED_RELEASED] = "released", [LH_ENDED_DIED] = "died",
	[LH_ENDED_EXPIRED] = "expired", [LH_ENDED_BROKEN] = "broken",
};

/* "worker 4711's", for somebody else's. */
static const char *
other_owner(char buf[32], const struct lh_log_entry *e)
{
	if (e->other == LH_NO_RECORD)
		(void)strcpy(buf, "its own");
	else
		(void)snprintf(buf, 32, "[%" PRIu32 "]'s", e->other_pid);
	return buf;
}

/* What was done, to go behind who did it and to which key. */
static void
describe_event(char *buf, size_t room, const struct lh_log_entry *e)
{
	static const char *const before[] = { "",
	    "; the one before died", "; the one before let it run out",
	    "; the one before was made to give it up" };
	static const char *const lost[] = { "", ", its process had died",
	    ", it had run out", ", it was broken" };
	const char *mode = e->mode == LH_SHARED ? ", shared" : "";
	char other[32];

	switch (e->kind) {
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
		(void)snprintf(buf, room, "was told that it has lost it%s",
		    lost[e->ending & 3]);
		return;
	case LH_LOG_EXPIRED:
		(void)snprintf(buf, room, "ended %s lease, which had run out",
		    other_owner(other, e));
		return;
	case LH_LOG_FREED_DEAD:
		(void)snprintf(buf, room, "ended %s lease, which had died",
		    other_owner(other, e));
		return;
	case LH_LOG_BROKEN:
		(void)snprintf(buf, room, "broke %s lease",
		    other_owner(other, e));
		return;
	case LH_LOG_FOUND_DEAD:
		(void)snprintf(buf, room, "found [%" PRIu32 "] dead",
		    e->other_pid);
		return;
	case LH_LOG_BURIED:
		(void)snprintf(buf, room, "cleared away what [%" PRIu32
		    "] had left", e->other_pid);
		return;
	case LH_LOG_KEY_MADE:
		(void)snprintf(buf, room, "made the key");
		return;
	case LH_LOG_EVICTED:
		(void)snprintf(buf, room, "forgot the key, to make room");
		return;
	case LH_LOG_GRANTS_ON:
		(void)snprintf(buf, room, "switched grants on");
		return;
	case LH_LOG_GRANTS_OFF:
		(void)snprintf(buf, room, "switched grants off");
		return;
	default:
		(void)snprintf(buf, room, "event %" PRIu32, e->kind);
	}
}

void
show_event_print(const struct lh_log_entry *e)
{
	char when[MOMENT_MAX], who[PARTY_MAX], name[NAME_MAX_TEXT], what[96];

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
		bad |= json_object_set_new(o, "other_pid",
		    json_integer(e->other_pid));
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
