/* SPDX-License-Identifier: MIT */
/*
 * Measures how busy a table and its keys are.
 *
 * Grants of a key are not counted, but each grant's token is larger by one.  So
 * the difference of two tokens is the number of grants in between.  A jump to
 * another range of tokens is larger than any possible number of grants and is
 * ignored.  Counters of the whole table come from lh_stats().
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <leasehold.h>
#include "daemon/text.h"
#include "rates.h"
#include "show.h"
#include "show_state.h"

#define JUMP (UINT64_C(1) << 31)
#define NS_PER_S 1e9

/* The widths of all columns but the first, with the space before them. */
#define WHO_COLUMNS 20
#define REST_COLUMNS (WHO_COLUMNS + 9 + 9 + 9 + 10)
#define KEY_COLUMNS_MIN 12

static void
fill_key(struct rates_key *k, const struct lh_key_info *info, int64_t now)
{
	char name[PARTY_MAX];

	memset(k, 0, sizeof(*k));
	(void)strncpy(k->key, info->key, KEY_MAX);
	(void)strcpy(k->who, "-");
	k->token = info->token;
	k->holders = show_state_is_held_here(info) ? info->n_holders : 0;
	k->waiters = info->n_waiters;
	k->held_ns = k->waited_ns = -1;
	if (k->holders > 0) {
		const struct lh_party *p = show_oldest(info);

		k->held_ns = now > p->since_ns ? now - p->since_ns : 0;
		(void)snprintf(k->who, sizeof(k->who), "%s",
		    show_party(name, p));
	}
	if (k->holders > 1)
		(void)snprintf(k->who, sizeof(k->who), "%" PRIu32 " readers",
		    info->n_holders);
	for (uint32_t i = 0; i < info->n_waiters; i++) {
		int64_t waited = now - info->waiters[i].since_ns;

		if (waited > k->waited_ns)
			k->waited_ns = waited;
	}
}

static int
add_key(const struct lh_key_info *info, void *arg)
{
	struct rates *l = arg;

	if (l->n == l->room) {
		size_t room = l->room == 0 ? 64 : 2 * l->room;
		struct rates_key *p;

		p = reallocarray(l->keys, room, sizeof(*p));
		if (p == NULL)
			return -ENOMEM;
		l->keys = p;
		l->room = room;
	}
	fill_key(&l->keys[l->n++], info, l->at_ns);
	l->held += show_state_is_held_here(info);
	l->waiters += info->n_waiters;
	return 0;
}

