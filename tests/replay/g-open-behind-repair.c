/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: a process opens a table while it is repaired.  The repair,
 * which has all sessions, ends between the opener's last search for a free
 * session and its check for a repair.  The opener must try again, and must not
 * report that all sessions are in use.
 *
 * Otherwise an open would fail with -ENOSPC in a table that is empty.
 */
#include "proc/attachment.h"
#include "replay.h"
#include <leasehold/repair.h>

static const char *table;

static int
open_it(void *arg)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh *lh = NULL;
	int result = lh_open(&lh, table, &o);

	(void)arg;
	if (result != 0)
		diag("%s: %s", lh_strerror(result), lh_error_detail());
	else
		(void)lh_close(lh);
	return result;
}

int
main(void)
{
	struct lh *lh;

	table = replay_begin();
	lh = replay_open(table, 0);
	(void)sh32_fetch_or(&lh->v.hdr->flags, SHM_DAMAGED);
	is(lh_close(lh), 0, "a table to be repaired");
	replay_hold("opener", "open.attaching");
	(void)replay_fork("opener", open_it, NULL);
	replay_wait_held("opener");
	replay_hold("repairer", "repair.checked");
	(void)replay_fork("repairer", replay_repair, NULL);
	replay_wait_held("repairer");
	replay_stop_next("opener", "open.began");
	is(replay_finish("repairer"), 1, "repaired");
	is(replay_finish("opener"), 0, "and the table is opened");
	return done();
}
