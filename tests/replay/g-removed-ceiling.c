/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, crash row D1: an acquire that must raise the token ceiling is
 * stopped before each of its accesses, while the table is removed by force and
 * made again.  The acquire may succeed or fail, but the old table must give no
 * token that the new one may give, too.  The ceiling is lowered before anybody
 * has read it, so that it is near.
 *
 * Otherwise a fencing token would be given twice, once by the old table and
 * once by the new one.
 */
#include "sweep.h"

#define AHEAD	8	/* tokens below the lowered ceiling */

struct raiser {
	struct sweep sweep;
	struct lh *lh;
	struct lh_lease lease;
	int n;
};

static const char *table;

/* Uses up the tokens below the ceiling, and then one more. */
static int
raise_ceiling(void *arg)
{
	struct raiser *r = arg;
	struct lh_lease l;
	int error;

	for (;;) {
		if (replay_try(r->lh, "k", &l) != 0 ||
		    lh_release(r->lh, &l) != 0)
			bail_out("warming up: %s", lh_error_detail());
		if (l.token + 1 >= sh64_load(&r->lh->v.hdr->ceiling))
			break;
	}
	sweep_now(&r->sweep, NULL, r->n);
	error = replay_try(r->lh, "k", &r->lease);
	sweep_now(&r->sweep, NULL, 0);
	return error;
}

/* True if the acquire was stopped. */
static bool
play(int n, int *given)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct raiser r = { .n = n };
	struct lh *fresh;
	bool stands;
	int error;

	r.lh = replay_open(table, 0);
	sh64_store(&r.lh->v.hdr->ceiling,
	    sh64_load(&r.lh->v.hdr->token_base) + AHEAD);
	sweep_go(&r.sweep, raise_ceiling, &r);
	stands = sweep_stands(&r.sweep);
	error = lh_table_remove(table, LH_FORCE);
	if (error != 0)
		sweep_bad("acquire", n, "the table is not removed: %d", error);
	fresh = replay_open(table, 0);
	if (lh_stats(fresh, &st) != 0)
		sweep_bad("acquire", n, "no stats");
	error = sweep_end(&r.sweep);
	if (error != 0 && error != -ESTALE)
		sweep_bad("acquire", n, "it returns %d", error);
	if (error == 0 && r.lease.token > st.token_base)
		sweep_bad("acquire", n, "it has a token of the new table");
	if (sh64_load(&r.lh->v.hdr->ceiling) > st.token_base)
		sweep_bad("acquire", n, "the ceiling has moved on");
	*given += error == 0;
	if (error == 0)
		(void)lh_release(r.lh, &r.lease);
	(void)lh_close(r.lh);
	(void)lh_close(fresh);
	(void)lh_table_remove(table, 0);
	return stands;
}

int
main(void)
{
	int n = 1, given = 0;

	table = sweep_begin();
	while (play(n, &given))
		n++;
	cmp(n, >, 5, "an acquire was stopped before each of %d accesses",
	    n - 1);
	cmp(given, >, 0, "%d of them were granted", given);
	cmp(given, <, n, "%d were refused", n - given);
	return done();
}
