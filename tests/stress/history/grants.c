/* SPDX-License-Identifier: MIT */
/*
 * From records to grants: which leases were there, from when to when at least,
 * and at most?  And on the way, call by call, did each answer have a reason?
 *
 * A log is read in the order in which it was written, so a lease's deadline is
 * known at every point: the acquire's, then that of each extend that succeeded.
 * An extend without an answer (killed inside) makes the lease vague: from its
 * call on the deadline may be the old or the new one.
 *
 * grant_of says which grant a lease stands at: its acquire's, or that of its
 * last conversion.
 */
#include <errno.h>
#include <stdlib.h>

#include <leasehold.h>
#include "grants.h"

/*
 * How far a deadline may be from now + ttl.  Spec: up to 8 ms early, and never
 * late but by rounding up.  A lease of 100 ms or more has its
 * deadline from the coarse clock, which lags as far as the machine's timer
 * interrupt does: like other timing, only ten times the bound is a violation,
 * and the worst is reported.
 */
#define EARLY_NS	INT64_C(8000000)
#define COARSE_FROM_MS	100
#define LATE_NS		INT64_C(8000000)

#define ALL_NOTES (LH_NOTE_PREVIOUS_DIED | LH_NOTE_PREVIOUS_EXPIRED | \
    LH_NOTE_PREVIOUS_BROKEN)

static void
blame(struct checker *c, enum rule rule, const struct op *op, const char *what)
{
	violation(c, rule, op, op_ret(op) ? op_ret(op) : op->call_ns, "%s: %s",
	    what, op_text(c, op));
}

static void
set_deadline(struct checker *c, struct grant *g, int64_t deadline)
{
	const struct life *l = &c->h->lives[g->op->life];

	g->deadline = deadline;
	g->end = min_ns(deadline, l->kill_ns);
	g->gone = min_ns(deadline, l->gone_ns);
}

static void
judge_deadline(struct checker *c, const struct op *op)
{
	int64_t ttl = (int64_t)op->ttl_ms * 1000000;
	int64_t early = op->call_ns + ttl - op->deadline_ns;

	if (op->deadline_ns > op_ret(op) + ttl + LATE_NS)
		blame(c, RULE_EXPIRY, op, "a deadline later than asked");
	c->v->early_most_ns = max_ns(c->v->early_most_ns, early);
	if (early > (op->ttl_ms < COARSE_FROM_MS ? 1 : 10) * EARLY_NS)
		violation(c, RULE_EXPIRY, op, op_ret(op), "a deadline %.1f ms "
		    "earlier than asked: %s", (double)early / 1e6,
		    op_text(c, op));
}

struct grant *
grants_add(struct checker *c, const struct op *op, const struct op *lease)
{
	struct grant *g = &c->grants[c->n_grants++];

	g->op = op;
	g->lease = lease;
	g->token = op->token;
	g->shared = op->mode == LH_SHARED;
	g->lo = max_ns(op->call_ns, op->acquired_ns);
	g->hi = g->from = op_ret(op);
	set_deadline(c, g, op->deadline_ns);
	c->grant_of[lease - c->h->ops] = (uint32_t)c->n_grants;
	if (op->token == 0 || op->token > INT64_MAX)
		blame(c, RULE_TOKEN, op, "not a token");
	return g;
}

static void
granted(struct checker *c, const struct op *op)
{
	struct grant *g = grants_add(c, op, op);

	c->v->grants++;
	c->v->shared += g->shared;
	if (op->acquired_ns > g->hi)
		blame(c, RULE_RESULT, op, "acquired after it returned");
	if (op->notes & ~ALL_NOTES)
		violation(c, RULE_NOTE, op, g->hi, "unknown note %#x: %s",
		    op->notes, op_text(c, op));
	judge_deadline(c, op);
}

