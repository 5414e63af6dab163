/* SPDX-License-Identifier: MIT */
/*
 * Exclusion (G1), fence order (G2), late releases (G3) and notes: everything
 * that is decided by comparing the grants of one key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <leasehold.h>
#include "grants.h"

static int
by_start(const void *a, const void *b)
{
	const struct grant *const *x = a, *const *y = b;

	return ((*x)->from > (*y)->from) - ((*x)->from < (*y)->from);
}

static int
by_window(const void *a, const void *b)
{
	const struct grant *const *x = a, *const *y = b;

	return ((*x)->lo > (*y)->lo) - ((*x)->lo < (*y)->lo);
}

static int
by_hi(const void *a, const void *b)
{
	const struct grant *const *x = a, *const *y = b;

	return ((*x)->hi > (*y)->hi) - ((*x)->hi < (*y)->hi);
}

/* Of the holds seen so far the one that ends last, and the last of another
 * lease. */
struct longest {
	const struct grant *first, *other;
};

static void
note_hold(struct longest *l, const struct grant *g)
{
	if (l->first && l->first->lease != g->lease) {
		if (g->end > l->first->end) {
			l->other = l->first;
			l->first = g;
		} else if (!l->other || g->end > l->other->end) {
			l->other = g;
		}
	} else if (!l->first || g->end > l->first->end) {
		l->first = g;
	}
}

/* The holds that keep g from being granted, if they last so long. */
struct holds {
	struct longest any, exclusive;
};

static void
note_holds(struct holds *h, const struct grant *g)
{
	note_hold(&h->any, g);
	if (!g->shared)
		note_hold(&h->exclusive, g);
}

static const struct grant *
in_the_way(const struct holds *h, const struct grant *g, int64_t at)
{
	const struct longest *l = g->shared ? &h->exclusive : &h->any;
	const struct grant *p = l->first && l->first->lease != g->lease ?
	    l->first : l->other;

	return p && at < p->end ? p : NULL;
}

/*
 * Certain holds of one key are disjoint unless both are shared.  A hold that
 * was over before its acquire returned still stood for an instant in the grant
 * window: that window must not lie within a certain hold that bars it.
 */
static void
check_overlap(struct checker *c, struct grant **held, size_t n_held,
    struct grant **all, size_t n)
{
	struct holds seen = { { NULL, NULL }, { NULL, NULL } };
	const struct grant *p;
	size_t i, j = 0;

	qsort(held, n_held, sizeof(*held), by_start);
	for (i = 0; i < n_held; i++) {
		const struct grant *g = held[i];

		p = in_the_way(&seen, g, g->from);
		if (p)
			violation(c, RULE_OVERLAP, g->op, g->from, "key %u "
			    "held twice for %.3f ms (G1): %s AND %s",
			    g->op->key, (double)(min_ns(p->end, g->end) -
			    g->from) / 1e6, op_text(c, p->op),
			    op_text(c, g->op));
		note_holds(&seen, g);
	}
	qsort(all, n, sizeof(*all), by_window);
	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < n; i++) {
		const struct grant *g = all[i];

		for (; j < n_held && held[j]->from < g->lo; j++)
			note_holds(&seen, held[j]);
		p = g->end > g->from ? NULL : in_the_way(&seen, g, g->hi);
		if (p)
			violation(c, RULE_OVERLAP, g->op, g->hi, "key %u "
			    "granted while it was held (G1): %s DURING %s",
			    g->op->key, op_text(c, g->op), op_text(c, p->op));
	}
}

/*
 * No exclusive token twice, nor that of a reader before it; and when one window
 * lies wholly before another, the tokens say so if one of the two is exclusive.
 *
 * g is sorted by token; `by_lo` and `by_end` are the same, in order of time.
 */
static void
check_tokens(struct checker *c, const struct grant *g, size_t n,
    struct grant **by_lo, struct grant **by_end)
{
	const struct grant *top = NULL, *top_x = NULL, *t;
	size_t i, j;

	for (i = 0; i < n; i++) {
		for (j = i + 1; !g[i].shared && j < n &&
		    g[j].token == g[i].token; j++)
			if (!g[j].shared || g[j].hi < g[i].lo)
				violation(c, RULE_TOKEN, g[j].op, g[j].hi,
				    "one token twice (G2): %s AND %s",
				    op_text(c, g[i].op), op_text(c, g[j].op));
	}
	qsort(by_lo, n, sizeof(*by_lo), by_window);
	qsort(by_end, n, sizeof(*by_end), by_hi);
	for (i = j = 0; i < n; i++) {
		for (; j < n && by_end[j]->hi < by_lo[i]->lo; j++) {
			if (!top || by_end[j]->token > top->token)
				top = by_end[j];
			if (!by_end[j]->shared && (!top_x ||
			    by_end[j]->token > top_x->token))
				top_x = by_end[j];
		}
		t = by_lo[i]->shared ? top_x : top;
		if (t && by_lo[i]->token < t->token)
			violation(c, RULE_TOKEN, by_lo[i]->op, by_lo[i]->lo,
			    "a smaller token for a later grant (G2): %s "
			    "BEFORE %s", op_text(c, t->op),
			    op_text(c, by_lo[i]->op));
	}
}

/* A release after a successor was served must report a lost lease. */
static void
check_releases(struct checker *c, const struct grant *g, size_t n)
{
	const struct grant *any = NULL, *exclusive = NULL;

	while (n-- > 0) {
		const struct op *r = g[n].release;
		const struct grant *e = g[n].shared ? exclusive : any;

		if (r && op_ret(r) && r->result == 0 && e &&
		    e->hi < r->call_ns && e->token > g[n].token)
			violation(c, RULE_EXPIRY, r, r->call_ns, "released "
			    "after a successor was served (G3): %s AFTER %s",
			    op_text(c, r), op_text(c, e->op));
		if (!any || g[n].hi < any->hi)
			any = &g[n];
		if (!g[n].shared && (!exclusive || g[n].hi < exclusive->hi))
			exclusive = &g[n];
	}
}

/*
 * Returns the note that g must have, which follows p directly (the next token);
 * -1: this cannot be decided from outside.
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

/*
 * Only a grant that was acquired and follows an exclusive grant can be judged:
 * the note is about that one.  Of readers, only the first has its own token.
 */
static void
check_notes(struct checker *c, const struct grant *g, size_t n)
{
	size_t i;
	int due;

	for (i = 1; i < n; i++) {
		if (g[i].token != g[i - 1].token + 1 || g[i - 1].shared ||
		    g[i].op != g[i].lease ||
		    (i + 1 < n && g[i + 1].token == g[i].token))
			continue;
		due = note_due(c, &g[i - 1], &g[i]);
		if (due < 0)
			continue;
		c->v->noted++;
		if (g[i].op->notes != (uint32_t)due)
			violation(c, RULE_NOTE, g[i].op, g[i].hi, "note %#x "
			    "where %#x is due: %s AFTER %s", g[i].op->notes,
			    (unsigned)due, op_text(c, g[i].op),
			    op_text(c, g[i - 1].op));
	}
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
			if (g[i].end > g[i].from)
				held[n_held++] = &g[i];
		}
		check_overlap(c, held, n_held, all, n);
		for (i = 0; i < n; i++)
			held[i] = &g[i];
		check_tokens(c, g, n, all, held);
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
