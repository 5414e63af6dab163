/* SPDX-License-Identifier: MIT */
/*
 * Was a waiter overtaken (G7)?
 *
 * From outside nobody can tell when a call began to wait: its stamp is taken
 * before it joins the queue.  So a census asks the table itself, all the time,
 * who waits (lh_status()), and notes which waiters it saw for the first time,
 * and which was right before each.  A waiter that a census saw was in the queue
 * from the end of that look at the latest, until it was served, killed, or free
 * to give up.  In that time the following may not be served, unless both are
 * readers:
 *
 *   behind	whoever was seen behind it in the queue;
 *   lower	who called after the look was over, with a lower priority; or,
 *		under LH_ORDER_FIFO, whenever it called, if the key could only
 *		be granted to it after the look was over (before that, it may
 *		have been chosen already);
 *   barred	a reader who called after the look was over, with the same
 *		priority as the writer who waits, but under LH_ORDER_BARGE;
 *   later	under LH_ORDER_FIFO, who called after the look was over, with
 *		the same priority;
 *   between	under LH_ORDER_FIFO, a writer of no higher priority after the
 *		reader who was right before this one, who is a reader too, had
 *		been served; but not one who may have stood before both, and
 *		been passed over by that reader for being stopped or slow.
 *
 * Left out: conversions, which are not queued; waiters that were stopped during
 * the call; and, counted as excused, those who may have been passed over for
 * being slow (history.h).
 */
#include <errno.h>
#include <stdlib.h>

#include <leasehold.h>
#include "grants.h"

/* A sure waiter. */
struct waiter {
	const struct op *op;
	const struct op *before; /* right before it in the queue, or NULL */
	int64_t queued_ns;
};

struct order {
	struct waiter *w;
	size_t n;
	uint32_t *before;	/* of each record: w[].before, + 1 */
	struct grant **served;
};

struct session {
	uint64_t session;
	uint32_t life;
};

/* Where the records of a life are. */
struct extent {
	uint32_t first, n;
};

static int
by_session(const void *a, const void *b)
{
	const struct session *x = a, *y = b;

	return (x->session > y->session) - (x->session < y->session);
}

static int
by_hi(const void *a, const void *b)
{
	const struct grant *const *x = a, *const *y = b;

	return ((*x)->hi > (*y)->hi) - ((*x)->hi < (*y)->hi);
}

/* The life of a session, or -1: unknown, or several share it. */
static int64_t
life_of(const struct session *s, size_t n, uint64_t session)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s[mid].session < session)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || s[lo].session != session ||
	    (lo + 1 < n && s[lo + 1].session == session))
		return -1;
	return s[lo].life;
}

