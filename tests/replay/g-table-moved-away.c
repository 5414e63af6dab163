/* SPDX-License-Identifier: MIT */
/*
 * I1 of op/token_ceiling.c, G2: a table's object is moved away (or removed, but
 * has another name still), and a new one is made in its place.  Who had the old
 * one open saw that its descriptor had a name, and raised: it got ranges above
 * the new table's, and keys more than the new ones' tokens.  Now who raises
 * sees where the table's name leads.
 */
#include "ranges.h"
#include "fence/range.h"

/* In scope local until it fails: how. */
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
	is(claim_ahead(&old->v), -ESTALE, "no range for it: no name");
	new = fence_open(table);
	fence_larger(new, "k", &last, "the new table");
	cmp(last, >, was, "above the old one");
	is(claim_ahead(&old->v), -ESTALE, "no range for it: replaced");
	is(use_up(old, &was), -ESTALE, "its tokens come to an end");
	ok(t_has_detail(), "which is said");
	cmp(was, <, last, "below the new one's");
	fence_larger(new, "k", &last, "which goes on");
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
