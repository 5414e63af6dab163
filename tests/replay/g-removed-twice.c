/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, issue 21 B4: two processes remove a table of another format by
 * force.  One is stopped after it has judged the object; the other removes it,
 * and a holder begins in the new table of that name.  The first one goes on,
 * sees what is there now, and leaves it alone.
 *
 * Otherwise it would erase a sound table under its holder, who would lose the
 * lease, although nobody has asked for that table to be removed.
 */
#include "proc/attachment.h"
#include "replay.h"

static const char *table;

static int
remove_table(void *arg)
{
	(void)arg;
	return lh_table_remove(table, LH_FORCE);
}

int
main(void)
{
	struct lh_lease l;
	struct lh *lh;

	table = replay_begin();
	lh = replay_open(table, 0);
	sh32_store(&lh->v.hdr->format, SHM_FORMAT + 1);
	replay_hold("remover", "remove.foreign");
	(void)replay_fork("remover", remove_table, NULL);
	ok(replay_comes("remover"), "one has judged a table of another format");
	is(lh_table_remove(table, LH_FORCE), 0, "another one removes it");
	(void)lh_close(lh);
	lh = replay_open(table, 0);
	is(replay_try(lh, "k", &l), 0, "held in the new table");
	is(replay_finish("remover"), -EBUSY, "the first one goes on: refused");
	is(lh_verify(lh, &l), 0, "the lease is as it was");
	is(lh_release(lh, &l), 0, "and released");
	t_close(lh);
	return done();
}
