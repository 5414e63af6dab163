/* SPDX-License-Identifier: MIT */
/*
 * A table is not opened in the midst of a repair: also by nobody who had looked
 * at its header before that began.
 *
 * lh_open() looks for a repair that was given up before it has a session; then
 * it took a session, and did not look again.  Stopped in between, while a
 * repairer came, changed half of the table and was killed, it was attached to
 * that half.  Now it looks again when it has its session, which keeps repairers
 * out.
 */
#include "proc/attachment.h"
#include "replay.h"
#include <leasehold/repair.h>

#define LOOKS_MAX 4096		/* it has a session long before */

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

/* Stopped before its nth look at the table.  False: then it has a session. */
static bool
stopped_before(int n)
{
	damage();
	replay_hold_nth("opener", "load", n);
	(void)replay_fork("opener", open_it, NULL);
	replay_wait_held("opener");
	if (lh_table_repair(table, LH_DRY_RUN, NULL, NULL) == -EBUSY) {
		is(replay_finish("opener"), 0, "%d looks: it is attached", n);
		return false;
	}
	replay_hold("repairer", "mend.forgotten");
	(void)replay_fork("repairer", replay_repair, NULL);
	replay_wait_held("repairer");
	replay_kill("repairer");
	is(replay_finish("opener"), -EUCLEAN,
	    "stopped before look %d: "
	    "it sees that it came into a repair",
	    n);
	cmp(replay_repair(NULL), >, 0, "and is not in the way of the next");
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
	cmp(n, >, 4, "there were looks before it had a session");
	cmp(n, <, LOOKS_MAX, "and after");
	cmp(replay_repair(NULL), >, 0, "at the end it is repaired");
	lh = replay_open(table, 0);
	t_close(lh);
	return done();
}