static void
acquire(struct checker *c, const struct op *op)
{
	int64_t ret = op_ret(op);
	enum op_how how = op->how;

	c->v->calls++;
	if (!ret) {
		c->v->unknown++;
		return;
	}
	if (op->result == 0) {
		granted(c, op);
		return;
	}
	c->v->refusals++;
	if (!(op->result == -EAGAIN && how == HOW_TRY) &&
	    !(op->result == -ETIMEDOUT && how == HOW_TIMED) &&
	    !(op->result == -ECANCELED && how == HOW_CANCEL)) {
		blame(c, RULE_RESULT, op, "no reason for that");
		return;
	}
	if (how != HOW_TRY && ret < op->limit_ns)
		violation(c, RULE_EXPIRY, op, ret, "gave up %.3f ms too "
		    "early: %s",
		    (double)(op->limit_ns - ret) / 1e6, op_text(c, op));
	if (how == HOW_CANCEL && !was_stopped(c, op->life, op->call_ns, ret))
		c->v->cancel_longest_ns = max_ns(c->v->cancel_longest_ns,
		    ret - op->limit_ns - stood_still(c, op->limit_ns, ret));
}

void
grants_answer(struct checker *c, struct grant *g, const struct op *op,
    bool late_ok)
{
	if (op->result == 0) {
		if (!late_ok && !g->vague && op->call_ns > g->deadline)
			violation(c, RULE_EXPIRY, op, op_ret(op),
			    "succeeded %.3f ms after the deadline: %s",
			    (double)(op->call_ns - g->deadline) / 1e6,
			    op_text(c, op));
	} else if (op->result == -ESTALE) {
		c->v->lost++;
		if (!g->vague && op_ret(op) < g->deadline)
			violation(c, RULE_EXPIRY, op, op_ret(op),
			    "lost %.3f ms before the deadline: %s",
			    (double)(g->deadline - op_ret(op)) / 1e6,
			    op_text(c, op));
	} else {
		blame(c, RULE_RESULT, op, "no reason for that");
	}
}

void
grants_lost(struct checker *c, struct grant *g, const struct op *op)
{
	g->end = min_ns(g->end, op->call_ns);
	g->gone = min_ns(max_ns(g->gone, op_ret(op)),
	    c->h->lives[op->life].gone_ns);
}

static void
extend(struct checker *c, struct grant *g, const struct op *op)
{
	int64_t ret = op_ret(op);

	c->v->extends++;
	if (!ret) {
		g->vague = true;
		g->end = min_ns(g->end, op->call_ns);
		g->gone = c->h->lives[op->life].gone_ns;
		return;
	}
	grants_answer(c, g, op, false);
	if (op->result == 0) {
		judge_deadline(c, op);
		set_deadline(c, g, op->deadline_ns);
	} else {
		grants_lost(c, g, op);
	}
}

static void
release(struct checker *c, struct grant *g, const struct op *op)
{
	c->v->releases++;
	g->release = op;
	g->end = min_ns(g->end, op->call_ns);
	if (!op_ret(op))
		return;
	grants_answer(c, g, op, true);
	g->gone = min_ns(g->gone, op_ret(op));
	g->released = op->result == 0;
}

/*
 * A question or an extension for a lease that was given back.  A reader who
 * takes the key again, while no writer wanted it, has the same token.
 */
static void
posthumous(struct checker *c, const struct op *op)
{
	c->v->posthumous++;
	if (op->kind == OP_VERIFY && op->how == HOW_TOKEN &&
	    op->mode == LH_SHARED)
		return;
	if (op_ret(op) && op->result == 0)
		blame(c, RULE_EXPIRY, op, "succeeded after the release (G9)");
	else if (op_ret(op) && op->result != -ESTALE)
		blame(c, RULE_RESULT, op, "no reason for that");
}

/*
 * A copy from before a conversion or a release: it names nothing any more.
 * That it does no harm either, the other rules see.
 */
static void
old_copy(struct checker *c, struct grant *g, const struct op *op)
{
	c->v->old++;
	if (!op_ret(op) || op->result == -ESTALE ||
	    (op->result == 0 && op->how == OP_RELEASE && g->released))
		return;
	violation(c, RULE_RESULT, op, op_ret(op), "an old copy %s (G11): %s",
	    op->result ? "is lost, and nothing else" : "was accepted",
	    op_text(c, op));
}

