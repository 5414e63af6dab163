/* SPDX-License-Identifier: MIT */
/*
 * Writes the text of a violation: the records that contradict each other, and
 * the other records of that key near that time, so that it can be understood
 * without the whole dump.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "grants.h"

#define AROUND_MAX	64
#define NEAR_NS		INT64_C(20000000)

/* Something that happened near `at`: a record, or a blow. */
struct event {
	const struct op *op;	/* or NULL */
	const struct stop *stop; /* or NULL: then it is a kill */
	uint32_t life;
	int64_t from;
	int64_t away;		/* from the moment that is of interest */
};

struct events {
	struct event at[AROUND_MAX];
	size_t n, room;
};

static const char *const rule_names[N_RULES] = {
	[RULE_OVERLAP] = "overlap", [RULE_TOKEN] = "token",
	[RULE_EXPIRY] = "expiry", [RULE_RESULT] = "result",
	[RULE_NOTE] = "note", [RULE_IDLE] = "idle",
	[RULE_ORDER] = "order", [RULE_WRITE] = "write",
};

const char *
rule_name(enum rule rule)
{
	return (unsigned)rule < N_RULES ? rule_names[rule] : "?";
}

const char *
op_text(const struct checker *c, const struct op *op)
{
	static const char *const kinds[] = { "?", "acquire", "extend",
	    "verify", "release", "second release", "convert", "old copy",
	    "write", "evict", "close" };
	static const char *const hows[] = { "try", "timed", "for ever",
	    "cancelled" };
	static char text[2][360];
	static unsigned turn;
	char *t = text[turn++ % 2];
	size_t room = sizeof(text[0]);
	int64_t ret = op_ret(op);
	int n;

	if (op->kind == OP_EVICT || op->kind == OP_CLOSE) {
		snprintf(t, room, "%s #%zu by life %u: called %.6f, returned "
		    "%.6f with %d", kinds[op->kind],
		    (size_t)(op - c->h->ops), op->life,
		    (double)op->call_ns / 1e9, (double)ret / 1e9, op->result);
		return t;
	}
	n = snprintf(t, room, "%s #%zu by life %u, key %u (%s%s%s, priority "
	    "%u, ttl %u ms): called %.6f, ",
	    kinds[op->kind <= OP_CLOSE ? op->kind : 0],
	    (size_t)(op - c->h->ops), op->life, op->key,
	    op->mode ? "shared" : "exclusive",
	    op->kind == OP_ACQUIRE ? ", " : "",
	    op->kind == OP_ACQUIRE ? hows[op->how & 3] : "", op->priority,
	    op->ttl_ms, (double)op->call_ns / 1e9);
	if (!ret)
		snprintf(t + n, room - (size_t)n, "never returned");
	else
		snprintf(t + n, room - (size_t)n, "returned %.6f with %d, "
		    "token %llu, deadline %.6f", (double)ret / 1e9,
		    op->result, (unsigned long long)op->token,
		    (double)op->deadline_ns / 1e9);
	return t;
}

/* Keeps the nearest. */
static void
offer(struct events *e, struct event ev, int64_t from, int64_t to, int64_t at)
{
	size_t i, far = 0;

	ev.from = from;
	ev.away = at < from ? from - at : at > to ? at - to : 0;
	if (ev.away > NEAR_NS)
		return;
	if (e->n < e->room) {
		e->at[e->n++] = ev;
		return;
	}
	for (i = 1; i < e->n; i++)
		if (e->at[i].away > e->at[far].away)
			far = i;
	if (ev.away < e->at[far].away)
		e->at[far] = ev;
}

static int
by_from(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static void
gather(const struct checker *c, struct events *e, uint32_t key, int64_t at)
{
	const struct history *h = c->h;
	uint32_t l, i;
	size_t k;

	for (l = 0; l < h->n_logs; l++) {
		for (i = 0; i < h->counts[l]; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];
			int64_t ret = op_ret(op);

			if (op->key == key || op->kind >= OP_EVICT)
				offer(e, (struct event){ .op = op },
				    op->call_ns, ret ? ret :
				    h->lives[op->life].gone_ns, at);
		}
	}
	for (k = 0; k < h->n_stops; k++)
		offer(e, (struct event){ .stop = &h->stops[k],
		    .life = h->stops[k].life }, h->stops[k].before_ns,
		    h->stops[k].after_ns, at);
	for (k = 0; k < h->n_lives; k++)
		offer(e, (struct event){ .life = (uint32_t)k },
		    h->lives[k].kill_ns, h->lives[k].gone_ns, at);
}

static void
print_event(const struct checker *c, FILE *f, const struct event *ev)
{
	if (ev->op)
		fprintf(f, "\n  %s", op_text(c, ev->op));
	else if (ev->stop)
		fprintf(f, "\n  life %u stopped %.6f .. %.6f", ev->life,
		    (double)ev->stop->stopped_ns / 1e9,
		    (double)ev->stop->after_ns / 1e9);
	else
		fprintf(f, "\n  life %u killed %.6f, reaped %.6f", ev->life,
		    (double)ev->from / 1e9,
		    (double)c->h->lives[ev->life].gone_ns / 1e9);
}

void
violation(struct checker *c, enum rule rule, const struct op *op, int64_t at,
    const char *fmt, ...)
{
	struct events e = { .n = 0 };
	char *text = NULL;
	size_t len, i;
	va_list ap;
	FILE *f;

	c->v->broken[rule]++;
	if (!c->fn)
		return;
	f = open_memstream(&text, &len);
	if (!f)
		return;
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	e.room = c->h->around < AROUND_MAX ? c->h->around : AROUND_MAX;
	/* the first ones will do, and it takes time */
	if (e.room && c->v->broken[rule] <= 5) {
		fprintf(f, "\n  around %.6f:", (double)at / 1e9);
		gather(c, &e, op->key, at);
		qsort(e.at, e.n, sizeof(e.at[0]), by_from);
		for (i = 0; i < e.n; i++)
			print_event(c, f, &e.at[i]);
	}
	fclose(f);
	c->fn(rule, text, c->arg);
	free(text);
}
