/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: readers that stand in a row in the queue are granted the key
 * together, with no writer between them; a row ends at the first writer, and
 * the readers behind it wait for it.  In the default order and in fifo, and
 * with priorities that make the rows.
 *
 * Otherwise readers would wait for each other, or overtake a writer.
 */
#include <errno.h>
#include "readers.h"

#define N 9

/* Rows by number; a writer is a row of its own. */
static const struct place {
	uint32_t mode;
	int row;
} places[N] = {
	{ LH_SHARED, 0 }, { LH_SHARED, 0 },
	{ LH_EXCLUSIVE, 1 },
	{ LH_SHARED, 2 }, { LH_SHARED, 2 }, { LH_SHARED, 2 },
	{ LH_EXCLUSIVE, 3 }, { LH_EXCLUSIVE, 4 },
	{ LH_SHARED, 5 },
};
#define ROWS 6

struct scene {
	struct lh *lh;
	struct t_actor *w[N];
	bool by_priority;	/* arrive in reverse, with priorities */
};

/* One row enters; true if it was this row and nobody else. */
static bool
enter(struct scene *s, int row, bool *had, uint64_t *last)
{
	bool in_order = true;
	uint64_t largest = *last;
	int left = 0;

	for (int i = 0; i < N; i++)
		left += places[i].row == row && !had[i];
	while (left > 0) {
		int i = t_who(s->w, N, had);

		if (i < 0)
			bail_out("nobody is granted");
		had[i] = true;
		if (s->w[i]->result != 0)
			fail("number %d: %s", i, s->w[i]->detail);
		if (s->w[i]->lease.token <= *last)
			fail("number %d has no larger token", i);
		if (s->w[i]->lease.token > largest)
			largest = s->w[i]->lease.token;
		if (places[i].row == row) {
			left--;
			continue;
		}
		/* somebody did not run for too long; see t_who() */
		diag("row %d: number %d was granted", row, i);
		in_order = false;
		t_do_release(s->w[i]);
	}
	*last = largest;
	return in_order;
}

static bool
row_by_row(void *arg)
{
	struct scene *s = arg;
	struct lh_lease l = t_hold(s->lh, "k");
	bool had[N] = { false }, in_order = true;
	uint64_t last = l.token;
	int together = 0, alone = 0;

	for (int i = 0; i < N; i++) {
		int who = s->by_priority ? N - 1 - i : i;

		t_queue(s->lh, s->w[who], places[who].mode,
		    s->by_priority ? (uint32_t)(100 - who) : 4, i + 1);
	}
	is(lh_release(s->lh, &l), 0, "released to %d in %d rows", N, ROWS);
	for (int row = 0; row < ROWS; row++) {
		int n = 0, behind = 0;

		in_order &= enter(s, row, had, &last);
		for (int i = 0; i < N; i++) {
			n += places[i].row == row;
			behind += !had[i];
		}
		together += t_holders(s->lh, "k") == n;
		alone += t_waiters(s->lh, "k") == behind;
		for (int i = 0; i < N; i++)
			if (places[i].row == row &&
			    t_do_release(s->w[i]) != 0)
				fail("number %d releases", i);
	}
	if (in_order) {
		is(together, ROWS, "each row was inside together");
		is(alone, ROWS, "and nobody else");
	}
	return in_order;
}

static void
in_table(uint32_t order, const char *name)
{
	struct lh_open_opts o = t_open_opts();
	struct scene s = { .by_priority = false };
	const char *table = t_table();

	o.order = order;
	is(lh_open(&s.lh, table, &o), 0, "%s", name);
	for (int i = 0; i < N; i++)
		s.w[i] = t_actor(table);
	ok(t_tries(3, row_by_row, &s), "row by row");
	s.by_priority = true;
	ok(t_tries(3, row_by_row, &s), "by priority, row by row");
	for (int i = 0; i < N; i++)
		t_actor_end(s.w[i]);
	t_close(s.lh);
}

int
main(void)
{
	in_table(LH_ORDER_BOUNDED, "the default order");
	in_table(LH_ORDER_FIFO, "fifo");
	return done();
}