/* The call in which that life waited for the key at the time of the look. */
static const struct op *
call_of(const struct checker *c, const struct extent *extents, int64_t life,
    const struct sighting *s)
{
	const struct extent *e = &extents[life < 0 ? 0 : life];
	const struct op *op = &c->h->ops[e->first];
	uint32_t lo = 0, hi = e->n;

	if (life < 0)
		return NULL;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (op[mid].call_ns <= s->from_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	op += lo - 1;
	if (op->kind != OP_ACQUIRE || op->key != s->key ||
	    (op_ret(op) && op_ret(op) < s->to_ns))
		return NULL;
	return op;
}

static int64_t
leaves_at(const struct checker *c, const struct op *op)
{
	if (!op_ret(op))
		return c->h->lives[op->life].kill_ns;
	return op->result ? op->limit_ns : max_ns(op->call_ns,
	    op->acquired_ns);
}

/* Stretches in which the key may have been free (of writers, for a reader) for
 * long enough to make a waiter a suspect. */
static int
slack_spans(const struct checker *c, uint32_t key, bool reader,
    struct spans *slack)
{
	struct spans held = { NULL, 0, 0 };
	int64_t from = 0;
	size_t i;
	int rc = 0;

	for (i = c->first[key]; i < c->first[key + 1] && !rc; i++)
		if (!reader || !c->grants[i].shared)
			rc = spans_add(&held, c->grants[i].from,
			    c->grants[i].end);
	spans_join(&held);
	for (i = 0; i < held.n && !rc; i++) {
		if (held.at[i].from - from >= SUSPECT_NS)
			rc = spans_add(slack, from, held.at[i].from);
		from = held.at[i].to;
	}
	if (!rc)
		rc = spans_add(slack, from, NEVER);
	free(held.at);
	return rc;
}

static bool
excused(const struct spans *slack, int64_t from, int64_t to)
{
	size_t i;

	for (i = spans_after(slack, from); i < slack->n &&
	    slack->at[i].from < to; i++)
		if (min_ns(to, slack->at[i].to) -
		    max_ns(from, slack->at[i].from) >= SUSPECT_NS)
			return true;
	return false;
}

/* When the key was still held for certain, by one who barred b, before b got
 * it; 0: unknown. */
static int64_t
held_before(const struct checker *c, const struct grant *b)
{
	const struct grant *p = b - 1;

	if (b == &c->grants[c->first[b->op->key]] ||
	    p->token + 1 != b->token || p->vague || (p->shared && b->shared))
		return 0;
	return p->end > p->from ? p->end : 0;
}

/* b was served after the call r: may it have stood before it in the queue? */
static bool
passed_over(const struct checker *c, const struct spans *alone,
    const struct grant *b, const struct op *r)
{
	return was_stopped(c, b->op->life, b->op->call_ns, op_ret(r)) ||
	    excused(alone, b->op->call_ns, op_ret(r));
}

/*
 * Returns the reason why b may not be served while w waits, or NULL if it may.
 * `alone`: when the key was free for a writer.
 */
static const char *
wrong(const struct checker *c, const struct order *o, const struct waiter *w,
    const struct grant *b, const struct spans *alone)
{
	const struct history *h = c->h;
	bool later = b->op->call_ns > w->queued_ns;
	bool reader = w->op->mode == LH_SHARED;
	uint32_t before = o->before[b->op - h->ops];

	if (reader && b->shared)
		return NULL;
	if (before && &h->ops[before - 1] == w->op)
		return "by one behind it";
	if (b->op->priority < w->op->priority && (later || (h->fifo &&
	    held_before(c, b) > w->queued_ns)))
		return "by a lower priority";
	if (later && b->op->priority == w->op->priority && b->shared &&
	    !h->barge)
		return "by a reader, who was barred";
	if (later && b->op->priority == w->op->priority && h->fifo)
		return "by one who came later";
	if (h->fifo && reader && w->before && w->before->mode == LH_SHARED &&
	    b->op->priority <= w->op->priority && op_ret(w->before) &&
	    w->before->result == 0 && op_ret(w->before) < b->lo &&
	    !passed_over(c, alone, b, w->before))
		return "by a writer, between it and the reader before it";
	return NULL;
}

static void
judge_waiter(struct checker *c, const struct order *o, const struct waiter *w,
    size_t n, const struct spans *slack, const struct spans *alone)
{
	int64_t leaves = leaves_at(c, w->op);
	uint64_t overtaken = 0;
	size_t lo = 0, hi = n;

	if (was_stopped(c, w->op->life, w->op->call_ns,
	    op_ret(w->op) ? op_ret(w->op) : leaves))
		return;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (o->served[mid]->hi > w->queued_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	for (; lo < n && o->served[lo]->hi < leaves; lo++) {
		const struct grant *b = o->served[lo];
		const char *why;

		if (b->op == w->op || b->op != b->lease)
			continue;
		c->v->pairs++;
		overtaken += b->op->call_ns > w->queued_ns &&
		    !(b->shared && w->op->mode == LH_SHARED);
		why = wrong(c, o, w, b, alone);
		if (!why)
			continue;
		if (excused(slack, w->op->call_ns, b->hi)) {
			c->v->excused++;
			continue;
		}
		violation(c, RULE_ORDER, w->op, b->hi, "key %u: overtaken %s "
		    "(G7), in the queue since %.6f: %s BY %s", w->op->key, why,
		    (double)w->queued_ns / 1e9, op_text(c, w->op),
		    op_text(c, b->op));
	}
	if (overtaken > c->v->overtaken_most)
		c->v->overtaken_most = overtaken;
}

static void
find_lives(const struct checker *c, struct extent *e, struct session *s,
    size_t *n_s)
{
	const struct history *h = c->h;
	uint32_t l, k;
	size_t i;

	for (l = 0; l < h->n_logs; l++) {
		for (k = 0; k < h->counts[l]; k++) {
			uint32_t at = l * h->cap + k;
			struct extent *x = &e[h->ops[at].life];

			if (!x->n++)
				x->first = at;
		}
	}
	*n_s = 0;
	for (i = 0; i < h->n_lives; i++)
		if (h->lives[i].session)
			s[(*n_s)++] = (struct session){ h->lives[i].session,
			    (uint32_t)i };
	qsort(s, *n_s, sizeof(*s), by_session);
}

/* Every sighting becomes a waiter; a call seen often counts from the first. */
static int
find_waiters(const struct checker *c, struct order *o)
{
	const struct history *h = c->h;
	struct session *s = calloc(h->n_lives + 1, sizeof(*s));
	struct extent *e = calloc(h->n_lives + 1, sizeof(*e));
	bool *seen = calloc((size_t)h->n_logs * h->cap + 1, sizeof(*seen));
	size_t i, n_s;
	int rc = s && e && seen ? 0 : -ENOMEM;

	if (!rc)
		find_lives(c, e, s, &n_s);
	for (i = 0; i < h->n_sightings && !rc; i++) {
		const struct sighting *at = &h->sightings[i];
		const struct op *op = call_of(c, e, life_of(s, n_s,
		    at->session), at), *before;

		if (!op || seen[op - h->ops])
			continue;
		seen[op - h->ops] = true;
		before = call_of(c, e, life_of(s, n_s, at->before), at);
		if (before)
			o->before[op - h->ops] = (uint32_t)(before - h->ops) +
			    1;
		o->w[o->n++] = (struct waiter){ op, before, at->to_ns };
	}
	free(s);
	free(e);
	free(seen);
	return rc;
}

static int
judge_key(struct checker *c, const struct order *o, uint32_t key, bool reader)
{
	struct spans slack = { NULL, 0, 0 }, alone = { NULL, 0, 0 };
	size_t n = c->first[key + 1] - c->first[key], i;
	int rc = slack_spans(c, key, reader, &slack);

	if (!rc)
		rc = slack_spans(c, key, false, &alone);
	for (i = 0; i < n; i++)
		o->served[i] = &c->grants[c->first[key] + i];
	qsort(o->served, n, sizeof(struct grant *), by_hi);
	for (i = 0; i < o->n && !rc; i++)
		if (o->w[i].op->key == key &&
		    (o->w[i].op->mode == LH_SHARED) == reader)
			judge_waiter(c, o, &o->w[i], n, &slack, &alone);
	free(slack.at);
	free(alone.at);
	return rc;
}

int
check_order(struct checker *c)
{
	const struct history *h = c->h;
	struct order o = { .n = 0 };
	uint32_t k;
	int rc = -ENOMEM;

	o.w = malloc((h->n_sightings + 1) * sizeof(*o.w));
	o.before = calloc((size_t)h->n_logs * h->cap + 1, sizeof(*o.before));
	o.served = malloc((c->n_grants + 1) * sizeof(struct grant *));
	if (o.w && o.before && o.served)
		rc = find_waiters(c, &o);
	for (k = 0; k < h->n_keys && !rc; k++) {
		rc = judge_key(c, &o, k, false);
		if (!rc)
			rc = judge_key(c, &o, k, true);
	}
	free(o.w);
	free(o.before);
	free(o.served);
	return rc;
}