static void
other(struct checker *c, struct grant *g, const struct op *op)
{
	if (g->released && (op->kind == OP_EXTEND || op->kind == OP_VERIFY ||
	    op->kind == OP_CONVERT)) {
		posthumous(c, op);
		return;
	}
	switch (op->kind) {
	case OP_EXTEND:
		extend(c, g, op);
		break;
	case OP_VERIFY:
		c->v->verifies++;
		if (op_ret(op))
			grants_answer(c, g, op, false);
		break;
	case OP_RELEASE:
		release(c, g, op);
		break;
	case OP_CONVERT:
		convert(c, g, op);
		break;
	case OP_OLD:
		old_copy(c, g, op);
		break;
	case OP_AGAIN:
		if (op_ret(op) && op->result)
			blame(c, RULE_RESULT, op,
			    "releasing again is success (G10)");
		break;
	case OP_WRITE:
		c->v->writes++;
		break;
	}
}

static void
one(struct checker *c, const struct op *op)
{
	uint32_t of = c->grant_of[op->of];

	switch (op->kind) {
	case OP_ACQUIRE:
		acquire(c, op);
		break;
	case OP_CLOSE:
		c->closing[op->life] = op->call_ns;
		break;
	case OP_EVICT:
		if (op_ret(op) && op->result > 0)
			c->v->evictions += (uint64_t)op->result;
		else if (op_ret(op) && op->result < 0)
			violation(c, RULE_RESULT, op, op_ret(op),
			    "no reason for that: %s", op_text(c, op));
		break;
	default:
		if (of)
			other(c, &c->grants[of - 1], op);
		else
			violation(c, RULE_RESULT, op, op->call_ns, "about a "
			    "lease that was never granted: %s",
			    op_text(c, op));
	}
}

static void
close_leases(struct checker *c)
{
	const struct history *h = c->h;
	size_t g;

	for (g = 0; g < c->n_grants; g++) {
		struct grant *gr = &c->grants[g];

		gr->end = min_ns(gr->end, c->closing[gr->op->life]);
		if (h->lives[gr->op->life].gone_ns < gr->gone)
			gr->gone = h->lives[gr->op->life].gone_ns;
	}
}

static int
by_key_token(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;

	if (x->op->key != y->op->key)
		return x->op->key < y->op->key ? -1 : 1;
	if (x->token != y->token)
		return x->token < y->token ? -1 : 1;
	return x->shared - y->shared;
}

int
grants_build(struct checker *c)
{
	const struct history *h = c->h;
	size_t total = 0, k, g;
	uint32_t l, i;

	for (l = 0; l < h->n_logs; l++)
		total += h->counts[l];
	c->grants = calloc(total + 1, sizeof(*c->grants));
	c->grant_of = calloc((size_t)h->n_logs * h->cap + 1,
	    sizeof(*c->grant_of));
	c->first = calloc((size_t)h->n_keys + 2, sizeof(*c->first));
	c->closing = malloc((h->n_lives + 1) * sizeof(*c->closing));
	if (!c->grants || !c->grant_of || !c->first || !c->closing)
		return -ENOMEM;
	for (k = 0; k < h->n_lives; k++)
		c->closing[k] = NEVER;
	for (l = 0; l < h->n_logs; l++)
		for (i = 0; i < h->counts[l]; i++)
			one(c, &h->ops[(size_t)l * h->cap + i]);
	close_leases(c);
	qsort(c->grants, c->n_grants, sizeof(*c->grants), by_key_token);
	for (g = 0, k = 0; k <= h->n_keys; k++) {
		while (g < c->n_grants && c->grants[g].op->key < k)
			g++;
		c->first[k] = g;
	}
	return 0;
}

void
grants_free(struct checker *c)
{
	free(c->grants);
	free(c->grant_of);
	free(c->first);
	free(c->closing);
}
