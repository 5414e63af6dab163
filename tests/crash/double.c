/* SPDX-License-Identifier: MIT */
/*
 * Two deaths: an operation is killed, then the process that recovers from it,
 * and a third goes on.
 *
 * An operation is recorded.  From each state that its death can leave, a
 * recoverer recovers once and is recorded as well.  Then both are staged anew
 * for each pair of deaths that is tried, and the checker looks.
 *
 * A state begins with a change of the shared memory (but for the events of the
 * flight recorder, on which nothing depends), or with the return of a system
 * call that does more than look.  Until the next one all deaths leave the same.
 * No pair of states is tried twice.
 *
 * All pairs are too many.  Most steps of a recoverer are what everybody does:
 * it attaches, lists, leaves.  They are the same whatever the dead one left. So
 * without a stride a sample is tried, by this rule:
 *
 *	- all states of the first death;
 *	- of the second, each change of the memory that at most half of the
 *	  recoveries make, each time: that is the work on what was left;
 *	- each other change after every SHARE-th of the first deaths that lead
 *	  to it; after every (n / SPARED)-th if there are n first deaths and
 *	  that is less;
 *	- each system call after one of the first deaths.
 *
 * It is not the same first death for all steps: each has its share of them, and
 * each step is tried.
 *
 * A step is a place in the code, the depth of the stack and how often the two
 * were met.  Nothing else is in the rule: it chooses the same for everybody
 * whose recordings are the same.
 */
#include <stdlib.h>
#include <string.h>
#include "crash/double.h"
#include "crash/places.h"
#include "crash/setup.h"
#include "crash/target.h"
#include "tap.h"

#define SHARE 8
#define SPARED 4
#define STATE_AT (AT_BEGIN | AT_CHANGE | AT_RETURN)

struct trace double_recovery;

/* The recovery from one of the first deaths. */
struct recovery {
	struct first_crash first;
	struct approach other;	/* by way of the point reached before it */
	struct trace trace;
};

/* A step of recoveries. */
struct step {
	uint64_t rip;
	uint32_t depth, occ;
	uint32_t turn;		/* its number in the recovery that it is in */
	uint32_t recovery;
	uint32_t met, seen;	/* recoveries with it: all, and so far */
};

/* All that is known of a scenario. */
struct plan {
	struct trace trace;	/* of the operation */
	struct recovery *recovery;
	size_t n;
	struct step *step;	/* sorted; of equal ones the first counts */
	size_t n_steps;
};

enum outcome
double_record(struct trial *p, const struct scenario *sc,
    const struct point *at, struct approach how,
    const struct first_crash *first)
{
	struct first_crash here = { at, how, NULL };
	struct trace *tr = &double_recovery;
	enum trace_end end;
	bool good = true;

	(void)first;
	tr->again = true;
	for (int i = 0; good && tr->again && i < PLACES_ROUNDS; i++) {
		pid_t pid = attempt_recoverer(p, sc, &here, &end);

		trace_free(tr);
		good = pid > 0 && trace_record(p, pid, tr);
		trial_sweep(p);
	}
	if (good && !atomic_load(&p->blamed))
		return CLEAN;
	trace_free(tr);
	return end == TRACE_EARLY ? PASSED_BY : FINDING;
}

static bool
is_state(const struct point *at, const struct inject_opts *o)
{
	return o->full || (at->why & STATE_AT) != 0;
}

static void *
room(void *was, size_t n, size_t size)
{
	void *now = realloc(was, n * size);

	if (now == NULL)
		bail_out("out of memory");
	return now;
}

/* Records what follows each of the first deaths. */
static void
record_recoveries(struct trial *p, const struct scenario *sc, struct plan *all,
    const struct inject_opts *o, struct inject_tally *t)
{
	struct target to = { &all->trace, 0, { 0, 0 } };
	unsigned stride = o->stride != 0 ? o->stride : 1, k = 0;
	int tries;

	places_forget(false);
	for (size_t i = 0; i < all->trace.n; i++) {
		struct recovery *r;

		if (!is_state(&all->trace.at[i], o) ||
		    k++ % stride != stride / 2)
			continue;
		all->recovery = room(all->recovery, all->n + 1,
		    sizeof(*all->recovery));
		r = &all->recovery[all->n];
		r->first.at = &all->trace.at[i];
		target_aim(&to, i);
		r->other = trace_by_way(&all->trace, to.reached[0], i);
		switch (target_reach(p, sc, &to, double_record, NULL, o, t,
		    &r->first.how, &tries)) {
		case CLEAN:
			r->trace = double_recovery;
			memset(&double_recovery, 0, sizeof(double_recovery));
			all->n++;
			continue;
		case PASSED_BY:
			t->early++;
			break;
		case FINDING:
			diag_failed("%s: no recovery: %s", sc->name,
			    p->finding);
			t->failures++;
			t->tried++;
			break;
		}
		t->points++;
	}
}

