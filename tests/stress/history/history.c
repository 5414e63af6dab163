/* SPDX-License-Identifier: MIT */
/*
 * The history checker's frame: runs the rules, and does the arithmetic of
 * spans.  history.h describes the rules, and why they err to one side
 * only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grants.h"

int
spans_add(struct spans *s, int64_t from, int64_t to)
{
	if (to <= from)
		return 0;
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct span *at = realloc(s->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		s->at = at;
		s->room = room;
	}
	s->at[s->n++] = (struct span){ from, to };
	return 0;
}

static int
by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

void
spans_join(struct spans *s)
{
	size_t i, n = 0;

	if (!s->n)
		return;
	qsort(s->at, s->n, sizeof(*s->at), by_from);
	for (i = 1; i < s->n; i++) {
		if (s->at[i].from <= s->at[n].to)
			s->at[n].to = max_ns(s->at[n].to, s->at[i].to);
		else
			s->at[++n] = s->at[i];
	}
	s->n = n + 1;
}

size_t
spans_after(const struct spans *s, int64_t at)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->at[mid].to > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

bool
was_stopped(const struct checker *c, uint32_t life, int64_t from, int64_t to)
{
	const struct spans *s = &c->stops[life];
	size_t i = spans_after(s, from);

	return i < s->n && s->at[i].from < to;
}

int64_t
stood_still(const struct checker *c, int64_t from, int64_t to)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < c->h->n_gaps; i++)
		sum += max_ns(0, min_ns(to, c->h->gaps[i].to_ns) -
		    max_ns(from, c->h->gaps[i].from_ns));
	return sum;
}

/* Every index that a record or a stop names must exist: they come from memory
 * that killed processes wrote. */
static int
check_input(const struct history *h)
{
	uint32_t l, i;
	size_t s;

	for (l = 0; l < h->n_logs; l++) {
		if (h->counts[l] > h->cap)
			return -EINVAL;
		for (i = 0; i < h->counts[l]; i++) {
			const struct op *op = &h->ops[(size_t)l * h->cap + i];

			if (op->life >= h->n_lives || op->key >= h->n_keys ||
			    op->of >= (size_t)h->n_logs * h->cap)
				return -EINVAL;
		}
	}
	for (s = 0; s < h->n_stops; s++)
		if (h->stops[s].life >= h->n_lives)
			return -EINVAL;
	for (s = 0; s < h->n_sightings; s++)
		if (h->sightings[s].key >= h->n_keys)
			return -EINVAL;
	return 0;
}

static int
collect_stops(struct checker *c)
{
	const struct history *h = c->h;
	size_t i;
	int rc = 0;

	c->stops = calloc(h->n_lives + 1, sizeof(*c->stops));
	c->stopping = calloc(h->n_lives + 1, sizeof(*c->stopping));
	if (!c->stops || !c->stopping)
		return -ENOMEM;
	for (i = 0; i < h->n_stops && !rc; i++) {
		const struct stop *s = &h->stops[i];

		rc = spans_add(&c->stops[s->life], s->before_ns, s->after_ns);
		if (!rc)
			rc = spans_add(&c->stopping[s->life], s->before_ns,
			    s->stopped_ns);
	}
	for (i = 0; i < h->n_lives; i++) {
		spans_join(&c->stops[i]);
		spans_join(&c->stopping[i]);
	}
	return rc;
}

static void
forget_stops(struct checker *c)
{
	size_t i;

	for (i = 0; i < c->h->n_lives; i++) {
		if (c->stops)
			free(c->stops[i].at);
		if (c->stopping)
			free(c->stopping[i].at);
	}
	free(c->stops);
	free(c->stopping);
}

int64_t
history_check(const struct history *h, struct verdict *v, violation_fn *fn,
    void *arg)
{
	struct checker c = { .h = h, .v = v, .fn = fn, .arg = arg };
	int64_t n = 0;
	size_t i;
	int rc;

	memset(v, 0, sizeof(*v));
	rc = check_input(h);
	if (!rc)
		rc = collect_stops(&c);
	if (!rc)
		rc = grants_build(&c);
	if (!rc)
		rc = check_holds(&c);
	if (!rc)
		rc = check_upgrades(&c);
	if (!rc)
		rc = check_idle(&c);
	if (!rc)
		rc = check_order(&c);
	grants_free(&c);
	forget_stops(&c);
	for (i = 0; i < N_RULES; i++)
		n += (int64_t)v->broken[i];
	return rc ? rc : n;
}
