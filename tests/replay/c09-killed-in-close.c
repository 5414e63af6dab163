/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2, crash row CL1, amendment C9: a process that is
 * killed inside lh_close() is provably dead.
 *
 * A closing session no longer looks like a living one, and has not released its
 * leases yet.  If its process is stopped there, it keeps them; if the process
 * is killed there, they are freed within T2.
 *
 * Otherwise nobody could prove the death, and the keys would stay held until
 * their deadlines.
 */
#include "replay.h"

struct shared {
	const char *table;
	struct lh_lease a, b;
};

static int
close_it(void *arg)
{
	struct shared *sh = arg;
	struct lh *lh = replay_open(sh->table, 0);

	sh->a = t_hold(lh, "a");
	sh->b = t_hold(lh, "b");
	return lh_close(lh);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh *lh = replay_open(table, 0);
	struct lh_lease a, b;
	int64_t began_ns;

	sh->table = table;
	replay_hold("closer", "close.closing");
	replay_fork("closer", close_it, sh);
	replay_wait_held("closer");
	is(t_acquire(lh, "a", REPLAY_LONG_MS, 100, &a), -ETIMEDOUT,
	    "a closer that is stopped is not dead");
	is(lh_verify_token(lh, "a", sh->a.token), 0, "and its lease is held");
	replay_kill("closer");
	began_ns = t_now_ns();
	is(t_acquire(lh, "a", REPLAY_LONG_MS, 3 * T2_MS, &a), 0,
	    "killed there, its lease is freed");
	is(t_acquire(lh, "b", REPLAY_LONG_MS, 3 * T2_MS, &b), 0,
	    "each of its leases");
	cmp(t_since_ms(began_ns), <, T2_MS, "within T2");
	cmp(a.token, >, sh->a.token, "the tokens grow");
	cmp(b.token, >, sh->b.token, "for both keys");
	is(lh_release(lh, &a), 0, "release");
	is(lh_release(lh, &b), 0, "release");
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 500, "killed in close");
	return done();
}