static int
compare_places(const struct step *a, const struct step *b)
{
	if (a->rip != b->rip)
		return a->rip < b->rip ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->occ < b->occ ? -1 : a->occ > b->occ;
}

static int
compare_steps(const void *a, const void *b)
{
	const struct step *s = a, *t = b;
	int by_place = compare_places(s, t);

	if (by_place != 0)
		return by_place;
	return s->recovery < t->recovery ? -1 : s->recovery > t->recovery;
}

/* The first of the steps that are at that place. */
static struct step *
find_step(const struct plan *all, const struct point *at)
{
	struct step key = { .rip = at->rip, .depth = at->depth,
	    .occ = at->occ };
	size_t from = 0, to = all->n_steps;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (compare_places(&all->step[middle], &key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return &all->step[from];
}

/* Finds the steps, and how many recoveries take each. */
static void
count_steps(struct plan *all, const struct inject_opts *o)
{
	size_t n = 0;

	for (size_t r = 0; r < all->n; r++)
		n += all->recovery[r].trace.n;
	all->step = room(NULL, n + 1, sizeof(*all->step));
	for (size_t r = 0; r < all->n; r++) {
		const struct trace *tr = &all->recovery[r].trace;
		uint32_t turn = 0;

		for (size_t i = 0; i < tr->n; i++)
			if (is_state(&tr->at[i], o))
				all->step[all->n_steps++] = (struct step){
				    tr->at[i].rip, tr->at[i].depth,
				    tr->at[i].occ, turn++, (uint32_t)r, 0, 0 };
	}
	qsort(all->step, all->n_steps, sizeof(*all->step), compare_steps);
	for (size_t i = 0, first = 0; i < all->n_steps; i++) {
		if (compare_places(&all->step[first], &all->step[i]) != 0)
			first = i;
		all->step[first].met++;
	}
}

/* Work on what was left: most recoveries do without. */
static bool
is_rare(const struct step *s, const struct point *at, size_t recoveries)
{
	return (at->why & AT_CHANGE) != 0 && 2 * (size_t)s->met <= recoveries;
}

/* Is the second death at that step, which is not rare, tried in the next
 * recovery with it? */
static bool
is_due(struct step *s, const struct point *at, size_t recoveries)
{
	uint32_t each = (uint32_t)(recoveries / SPARED), nth = s->seen++;

	if ((at->why & AT_CHANGE) == 0)
		return nth == s->turn % s->met;
	if (each > SHARE)
		each = SHARE;
	if (each > s->met)
		each = s->met;
	return each <= 1 || nth % each == s->turn % each;
}

/* Is that state of a recovery tried?  The rare steps come first.  A stride
 * knows no difference. */
static bool
chosen(const struct plan *all, const struct point *at, bool rare,
    const struct inject_opts *o, unsigned *k)
{
	struct step *s;

	if (!is_state(at, o))
		return false;
	if (o->stride != 0)
		return rare && (*k)++ % o->stride == 0;
	s = find_step(all, at);
	if (is_rare(s, at, all->n))
		return rare;
	return !rare && is_due(s, at, all->n);
}

/* The second deaths in that recovery. */
static void
try_recovery(struct trial *p, const struct scenario *sc,
    const struct plan *all, const struct recovery *r, bool rare,
    const struct inject_opts *o, struct inject_tally *t)
{
	struct first_crash first = { r->first.at, r->first.how, &r->other };
	struct target to = { &r->trace, 0, { 0, 0 } };
	unsigned told_max = o->first ? 1 : TARGET_TOLD, k = 0;

	for (size_t i = 0; i < r->trace.n; i++) {
		if (!chosen(all, &r->trace.at[i], rare, o, &k))
			continue;
		t->points++;
		target_aim(&to, i);
		if (t->failures < told_max || o->quiet)
			target_try(p, sc, &to, attempt_double, &first, o, t);
	}
}

static void
forget(struct plan *all)
{
	for (size_t r = 0; r < all->n; r++)
		trace_free(&all->recovery[r].trace);
	free(all->recovery);
	free(all->step);
	trace_free(&all->trace);
}

bool
inject_double(struct trial *p, const struct scenario *sc,
    const struct inject_opts *o, struct inject_tally *t)
{
	struct plan all = { 0 };
	bool good;

	memset(t, 0, sizeof(*t));
	t->took_ns = trial_now_ns();
	p->full = o->full;
	good = setup_record(p, sc, MODE_DOUBLE, &all.trace);
	if (!good)
		diag_failed("%s cannot be recorded: %s", sc->name, p->finding);
	else
		record_recoveries(p, sc, &all, o, t);
	count_steps(&all, o);
	for (int rare = 1; rare >= 0; rare--)
		for (size_t r = 0; r < all.n; r++)
			try_recovery(p, sc, &all, &all.recovery[r], rare, o, t);
	t->instructions = all.trace.instructions;
	t->states = all.trace.states;
	t->sparse = all.trace.sparse;
	t->took_ns = trial_now_ns() - t->took_ns;
	forget(&all);
	return good;
}