static int
compare_name(const void *a, const void *b)
{
	const struct rates_key *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static double
rate_per_s(uint64_t now, uint64_t before, double s)
{
	return now > before && now - before < JUMP && s > 0 ?
	    (double)(now - before) / s : 0;
}

static void
compute_rates(struct rates *l, const struct rates *before)
{
	const struct lh_counters *now = &l->stats.counters;
	const struct lh_counters *was = &before->stats.counters;
	double s = (double)(l->at_ns - before->at_ns) / NS_PER_S;
	size_t i;

	l->acquired = rate_per_s(now->acquired, was->acquired, s);
	l->waits = rate_per_s(now->waits, was->waits, s);
	l->timeouts = rate_per_s(now->timeouts, was->timeouts, s);
	for (i = 0; i < l->n && before->n > 0; i++) {
		const struct rates_key *k = bsearch(&l->keys[i], before->keys,
		    before->n, sizeof(*k), compare_name);

		if (k != NULL)
			l->keys[i].grants = rate_per_s(l->keys[i].token,
			    k->token, s);
	}
}

int
rates_read(struct rates *l, struct lh *lh, const struct rates *before)
{
	struct rates_key **busy;
	int e;

	l->n = l->n_busy = 0;
	l->held = l->waiters = 0;
	l->acquired = l->waits = l->timeouts = 0;
	l->at_ns = lh_clock_ns(lh);
	l->stats.size = sizeof(l->stats);
	e = lh_stats(lh, &l->stats);
	if (l->stats.sessions > 0 && lh_session_id(lh) != 0)
		l->stats.sessions--;	/* our own, if we have one */
	if (e == 0)
		e = lh_list(lh, NULL, add_key, l);
	if (e != 0 || l->n == 0)
		return e;
	qsort(l->keys, l->n, sizeof(l->keys[0]), compare_name);
	if (before->at_ns != 0)
		compute_rates(l, before);
	busy = reallocarray(l->busy, l->n, sizeof(*busy));
	if (busy == NULL)
		return -ENOMEM;
	l->busy = busy;
	rates_select(l, "");
	return 0;
}

void
rates_select(struct rates *l, const char *part)
{
	l->n_busy = 0;
	for (size_t i = 0; l->busy != NULL && i < l->n; i++) {
		struct rates_key *k = &l->keys[i];

		if ((k->holders > 0 || k->waiters > 0 || k->grants > 0) &&
		    strstr(k->key, part) != NULL)
			l->busy[l->n_busy++] = k;
	}
}

void
rates_free(struct rates *l)
{
	free(l->keys);
	free(l->busy);
	memset(l, 0, sizeof(*l));
}

static int
compare_falling(double a, double b)
{
	return (a < b) - (a > b);
}

/*
 * Few keys are busy, so ties are common: compares all fields before the name.
 */
static int
compare_keys(const struct rates_key *x, const struct rates_key *y,
    enum rates_order first)
{
	int by[] = {
		[RATES_BY_WAITERS] = compare_falling(x->waiters, y->waiters),
		    [RATES_BY_HELD] = compare_falling((double)x->held_ns,
		    (double)y->held_ns), [RATES_BY_GRANTS] =
		    compare_falling(x->grants, y->grants), [RATES_BY_KEY] =
		    strcmp(x->key, y->key), };
	int o = by[first];

	for (int i = RATES_BY_WAITERS; o == 0 && i <= RATES_BY_KEY; i++)
		o = by[i];
	return o;
}

static int
compare_in_order(const void *a, const void *b, void *order)
{
	return compare_keys(*(struct rates_key *const *)a,
	    *(struct rates_key *const *)b, *(enum rates_order *)order);
}

void
rates_sort(struct rates *l, enum rates_order order)
{
	if (l->n_busy > 0)
		qsort_r(l->busy, l->n_busy, sizeof(l->busy[0]),
		    compare_in_order, &order);
}

/* Appends text, cut or filled to that many columns.  It must be printable
 * (text.c). A byte that the locale cannot decode counts as one column. */
static size_t
append_column(char *buf, size_t at, const char *text, int columns)
{
	mbstate_t state;
	wchar_t wide;

	memset(&state, 0, sizeof(state));
	while (*text != '\0' && at + 8 < RATES_LINE_MAX) {
		size_t n = mbrtowc(&wide, text, 4, &state);
		int width = 1;

		if (n == 0 || n > 4) {
			memset(&state, 0, sizeof(state));
			n = 1;
		} else {
			width = wcwidth(wide) > 0 ? wcwidth(wide) : 0;
		}
		if (width > columns)
			break;
		memcpy(buf + at, text, n);
		at += n;
		text += n;
		columns -= width;
	}
	for (; columns > 0 && at + 1 < RATES_LINE_MAX; columns--)
		buf[at++] = ' ';
	buf[at] = '\0';
	return at;
}

const char *
rates_fit(char buf[RATES_LINE_MAX], const char *text, int columns)
{
	(void)append_column(buf, 0, text, columns);
	return buf;
}

const char *
rates_table_line(char buf[RATES_LINE_MAX], const struct rates *l,
    const char *table, int columns)
{
	char text[512], reaper[48] = "no reaper";

	if (l->stats.reaper_pid != 0)
		(void)snprintf(reaper, sizeof(reaper), "reaper %" PRIu32,
		    l->stats.reaper_pid);
	(void)snprintf(text, sizeof(text), "table %s: %" PRIu32 " keys, %"
	    PRIu32 " held, %" PRIu32 " waiting, %" PRIu32 " sessions, %s%s",
	    table, l->stats.keys, l->held, l->waiters, l->stats.sessions,
	    reaper, l->stats.damaged ? ", DAMAGED" : "");
	(void)append_column(buf, 0, text, columns);
	return buf;
}

const char *
rates_total_line(char buf[RATES_LINE_MAX], const struct rates *l, int columns)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "a second: %.1f acquired, %.1f "
	    "waits begun, %.1f timed out", l->acquired, l->waits, l->timeouts);
	(void)append_column(buf, 0, text, columns);
	return buf;
}

