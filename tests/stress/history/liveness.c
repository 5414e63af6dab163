/* SPDX-License-Identifier: MIT */
/*
 * No lost wake-up (G6): is there a stretch of time in which a key surely could
 * be granted while somebody who was running surely waited for it?
 *
 * A key may be held by:
 *   - every grant, from the start of its window to the end of its possible
 *     hold;
 *   - every acquire that never came back, from its call until its process was
 *     reaped;
 *   - an acquire whose process was stopped inside: it may have won the key just
 *     before and have been unable to say so; at most until it was known to be
 *     stopped, and a ttl longer.
 * To these, time in which the machine ran nobody is added.  What remains is
 * free.  An acquire that loses the processor between winning and looking at the
 * clock for longer than its own ttl is not accounted for: it would have to
 * happen again and again to fill the limit.
 */
#include <errno.h>
#include <stdlib.h>

#include "grants.h"

#define SLACK_NS	8000000	/* of a deadline, as in grants.c */
#define SHORT_NS	1000000	/* free spans below this are not looked at */

/* Until when did the caller surely wait, if nothing else was in its way? */
static int64_t
wait_end(const struct checker *c, const struct op *op)
{
	if (!op_ret(op))
		return c->h->lives[op->life].kill_ns;
	if (op->result == 0)
		return max_ns(op->call_ns, op->acquired_ns);
	return min_ns(op_ret(op), op->limit_ns);
}

static int
stops_of(struct checker *c, const struct op *op, struct spans *occ)
{
	const struct spans *s = &c->stopping[op->life];
	int64_t to = op_ret(op) ? op_ret(op) : NEVER;
	int64_t ttl = (int64_t)op->ttl_ms * 1000000 + SLACK_NS;
	size_t i = spans_after(s, op->call_ns);
	int rc = 0;

	for (; i < s->n && s->at[i].from < to && !rc; i++)
		rc = spans_add(occ, s->at[i].from,
		    min_ns(to, s->at[i].to + ttl));
	return rc;
}

static int
occupied(struct checker *c, struct spans *occ)
{
	const struct history *h = c->h;
	uint32_t l, i;
	size_t g;
	int rc = 0;

	for (g = 0; g < c->n_grants && !rc; g++)
		rc = spans_add(&occ[c->grants[g].op->key], c->grants[g].lo,
		    c->grants[g].gone);
	for (l = 0; l < h->n_logs && !rc; l++) {
		for (i = 0; i < h->counts[l] && !rc; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];

			if (op->kind != OP_ACQUIRE)
				continue;
			if (!op_ret(op))
				rc = spans_add(&occ[op->key], op->call_ns,
				    h->lives[op->life].gone_ns);
			else
				rc = stops_of(c, op, &occ[op->key]);
		}
	}
	for (g = 0; g < h->n_gaps && !rc; g++)
		for (i = 0; i < h->n_keys && !rc; i++)
			rc = spans_add(&occ[i], h->gaps[g].from_ns,
			    h->gaps[g].to_ns);
	return rc;
}

/* What lies between the occupied spans. */
static int
invert(const struct spans *occ, struct spans *freed)
{
	int64_t from = INT64_MIN / 2;
	size_t i;
	int rc = 0;

	for (i = 0; i < occ->n && !rc; i++) {
		if (occ->at[i].from - from >= SHORT_NS)
			rc = spans_add(freed, from, occ->at[i].from);
		from = occ->at[i].to;
	}
	if (!rc && from < NEVER)
		rc = spans_add(freed, from, NEVER);
	return rc;
}

/* One piece of a wait in which the waiter was running. */
static void
judge_piece(struct checker *c, const struct op *op, const struct spans *freed,
    int64_t from, int64_t to)
{
	size_t i;

	for (i = spans_after(freed, from); i < freed->n &&
	    freed->at[i].from < to; i++) {
		int64_t a = max_ns(from, freed->at[i].from);
		int64_t b = min_ns(to, freed->at[i].to);

		c->v->idle_longest_ns = max_ns(c->v->idle_longest_ns, b - a);
		if (b - a > c->h->idle_limit_ns)
			violation(c, RULE_IDLE, "key %u was free for %.1f ms, "
			    "from %.6f to %.6f, while it waited (G6): %s",
			    op->key, (double)(b - a) / 1e6, (double)a / 1e9,
			    (double)b / 1e9, op_text(c, op));
	}
}

static void
judge_wait(struct checker *c, const struct op *op, const struct spans *freed)
{
	const struct spans *s = &c->stops[op->life];
	int64_t from = op->call_ns, to = wait_end(c, op);
	size_t i;

	c->v->waits++;
	if (op_ret(op) && !was_stopped(c, op->life, from, op_ret(op)))
		c->v->wait_longest_ns = max_ns(c->v->wait_longest_ns,
		    op_ret(op) - from);
	for (i = spans_after(s, from); i < s->n && s->at[i].from < to; i++) {
		if (s->at[i].from > from)
			judge_piece(c, op, freed, from, s->at[i].from);
		from = s->at[i].to;
	}
	if (from < to)
		judge_piece(c, op, freed, from, to);
}

int
check_idle(struct checker *c)
{
	const struct history *h = c->h;
	struct spans *occ, *freed;
	uint32_t l, i;
	int rc = -ENOMEM;

	occ = calloc(h->n_keys + 1, sizeof(*occ));
	freed = calloc(h->n_keys + 1, sizeof(*freed));
	if (occ && freed)
		rc = occupied(c, occ);
	for (i = 0; i < h->n_keys && !rc; i++) {
		spans_join(&occ[i]);
		rc = invert(&occ[i], &freed[i]);
	}
	for (l = 0; l < h->n_logs && !rc; l++) {
		for (i = 0; i < h->counts[l]; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];

			if (op->kind == OP_ACQUIRE && op->how != HOW_TRY)
				judge_wait(c, op, &freed[op->key]);
		}
	}
	for (i = 0; i < h->n_keys; i++) {
		if (occ)
			free(occ[i].at);
		if (freed)
			free(freed[i].at);
	}
	free(occ);
	free(freed);
	return rc;
}
