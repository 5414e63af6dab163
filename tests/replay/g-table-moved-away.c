/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, invariant I1 of op/token_ceiling.c: a table's object is moved
 * away, or is removed but has another name, and a new table is made in its
 * place.  A process that has the old table open must not claim ranges any more,
 * because the table's name leads elsewhere.
 *
 * Otherwise the old table would have ranges above those of the new one, and
 * both would grant tokens for one resource.
 */
#include "ranges.h"
#include "fence/range.h"

/* Acquires in scope local until that fails: the error. */
static int
use_up(struct lh *lh, uint64_t *last)
{
	int error = 0;

	for (int i = 0; i < 200 && error == 0; i++)
		error = fence_token(lh, "k", LH_LOCAL, last);
	return error;
}

static void
replaced(const char *table, int linked)
{
	char away[FENCE_PATH + 100];
	uint64_t was = 0, last = 0;
	struct lh *old, *new;

	snprintf(away, sizeof(away), "%s.away", t_object(table));
	t_remove_at_exit(away);
	old = fence_open(table);
	fence_larger(old, "k", &was, "the old table");
	if (linked) {
		is(link(t_object(table), away), 0, "has another name");
		is(unlink(t_object(table)), 0, "and is removed");
	} else {
		is(rename(t_object(table), away), 0, "is moved away");
	}
	is(claim_ahead(&old->v), -ESTALE,
	    "the old table claims no range: it has no name");
	new = fence_open(table);
	fence_larger(new, "k", &last, "the new table");
	cmp(last, >, was, "has a larger token");
	is(claim_ahead(&old->v), -ESTALE,
	    "the old table claims no range: it was replaced");
	is(use_up(old, &was), -ESTALE, "its tokens are used up");
	ok(t_has_detail(), "and the error says so");
	cmp(was, <, last, "its tokens are below the new table's");
	fence_larger(new, "k", &last, "the new table goes on");
	t_close(new);
	is(lh_close(old), 0, "closed");
	(void)unlink(away);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	const char *table = replay_begin();

	lhi_range_bits = 6;
	replaced(table, 0);
	replaced(t_table(), 1);
	return done();
}
