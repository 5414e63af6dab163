/* SPDX-License-Identifier: MIT */
/*
 * Exclusion (G1), fence order (G2), late releases (G3), notes and the gate:
 * everything that is decided by comparing the grants of one key.
 */
#include <errno.h>
#include <stdlib.h>

#include <leasehold.h>
#include "grants.h"

static int
by_start(const void *a, const void *b)
{
	const struct grant *const *x = a, *const *y = b;

	return ((*x)->hi > (*y)->hi) - ((*x)->hi < (*y)->hi);
}

static int
by_window(const void *a, const void *b)
{
	const struct grant *const *x = a, *const *y = b;

	return ((*x)->lo > (*y)->lo) - ((*x)->lo < (*y)->lo);
}

/*
 * Certain holds of one key are disjoint.  A hold that was over before its
 * acquire returned still stood for an instant in the grant window: that window
 * must not lie within somebody else's certain hold.
 *
 * `held` is sorted by start and so, while nothing overlaps, by end as well.
 */
static void
check_overlap(struct checker *c, struct grant **held, size_t n_held,
    struct grant **all, size_t n)
{
	const struct grant *longest = NULL;
	size_t i, j = 0;

	qsort(held, n_held, sizeof(*held), by_start);
	for (i = 0; i < n_held; i++) {
		if (longest && held[i]->hi < longest->end)
			violation(c, RULE_OVERLAP, "key %u held twice for "
			    "%.3f ms (G1): %s AND %s", held[i]->op->key,
			    (double)(min_ns(longest->end, held[i]->end) -
			    held[i]->hi) / 1e6, op_text(c, longest->op),
			    op_text(c, held[i]->op));
		if (!longest || held[i]->end > longest->end)
			longest = held[i];
	}
	qsort(all, n, sizeof(*all), by_window);
	longest = NULL;
	for (i = 0; i < n; i++) {
		for (; j < n_held && held[j]->hi < all[i]->lo; j++)
			if (!longest || held[j]->end > longest->end)
				longest = held[j];
		if (all[i]->end <= all[i]->hi && longest &&
		    all[i]->hi < longest->end)
			violation(c, RULE_OVERLAP, "key %u granted while it "
			    "was held (G1): %s DURING %s", all[i]->op->key,
			    op_text(c, all[i]->op), op_text(c, longest->op));
	}
}

/* In order of token, no window may lie wholly before an earlier one. */
static void
check_tokens(struct checker *c, const struct grant *g, size_t n)
{
	const struct grant *latest = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i && g[i].token == g[i - 1].token)
			violation(c, RULE_TOKEN, "one token twice (G2): "
			    "%s AND %s", op_text(c, g[i - 1].op),
			    op_text(c, g[i].op));
		else if (latest && g[i].hi < latest->lo)
			violation(c, RULE_TOKEN, "a smaller token for a "
			    "later grant (G2): %s BEFORE %s",
			    op_text(c, g[i].op), op_text(c, latest->op));
		if (!latest || g[i].lo > latest->lo)
			latest = &g[i];
	}
}

/* Who releases after a successor had been served must hear that it was lost. */
static void
check_releases(struct checker *c, const struct grant *g, size_t n)
{
	const struct grant *earliest = NULL;

	while (n-- > 0) {
		const struct op *r = g[n].release;

		if (r && op_ret(r) && r->result == 0 && earliest &&
		    earliest->hi < r->call_ns && earliest->token > g[n].token)
			violation(c, RULE_EXPIRY, "released after a successor "
			    "was served (G3): %s AFTER %s", op_text(c, r),
			    op_text(c, earliest->op));
		if (!earliest || g[n].hi < earliest->hi)
			earliest = &g[n];
	}
}

/*
 * g follows p at once (the next token).  What must its note say?  -1: cannot be
 * told from outside.
 */
static int
note_due(const struct checker *c, const struct grant *p, const struct grant *g)
{
	const struct life *l = &c->h->lives[p->op->life];
	int64_t left = min_ns(l->kill_ns, c->closing[p->op->life]);

	if (p->vague || g->hi < p->lo)
		return -1;
	if (p->release && op_ret(p->release) && p->release->result == 0)
		return 0;
	if (p->release && !op_ret(p->release))
		return -1;
	if (left > g->hi)
		return LH_NOTE_PREVIOUS_EXPIRED;
	if (!p->release && left == l->kill_ns && g->hi < p->deadline)
		return LH_NOTE_PREVIOUS_DIED;
	return -1;
}