static int
key_columns(int columns)
{
	columns -= REST_COLUMNS;
	return columns > KEY_COLUMNS_MIN ? columns : KEY_COLUMNS_MIN;
}

static const char *
join_columns(char buf[RATES_LINE_MAX], int columns, const char *key,
    const char *who, const char *held, const char *waiters,
    const char *waited, const char *grants)
{
	char text[128];
	size_t at = append_column(buf, 0, key, key_columns(columns));

	at = append_column(buf, at, "  ", 2);
	at = append_column(buf, at, who, WHO_COLUMNS - 2);
	(void)snprintf(text, sizeof(text), "%9.8s%9.8s%9.8s%10.9s", held,
	    waiters, waited, grants);
	(void)append_column(buf, at, text, REST_COLUMNS - WHO_COLUMNS);
	return buf;
}

const char *
rates_heading(char buf[RATES_LINE_MAX], int columns)
{
	return join_columns(buf, columns, "KEY", "WHO", "HELD", "WAITERS",
	    "WAITED", "GRANTS/S");
}

const char *
rates_key_line(char buf[RATES_LINE_MAX], const struct rates_key *k, int columns)
{
	char name[NAME_MAX_TEXT], held[SPAN_MAX] = "-", waited[SPAN_MAX] = "-";
	char waiters[16], grants[32];

	if (k->held_ns >= 0)
		(void)text_span(held, k->held_ns);
	if (k->waited_ns >= 0)
		(void)text_span(waited, k->waited_ns);
	(void)snprintf(waiters, sizeof(waiters), "%" PRIu32, k->waiters);
	(void)snprintf(grants, sizeof(grants), "%.1f", k->grants);
	return join_columns(buf, columns, text_name(name, k->key), k->who, held,
	    waiters, waited, grants);
}

static json_t *
key_json(const struct rates_key *k)
{
	json_t *o = json_pack("{s:I, s:I, s:f}", "holders",
	    (json_int_t)k->holders, "waiters", (json_int_t)k->waiters,
	    "grants_per_s", k->grants);
	int bad = o == NULL;

	if (bad == 0)
		bad = show_set_bytes(o, "key", k->key);
	if (bad == 0)
		bad = show_set_u64(o, "token", k->token);
	if (bad == 0 && k->held_ns >= 0)
		bad = show_set_u64(o, "held_ms",
		    (uint64_t)k->held_ns / 1000000);
	if (bad == 0 && k->waited_ns >= 0)
		bad = show_set_u64(o, "waited_ms",
		    (uint64_t)k->waited_ns / 1000000);
	if (bad != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *
rates_json(const struct rates *l, struct lh *lh)
{
	json_t *keys = json_array(), *o;
	int bad = keys == NULL;

	for (size_t i = 0; bad == 0 && i < l->n_busy; i++)
		bad = json_array_append_new(keys, key_json(l->busy[i]));
	o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o*}",
	    "table", lh_table_name(lh), "keys", (json_int_t)l->stats.keys,
	    "held", (json_int_t)l->held, "waiting", (json_int_t)l->waiters,
	    "sessions", (json_int_t)l->stats.sessions, "acquired_per_s",
	    l->acquired, "waits_per_s", l->waits, "timeouts_per_s",
	    l->timeouts, "busy", keys);
	if (o != NULL && (bad != 0 || show_set_u64(o, "time_ms",
	    (uint64_t)lh_epoch_ms(lh, l->at_ns)) != 0)) {
		json_decref(o);
		return NULL;
	}
	return o;
}
