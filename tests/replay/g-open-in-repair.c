/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, crash row M1: a table is not opened in the middle of a repair,
 * also by a process that read the header before the repair began.
 *
 * The opener is stopped before each of its loads, while a repairer begins,
 * changes half of the table and is killed.  The opener must look again when it
 * has its session, which keeps repairers out, and must report -EUCLEAN.
 *
 * Otherwise the opener would be attached to a table that is half repaired.
 */
#include "proc/attachment.h"
#include "replay.h"
#include <leasehold/repair.h>

#define LOOKS_MAX 4096		/* an opener has a session long before that */

static const char *table;

static int
open_it(void *arg)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh *lh = NULL;
	int result = lh_open(&lh, table, &o);

	(void)arg;
	if (result == 0)
		(void)lh_close(lh);
	return result;
}

static void
damage(void)
{
	struct lh *lh = replay_open(table, 0);

	(void)sh32_fetch_or(&lh->v.hdr->flags, SHM_DAMAGED);
	is(lh_close(lh), 0, "a table to be repaired");
}

/* Stops the opener before its nth load.  False if it has a session by then. */
static bool
stopped_before(int n)
{
	damage();
	replay_hold_nth("opener", "load", n);
	(void)replay_fork("opener", open_it, NULL);
	replay_wait_held("opener");
	if (lh_table_repair(table, LH_DRY_RUN, NULL, NULL) == -EBUSY) {
		is(replay_finish("opener"), 0, "after %d loads it is attached",
		    n);
		return false;
	}
	replay_hold("repairer", "mend.forgotten");
	(void)replay_fork("repairer", replay_repair, NULL);
	replay_wait_held("repairer");
	replay_kill("repairer");
	is(replay_finish("opener"), -EUCLEAN,
	    "stopped before load %d: it reports the repair",
	    n);
	cmp(replay_repair(NULL), >, 0, "and does not hinder the next repair");
	return true;
}

int
main(void)
{
	struct lh *lh;
	int n = 1;

	table = replay_begin();
	while (n < LOOKS_MAX && stopped_before(n))
		n *= 2;
	cmp(n, >, 4, "it was stopped before it had a session");
	cmp(n, <, LOOKS_MAX, "and after that");
	cmp(replay_repair(NULL), >, 0, "at the end the table is repaired");
	lh = replay_open(table, 0);
	t_close(lh);
	return done();
}
