/* SPDX-License-Identifier: MIT */
/*
 * No lost wake-up (G6): is there a stretch of time in which a key surely could
 * be granted while somebody who was running surely waited for it?
 *
 * It could be granted to the first in the queue if nobody held it.  It could be
 * granted to a reader if no writer held it, and no writer could be before that
 * reader in the queue: from the call of the writer to its return.  It may be
 * held by:
 *   - every grant, from the start of its window to the end of its possible
 *     hold;
 *   - every acquire or upgrade that never came back, from its call until its
 *     process was reaped;
 *   - an acquire whose process was stopped inside: it may have won the key just
 *     before and have been unable to say so; at most until it was known to be
 *     stopped, and a ttl longer.
 * To these, time in which the machine ran no process is added.  The rest of the
 * time the key is free.  An acquire that loses the processor between winning
 * and looking at the clock for longer than its own ttl is not accounted for: it
 * would have to happen again and again to fill the limit.
 */
#include <errno.h>
#include <stdlib.h>

#include <leasehold.h>
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

/*
 * Adds the time of one record in which its key was not grantable: to anybody,
 * or (reader) to readers of that priority.
 */
static int
occupied_by(struct checker *c, const struct op *op, bool reader,
    uint32_t priority, struct spans *occ)
{
	int64_t ret = op_ret(op), gone = c->h->lives[op->life].gone_ns;

	if (reader && op->mode == LH_SHARED)
		return 0;
	if (op->kind == OP_CONVERT)
		return ret && op->result == 0 ? 0 : spans_add(occ,
		    op->call_ns, ret ? ret : gone);
	if (op->kind != OP_ACQUIRE)
		return 0;
	if (!ret)
		return spans_add(occ, op->call_ns, gone);
	if (reader && op->how != HOW_TRY && op->priority >= priority)
		return spans_add(occ, op->call_ns, ret);
	return stops_of(c, op, occ);
}

static int
occupied(struct checker *c, uint32_t key, bool reader, uint32_t priority,
    struct spans *occ)
{
	const struct history *h = c->h;
	uint32_t l, i;
	size_t g;
	int rc = 0;

	for (g = c->first[key]; g < c->first[key + 1] && !rc; g++)
		if (!reader || !c->grants[g].shared)
			rc = spans_add(occ, c->grants[g].lo,
			    c->grants[g].gone);
	for (l = 0; l < h->n_logs && !rc; l++) {
		for (i = 0; i < h->counts[l] && !rc; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];

			if (op->key == key)
				rc = occupied_by(c, op, reader, priority, occ);
		}
	}
	for (g = 0; g < h->n_gaps && !rc; g++)
		rc = spans_add(occ, h->gaps[g].from_ns, h->gaps[g].to_ns);
	return rc;
}

/* Fills `freed` with the times between the occupied spans. */
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
    bool reader, int64_t from, int64_t to)
{
	size_t i;

	for (i = spans_after(freed, from); i < freed->n &&
	    freed->at[i].from < to; i++) {
		int64_t a = max_ns(from, freed->at[i].from);
		int64_t b = min_ns(to, freed->at[i].to);

		c->v->idle_longest_ns = max_ns(c->v->idle_longest_ns, b - a);
		if (b - a > c->h->idle_limit_ns)
			violation(c, RULE_IDLE, op, a, "key %u was free%s for "
			    "%.1f ms, from %.6f to %.6f, while it waited "
			    "(G6): %s", op->key, reader ? " of writers" : "",
			    (double)(b - a) / 1e6, (double)a / 1e9,
			    (double)b / 1e9, op_text(c, op));
	}
}

static void
judge_wait(struct checker *c, const struct op *op, const struct spans *freed,
    bool reader)
{
	const struct spans *s = &c->stops[op->life];
	int64_t from = op->call_ns, to = wait_end(c, op);
	size_t i;

	c->v->waits += !reader;
	if (op_ret(op) && !was_stopped(c, op->life, from, op_ret(op)))
		c->v->wait_longest_ns = max_ns(c->v->wait_longest_ns,
		    op_ret(op) - from);
	for (i = spans_after(s, from); i < s->n && s->at[i].from < to; i++) {
		if (s->at[i].from > from)
			judge_piece(c, op, freed, reader, from, s->at[i].from);
		from = s->at[i].to;
	}
	if (from < to)
		judge_piece(c, op, freed, reader, from, to);
}

/* The waits that this makes eligible; and the next higher priority that readers
 * have, if there is one. */
static bool
judge_waits(struct checker *c, uint32_t key, bool reader, uint32_t *priority,
    const struct spans *freed)
{
	const struct history *h = c->h;
	uint64_t next = UINT64_MAX;
	uint32_t l, i;

	for (l = 0; l < h->n_logs; l++) {
		for (i = 0; i < h->counts[l]; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];

			if (op->kind != OP_ACQUIRE || op->how == HOW_TRY ||
			    op->key != key ||
			    (reader && op->mode != LH_SHARED))
				continue;
			if (!reader || op->priority == *priority)
				judge_wait(c, op, freed, reader);
			if (op->priority > *priority && op->priority < next)
				next = op->priority;
		}
	}
	*priority = (uint32_t)next;
	return next != UINT64_MAX;
}

static int
check_key(struct checker *c, uint32_t key, bool reader)
{
	uint32_t priority = 0;
	bool more = true;
	int rc = 0;

	while (more && !rc) {
		struct spans occ = { NULL, 0, 0 }, freed = { NULL, 0, 0 };

		rc = occupied(c, key, reader, priority, &occ);
		spans_join(&occ);
		if (!rc)
			rc = invert(&occ, &freed);
		if (!rc)
			more = judge_waits(c, key, reader, &priority, &freed);
		free(occ.at);
		free(freed.at);
		if (!reader)
			break;
	}
	return rc;
}

int
check_idle(struct checker *c)
{
	uint32_t k;
	int rc = 0;

	for (k = 0; k < c->h->n_keys && !rc; k++) {
		rc = check_key(c, k, false);
		if (!rc)
			rc = check_key(c, k, true);
	}
	return rc;
}
