/* SPDX-License-Identifier: MIT */
/*
 * Who was overtaken (G7)?
 *
 * From outside nobody can tell when a call began to wait: its stamp is taken
 * before it joins the queue.  So a census asks the table itself, all the time,
 * who waits (lh_status()).  A waiter that a census saw was in the queue from
 * the end of that look at the latest, until it was served, killed, or free to
 * give up.  In that time, under LH_ORDER_FIFO, nobody may be served who
 *
 *   - called after the look was over, with the same or a lower priority; or
 *   - has a lower priority, whenever it called, if the key only became free
 *     after the look was over (before that, it may have been chosen already).
 *
 * Left out: waiters that were stopped during the call, and, counted as excused,
 * those who may have been passed over for being slow (history.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "grants.h"

/* A sure waiter. */
struct waiter {
	const struct op *op;
	int64_t queued_ns;
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
call_of(const struct checker *c, const struct extent *e,
    const struct sighting *s)
{
	const struct op *op = &c->h->ops[e->first];
	uint32_t lo = 0, hi = e->n;

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

/* Stretches in which the key may have been free for long enough to make a
 * waiter a suspect. */
static int
slack_spans(const struct checker *c, uint32_t key, struct spans *slack)
{
	struct spans held = { NULL, 0, 0 };
	int64_t from = 0;
	size_t i;
	int rc = 0;

	for (i = c->first[key]; i < c->first[key + 1] && !rc; i++)
		rc = spans_add(&held, c->grants[i].hi, c->grants[i].end);
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

/* When the key was still held for certain before b got it; 0: unknown. */
static int64_t
held_before(const struct checker *c, const struct grant *b)
{
	const struct grant *p = b - 1;

	if (b == &c->grants[c->first[b->op->key]] ||
	    p->token + 1 != b->token || p->vague)
		return 0;
	return p->end > p->hi ? p->end : 0;
}

static void
judge_waiter(struct checker *c, const struct waiter *w,
    struct grant *const *served, size_t n, const struct spans *slack)
{
	int64_t leaves = leaves_at(c, w->op);
	uint64_t overtaken = 0;
	size_t lo = 0, hi = n;

	if (was_stopped(c, w->op->life, w->op->call_ns,
	    op_ret(w->op) ? op_ret(w->op) : leaves))
		return;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (served[mid]->hi > w->queued_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	for (; lo < n && served[lo]->hi < leaves; lo++) {
		const struct grant *b = served[lo];
		bool later = b->op->call_ns > w->queued_ns &&
		    b->op->priority <= w->op->priority;
		bool lower = b->op->priority < w->op->priority &&
		    held_before(c, b) > w->queued_ns;

		c->v->pairs++;
		if (b->op == w->op || (!later && !lower))
			continue;
		overtaken++;
		if (!c->h->fifo)
			continue;
		if (excused(slack, w->op->call_ns, b->hi)) {
			c->v->excused++;
			continue;
		}
		violation(c, RULE_ORDER, "key %u: overtaken (G7), in the "
		    "queue since %.6f: %s BY %s", w->op->key,
		    (double)w->queued_ns / 1e9, op_text(c, w->op),
		    op_text(c, b->op));
	}
	if (overtaken > c->v->overtaken_most)
		c->v->overtaken_most = overtaken;
}

/* Every sighting becomes a waiter; a call seen often counts from the first. */
static size_t
find_waiters(const struct checker *c, struct waiter *w)
{
	const struct history *h = c->h;
	struct session *s = calloc(h->n_lives + 1, sizeof(*s));
	struct extent *e = calloc(h->n_lives + 1, sizeof(*e));
	int64_t *seen = calloc((size_t)h->n_logs * h->cap + 1, sizeof(*seen));
	size_t i, n = 0, n_s = 0;
	uint32_t l, k;

	for (l = 0; s && e && seen && l < h->n_logs; l++) {
		for (k = 0; k < h->counts[l]; k++) {
			uint32_t at = l * h->cap + k;
			struct extent *x = &e[h->ops[at].life];

			if (!x->n++)
				x->first = at;
		}
	}
	for (i = 0; s && i < h->n_lives; i++)
		if (h->lives[i].session)
			s[n_s++] = (struct session){ h->lives[i].session,
			    (uint32_t)i };
	if (s)
		qsort(s, n_s, sizeof(*s), by_session);
	for (i = 0; s && e && seen && i < h->n_sightings; i++) {
		int64_t life = life_of(s, n_s, h->sightings[i].session);
		const struct op *op = life < 0 ? NULL : call_of(c, &e[life],
		    &h->sightings[i]);

		if (!op || seen[op - h->ops])
			continue;
		seen[op - h->ops] = 1;
		w[n++] = (struct waiter){ op, h->sightings[i].to_ns };
	}
	if (!s || !e || !seen)
		n = SIZE_MAX;
	free(s);
	free(e);
	free(seen);
	return n;
}

int
check_order(struct checker *c)
{
	const struct history *h = c->h;
	struct waiter *w = malloc((h->n_sightings + 1) * sizeof(*w));
	struct grant **served = malloc((c->n_grants + 1) *
	    sizeof(struct grant *));
	size_t n_w = w ? find_waiters(c, w) : SIZE_MAX, i, n;
	uint32_t k;
	int rc = served && n_w != SIZE_MAX ? 0 : -ENOMEM;

	for (k = 0; k < h->n_keys && !rc; k++) {
		struct spans slack = { NULL, 0, 0 };

		n = c->first[k + 1] - c->first[k];
		for (i = 0; i < n; i++)
			served[i] = &c->grants[c->first[k] + i];
		qsort(served, n, sizeof(struct grant *), by_hi);
		rc = slack_spans(c, k, &slack);
		for (i = 0; i < n_w && !rc; i++)
			if (w[i].op->key == k)
				judge_waiter(c, &w[i], served, n, &slack);
		free(slack.at);
	}
	free(w);
	free(served);
	return rc;
}