static void
check_notes(struct checker *c, const struct grant *g, size_t n)
{
	size_t i;
	int due;

	for (i = 1; i < n; i++) {
		if (g[i].token != g[i - 1].token + 1)
			continue;
		due = note_due(c, &g[i - 1], &g[i]);
		if (due < 0)
			continue;
		c->v->noted++;
		if (g[i].op->notes != (uint32_t)due)
			violation(c, RULE_NOTE, "note %#x where %#x is due: "
			    "%s AFTER %s", g[i].op->notes, (unsigned)due,
			    op_text(c, g[i].op), op_text(c, g[i - 1].op));
	}
}

struct write {
	const struct op *op;
	int64_t ret;
};

static int
by_ret(const void *a, const void *b)
{
	const struct write *x = a, *y = b;

	return (x->ret > y->ret) - (x->ret < y->ret);
}

static int
by_call(const void *a, const void *b)
{
	const struct op *const *x = a, *const *y = b;

	return ((*x)->call_ns > (*y)->call_ns) -
	    ((*x)->call_ns < (*y)->call_ns);
}

/*
 * The gate: a write that was let in before another one was called has no larger
 * token; a refused one names the larger token that it met.
 */
static int
check_writes(struct checker *c, uint32_t key)
{
	const struct history *h = c->h;
	const struct op **called = NULL;
	struct write *done = NULL;
	uint64_t top = 0;
	size_t n = 0, i, j = 0, room = c->v->writes + 1;
	uint32_t l, k;

	called = malloc(room * sizeof(*called));
	done = malloc(room * sizeof(*done));
	if (!called || !done) {
		free(called);
		free(done);
		return -ENOMEM;
	}
	for (l = 0; l < h->n_logs; l++) {
		for (k = 0; k < h->counts[l]; k++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + k];

			if (op->kind != OP_WRITE || op->key != key ||
			    !op_ret(op) || n == room)
				continue;
			if (op->result == -ESTALE) {
				c->v->writes_refused++;
				if (op->seen <= op->token)
					violation(c, RULE_WRITE, "refused "
					    "by token %llu, which is not "
					    "larger: %s",
					    (unsigned long long)op->seen,
					    op_text(c, op));
			} else if (op->result == 0) {
				called[n] = op;
				done[n++] = (struct write){ op, op_ret(op) };
			} else {
				violation(c, RULE_WRITE, "failed: %s",
				    op_text(c, op));
			}
		}
	}
	qsort(called, n, sizeof(*called), by_call);
	qsort(done, n, sizeof(*done), by_ret);
	for (i = 0; i < n; i++) {
		for (; j < n && done[j].ret < called[i]->call_ns; j++)
			if (done[j].op->token > top)
				top = done[j].op->token;
		if (called[i]->token < top)
			violation(c, RULE_WRITE, "a stale token was let in "
			    "after %llu: %s", (unsigned long long)top,
			    op_text(c, called[i]));
	}
	free(called);
	free(done);
	return 0;
}

int
check_holds(struct checker *c)
{
	struct grant **held, **all;
	size_t n, n_held, i;
	uint32_t k;
	int rc = 0;

	held = malloc((c->n_grants + 1) * sizeof(struct grant *));
	all = malloc((c->n_grants + 1) * sizeof(struct grant *));
	for (k = 0; held && all && k < c->h->n_keys && !rc; k++) {
		struct grant *g = &c->grants[c->first[k]];

		n = c->first[k + 1] - c->first[k];
		for (i = n_held = 0; i < n; i++) {
			all[i] = &g[i];
			if (g[i].end > g[i].hi)
				held[n_held++] = &g[i];
		}
		check_overlap(c, held, n_held, all, n);
		check_tokens(c, g, n);
		check_releases(c, g, n);
		check_notes(c, g, n);
		if (c->v->writes)
			rc = check_writes(c, k);
	}
	if (!held || !all)
		rc = -ENOMEM;
	free(held);
	free(all);
	return rc;
}
