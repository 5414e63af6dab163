/* SPDX-License-Identifier: MIT */
/*
 * Leases that change their mode.
 *
 * A conversion that succeeded ends one grant of its lease and begins another.
 * Certain: up to the call it had the old mode, from the return on it has the
 * new one, and in between it is held at least shared.  Possible: the other
 * mode, from the call to the return.
 */
#include <errno.h>
#include <stdlib.h>

#include <leasehold.h>
#include "grants.h"

#define SLACK_NS	20000000	/* of a deadline by the coarse clock */

static void
converted(struct checker *c, struct grant *g, const struct op *op)
{
	int64_t ret = op_ret(op);
	struct grant *to;

	if (op->token <= g->token)
		violation(c, RULE_TOKEN, op, ret, "the token did not grow from "
		    "%llu (G2): %s", (unsigned long long)g->token,
		    op_text(c, op));
	if (!g->vague && op->deadline_ns > g->deadline)
		violation(c, RULE_EXPIRY, op, ret, "a conversion moved the "
		    "deadline from %.6f: %s", (double)g->deadline / 1e9,
		    op_text(c, op));
	to = grants_add(c, op, g->lease);
	to->vague = g->vague;
	g->gone = min_ns(g->gone, ret);
	if (to->shared) {
		c->v->downgrades++;
		to->from = op->call_ns;
		g->end = min_ns(g->end, op->call_ns);
	} else {
		c->v->upgrades++;
		g->end = min_ns(g->end, ret);
	}
}

void
convert(struct checker *c, struct grant *g, const struct op *op)
{
	bool up = op->mode == LH_EXCLUSIVE;

	if (!op_ret(op)) {
		/* its token may be another one now */
		g->vague = true;
		if (!up)
			g->end = min_ns(g->end, op->call_ns);
		return;
	}
	if (op->result == -EAGAIN && up) {
		c->v->upgrades_busy++;
		return;
	}
	grants_answer(c, g, op, false);
	if (op->result == 0)
		converted(c, g, op);
	else
		grants_lost(c, g, op);
}

/* A stretch in which somebody may have read, or tried to. */
struct reader {
	const struct op *lease;
	uint32_t key;
	int64_t from, to;
};

/* Of those that begin no later than one: the two that end last. */
struct latest {
	const struct reader *first, *other;	/* of different leases */
};

static int
by_key_from(const void *a, const void *b)
{
	const struct reader *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static size_t
collect_readers(const struct checker *c, struct reader *r)
{
	const struct history *h = c->h;
	size_t n = 0, g;
	uint32_t l, i;

	for (g = 0; g < c->n_grants; g++) {
		const struct grant *gr = &c->grants[g];

		/* also upgraded ones: they may have been readers until then */
		r[n++] = (struct reader){ gr->lease, gr->op->key,
		    gr->op->call_ns, gr->gone };
	}
	for (l = 0; l < h->n_logs; l++) {
		for (i = 0; i < h->counts[l]; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];

			/* a push that was undone, or whose end is unknown */
			if (op->kind == OP_ACQUIRE && op->mode == LH_SHARED &&
			    (!op_ret(op) || op->result))
				r[n++] = (struct reader){ op, op->key,
				    op->call_ns, op_ret(op) ? op_ret(op) :
				    h->lives[op->life].gone_ns };
		}
	}
	qsort(r, n, sizeof(*r), by_key_from);
	return n;
}

static void
judge_busy(struct checker *c, const struct op *op, const struct reader *r,
    const struct latest *m, size_t n)
{
	const struct reader *other;
	const struct op *lease = &c->h->ops[op->of];
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r[mid].key < op->key || (r[mid].key == op->key &&
		    r[mid].from <= op_ret(op)))
			lo = mid + 1;
		else
			hi = mid;
	}
	other = !lo || r[lo - 1].key != op->key ? NULL :
	    m[lo - 1].first->lease != lease ? m[lo - 1].first :
	    m[lo - 1].other;
	if (!other || other->to + SLACK_NS < op->call_ns)
		violation(c, RULE_RESULT, op, op_ret(op), "busy, and no other "
		    "reader: %s", op_text(c, op));
}

int
check_upgrades(struct checker *c)
{
	const struct history *h = c->h;
	size_t total = c->n_grants + c->v->refusals + c->v->unknown + 1, n, i;
	struct reader *r;
	struct latest *m;
	uint32_t l, k;

	if (!c->v->upgrades_busy)
		return 0;
	r = malloc(total * sizeof(*r));
	m = malloc(total * sizeof(*m));
	if (!r || !m) {
		free(r);
		free(m);
		return -ENOMEM;
	}
	n = collect_readers(c, r);
	for (i = 0; i < n; i++) {
		const struct reader *was;

		m[i] = i && r[i].key == r[i - 1].key ? m[i - 1] :
		    (struct latest){ &r[i], NULL };
		was = m[i].first;
		if (r[i].lease == was->lease) {
			if (r[i].to > was->to)
				m[i].first = &r[i];
		} else if (r[i].to > was->to) {
			m[i].first = &r[i];
			m[i].other = was;
		} else if (!m[i].other || r[i].to > m[i].other->to) {
			m[i].other = &r[i];
		}
	}
	for (l = 0; l < h->n_logs; l++) {
		for (k = 0; k < h->counts[l]; k++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + k];

			if (op->kind == OP_CONVERT && op_ret(op) &&
			    op->mode == LH_EXCLUSIVE && op->result == -EAGAIN)
				judge_busy(c, op, r, m, n);
		}
	}
	free(r);
	free(m);
	return 0;
}
