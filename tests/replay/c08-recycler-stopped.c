/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, timing T2, amendment C8: a process that recycles a dead
 * session's record, and is stopped, does not make the dead process look alive.
 *
 * A process dies with a lease.  Another process opens the table, which is full,
 * and is stopped when it has taken the dead one's record.  A waiter must find
 * out about the death all the same, within T2. The recycler then gets the
 * record; a second recycler, meanwhile, does not.
 *
 * Otherwise the key of a dead holder would stay held for as long as the
 * recycler is stopped.
 */
#include "replay.h"

#define SESSIONS 4		/* 0 counts, too */

struct shared {
	struct replay_call victim, recycler;
	const char *table;
};

static int
hold_and_die(void *arg)
{
	struct shared *sh = arg;

	sh->victim.lh = replay_open(sh->table, SESSIONS);
	return replay_acquire(&sh->victim);	/* held there, and killed */
}

static int
open_and_try(void *arg)
{
	struct shared *sh = arg;
	struct lh_open_opts o = replay_opts(SESSIONS);
	int r = lh_open(&sh->recycler.lh, sh->table, &o);

	if (r == 0)
		r = replay_acquire(&sh->recycler);
	return r != 0 ? r : lh_close(sh->recycler.lh);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh_open_opts o = replay_opts(SESSIONS);
	struct lh *lh[SESSIONS], *none;
	struct lh_lease l;
	int64_t began_ns;
	int n = 0, r;

	*sh = (struct shared){ REPLAY_CALL(NULL, "k", REPLAY_LONG_MS, 0),
	    REPLAY_CALL(NULL, "other", 1000, 0), table };
	lh[n++] = replay_open(table, SESSIONS);
	replay_hold("victim", "acquire.granted");
	replay_fork("victim", hold_and_die, sh);
	replay_wait_held("victim");
	while (n < SESSIONS && lh_open(&lh[n], table, &o) == 0)
		n++;
	is(lh_open(&none, table, &o), -ENOSPC, "the table is full");
	replay_kill("victim");
	replay_hide_dead(lh[0]);

	replay_hold("recycler", "session.recycling");
	replay_fork("recycler", open_and_try, sh);
	replay_wait_held("recycler");
	began_ns = t_now_ns();
	r = t_acquire(lh[0], "k", REPLAY_LONG_MS, 3 * T2_MS, &l);
	is(r, 0, "the dead one's lease is freed while a recycler is stopped");
	cmp(t_since_ms(began_ns), <, T2_MS, "within T2");
	if (r == 0)
		ok(l.notes & LH_NOTE_PREVIOUS_DIED,
		    "and its lease notes the death");
	is(lh_open(&none, table, &o), -ENOSPC,
	    "a second recycler gets no record");

	is(replay_finish("recycler"), 0, "the recycler gets the record");
	is(lh_verify(lh[0], &l), 0, "the freed key's new lease is held");
	is(lh_release(lh[0], &l), 0, "release");
	is(t_findings(lh[0]), 0, "the table is sound");
	while (n > 0)
		is(lh_close(lh[--n]), 0, "close");
}

int
main(void)
{
	t_part(play_all, 500, "recycler stopped");
	return done();
}
