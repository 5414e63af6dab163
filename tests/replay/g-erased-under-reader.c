/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, issue 21 B4: a table of another format is removed by force, and
 * its remover is stopped after each stretch that it has erased.  Meanwhile a
 * reader acquires and releases, again and again, on the fast path: its claim is
 * erased before the slot of its key, so it may push that claim once more.  When
 * the removal has ended, it is not revived, although it looks at its own claim
 * only.
 *
 * Otherwise a reader of the old table would hold the key beside a writer of the
 * new one.
 *
 * no mutant: here a single pass does too; removed-unread-grants-nothing needs
 * the second one, once in ten runs.
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

static int
read_once(struct lh *lh, struct lh_key *k)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l;
	int error;

	o.mode = LH_SHARED;
	error = lh_key_acquire(k, &o, &l);
	return error != 0 ? error : lh_release(lh, &l);
}

/* True if the remover was stopped. */
static bool
play(int n, int *granted)
{
	struct lh *lh = replay_open(table, 0), *fresh;
	struct lh_lease theirs;
	struct lh_key *k;
	bool stands;

	if (lh_key_open(lh, "k", 0, &k) != 0)
		bail_out("no key: %s", lh_error_detail());
	for (int i = 0; i < 40; i++)
		if (read_once(lh, k) != 0)
			bail_out("warming up: %s", lh_error_detail());
	sh32_store(&lh->v.hdr->format, SHM_FORMAT + 1);
	replay_hold_nth("remover", "erase.written", n);
	(void)replay_fork("remover", remove_table, NULL);
	stands = replay_comes("remover");
	for (int i = 0; stands && i < 40; i++)
		*granted += read_once(lh, k) == 0;
	is(stands ? replay_finish("remover") : replay_result("remover"), 0,
	    "removed, stopped at stretch %d", n);
	fresh = replay_open(table, 0);
	is(replay_try(fresh, "k", &theirs), 0, "held in the new table");
	cmp(read_once(lh, k), <, 0, "not granted in the old one");
	(void)lh_close(lh);
	(void)lh_close(fresh);
	(void)lh_table_remove(table, LH_FORCE);
	return stands;
}

int
main(void)
{
	int n = 1, granted = 0;

	table = replay_begin();
	while (play(n, &granted))
		n++;
	cmp(n, >, 3, "stopped after each of %d stretches", n - 1);
	cmp(granted, >, 0, "granted %d times before the end", granted);
	return done();
}
