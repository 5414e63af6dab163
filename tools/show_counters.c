/* SPDX-License-Identifier: MIT */
/*
 * Prints counters in words and as JSON. The words are a selection for people;
 * JSON has all counters, as strings of digits, under their names in struct
 * lh_counters.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "show.h"
#include "show_counters.h"

/* Formats microseconds like text_span(): "3.2 ms" and the like. */
static const char *
us_text(char buf[SPAN_MAX], uint64_t us)
{
	if (us < 1000)
		(void)snprintf(buf, SPAN_MAX, "%" PRIu64 " us", us);
	else if (us < 1000000)
		(void)snprintf(buf, SPAN_MAX, "%" PRIu64 ".%" PRIu64 " ms",
		    us / 1000, us / 100 % 10);
	else
		(void)snprintf(buf, SPAN_MAX, "%" PRIu64 ".%" PRIu64 " s",
		    us / 1000000, us / 100000 % 10);
	return buf;
}

/* Returns a time that this many hundredths of the spans were shorter than; 0 if
 * some were longer than the largest bucket. */
static uint64_t
percentile_us(const uint64_t class[LH_HISTOGRAM], uint64_t all,
    unsigned percent, bool hold)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LH_HISTOGRAM - 1; i++) {
		n += class[i];
		if (n >= all - all * (100 - percent) / 100)
			return hold ? LH_HOLD_BOUND_US(i) :
			    LH_WAIT_BOUND_US(i);
	}
	return 0;
}

static void
print_times(const char *label, const char *what,
    const uint64_t class[LH_HISTOGRAM], uint64_t n, uint64_t us, bool hold)
{
	char mean[SPAN_MAX], most[SPAN_MAX];
	uint64_t within = percentile_us(class, n, 99, hold);

	if (n == 0)
		return;
	printf("%-10s%s %s on average", label, what, us_text(mean, us / n));
	if (within > 0)
		printf(", 99 of 100 less than %s", us_text(most, within));
	printf("\n");
}

void
show_counters_text(const struct lh_stats *s)
{
	const struct lh_counters *c = &s->counters;

	printf("%-10s%" PRIu64 " times, %" PRIu64 " of them shared, %" PRIu64
	    " before somebody who waited\n", "acquired", c->acquired,
	    c->shared, c->barges);
	printf("%-10s%" PRIu64 " were begun, %" PRIu64 " ended in a grant\n",
	    "waits", c->waits, c->waited);
	print_times("", "which took", c->wait, c->waited, c->wait_us, false);
	printf("%-10s%" PRIu64 " found it busy, %" PRIu64 " timed out, %"
	    PRIu64 " were cancelled\n", "failed", c->busy, c->timeouts,
	    c->cancelled);
	printf("%-10s%" PRIu64 " ran out, %" PRIu64 " died with their process "
	    "or session, "
	    "%" PRIu64 " were broken\n", "lost",
	    c->expired_own + c->expired_others, c->died, c->broken);
	printf("%-10s%" PRIu64 " extended, %" PRIu64 " converted\n", "renewed",
	    c->extends, c->converts);
	printf("%-10s%" PRIu64 " found dead, %" PRIu64 " looks could not tell"
	    "\n", "sessions", c->deaths, c->blind);
	printf("%-10s%" PRIu64 " made, %" PRIu64 " forgotten to make room\n",
	    "keys", c->keys_made, c->evictions);
	print_times("held", "for", c->hold, c->held, c->hold_us, true);
}

void
show_counters_session(struct lh *lh, const struct lh_session_stats *s)
{
	struct lh_party p = { .pid = s->pid };
	char who[PARTY_MAX], span[SPAN_MAX];

	for (int i = 0; i < LH_APPLICATION_MAX; i++)
		p.application[i] = s->application[i];
	printf("%s: %s%s, acquired %" PRIu64 ", waited %" PRIu64 ", failed %"
	    PRIu64 ", told of a loss %" PRIu64 "\n", show_party(who, &p),
	    s->dead ? "dead, attached for " : "attached for ",
	    text_span(span, lh_clock_ns(lh) - s->attached_ns),
	    s->counters.acquired, s->counters.waits,
	    s->counters.busy + s->counters.timeouts + s->counters.cancelled,
	    s->counters.told_lost);
}

static int
set_classes(json_t *o, const char *name, const uint64_t class[LH_HISTOGRAM],
    bool hold)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < LH_HISTOGRAM; i++) {
		json_t *one = json_object();

		if ((i < LH_HISTOGRAM - 1 && show_set_u64(one, "below_us",
		    hold ? LH_HOLD_BOUND_US(i) : LH_WAIT_BOUND_US(i)) != 0) ||
		    show_set_u64(one, "count", class[i]) != 0 ||
		    json_array_append_new(list, one) != 0) {
			json_decref(list);
			return -1;
		}
	}
	return json_object_set_new(o, name, list);
}

#define MEMBER(name) { #name, offsetof(struct lh_counters, name) }

static const struct {
	const char *name;
	size_t at;
} members[] = {
	MEMBER(acquired), MEMBER(shared), MEMBER(barges), MEMBER(waits),
	MEMBER(waited), MEMBER(busy), MEMBER(timeouts), MEMBER(cancelled),
	MEMBER(deadlocks), MEMBER(retired), MEMBER(extends), MEMBER(converts),
	MEMBER(expired_own), MEMBER(expired_others), MEMBER(died),
	MEMBER(broken), MEMBER(told_lost), MEMBER(deaths),
	MEMBER(completions), MEMBER(keys_made), MEMBER(evictions),
	MEMBER(wait_us), MEMBER(away), MEMBER(blind),
};

json_t *
show_counters_json(const struct lh_counters *c, bool hold_times)
{
	json_t *o = json_object();
	int bad = 0;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		bad |= show_set_u64(o, members[i].name,
		    *(const uint64_t *)((const char *)c + members[i].at));
	bad |= set_classes(o, "wait", c->wait, false);
	if (hold_times) {
		bad |= show_set_u64(o, "held", c->held);
		bad |= show_set_u64(o, "hold_us", c->hold_us);
		bad |= set_classes(o, "hold", c->hold, true);
	}
	if (bad == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *
show_counters_session_json(struct lh *lh, const struct lh_session_stats *s)
{
	json_t *o = json_pack("{s:I, s:I, s:b, s:I}", "pid",
	    (json_int_t)s->pid, "uid", (json_int_t)s->uid, "dead",
	    (int)s->dead, "leases_reserved", (json_int_t)s->leases_reserved);

	if (o != NULL && (show_set_u64(o, "id", s->id) != 0 ||
	    show_set_bytes(o, "application", s->application) != 0 ||
	    show_set_u64(o, "attached_ms", (uint64_t)lh_epoch_ms(lh,
	    s->attached_ns)) != 0 ||
	    json_object_set_new(o, "counters",
	    show_counters_json(&s->counters, false)) != 0)) {
		json_decref(o);
		o = NULL;
	}
	return o;
}
