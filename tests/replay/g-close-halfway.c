/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G5, timings T1 and T2: lh_close() is stopped when it has
 * released one lease, freed the word of a second one, and still holds a third.
 * Others must acquire the first two keys at once and the third at its deadline,
 * and processes must be able to attach and detach.  Then the closer goes on and
 * disturbs nobody, or it is killed there and is provably dead.
 *
 * Otherwise a process that is stopped inside lh_close() would keep its keys
 * from everybody.
 */
#include "replay.h"

#define KEYS 3
#define TTL_MS t_long(400)

struct shared {
	const char *table;
	int64_t last_ttl_ms;
	struct lh_lease lease[KEYS];
};

static const char *const key[KEYS] = { "k0", "k1", "k2" };

static int
hold_and_close(void *arg)
{
	struct shared *sh = arg;
	struct lh *lh = replay_open(sh->table, 0);

	for (int i = 0; i < KEYS; i++)
		if (t_acquire(lh, key[i], i < KEYS - 1 ? REPLAY_LONG_MS :
		    sh->last_ttl_ms, 0, &sh->lease[i]) != 0)
			return -EINVAL;
	return lh_close(lh);
}

static void
halfway(struct lh *lh, struct shared *sh, struct lh_lease *l)
{
	struct lh *visitor;
	struct lh_lease v;
	int64_t began_ns;

	replay_hold_nth("closer", "claim.buried", 2);
	replay_fork("closer", hold_and_close, sh);
	replay_wait_held("closer");
	began_ns = t_now_ns();
	is(replay_try(lh, key[0], &l[0]), 0, "the released key is free");
	is(replay_try(lh, key[1], &l[1]), 0,
	    "so is the key whose word is free");
	is(replay_try(lh, key[2], &l[2]), -EAGAIN,
	    "the key that it still holds is not");
	visitor = replay_open(sh->table, 0);
	is(replay_try(visitor, "other", &v), 0,
	    "another process attaches and acquires");
	is(lh_close(visitor), 0, "and detaches");
	cmp(t_since_ms(began_ns), <, t_long(TTL_MS / 2), "without a delay");
}

static void
finish(struct lh *lh, struct lh_lease *l)
{
	for (int i = 0; i < KEYS; i++) {
		is(lh_verify(lh, &l[i]), 0, "%s is held", key[i]);
		is(lh_release(lh, &l[i]), 0, "and released");
	}
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh *lh = replay_open(table, 0);
	struct lh_lease l[KEYS];
	int64_t began_ns;

	*sh = (struct shared){ table, TTL_MS, { { 0 } } };
	halfway(lh, sh, l);
	is(t_acquire(lh, key[2], REPLAY_LONG_MS, 2000, &l[2]), 0,
	    "the last key is acquired");
	cmp(t_now_ns(), >=, sh->lease[2].expires_ns, "not before its deadline");
	cmp((t_now_ns() - sh->lease[2].expires_ns) / T_NS_PER_MS, <, T1_MS,
	    "but within T1 of it");
	is(replay_finish("closer"), 0, "the closer closes");
	finish(lh, l);

	sh->last_ttl_ms = REPLAY_LONG_MS;
	halfway(lh, sh, l);
	replay_kill("closer");
	began_ns = t_now_ns();
	is(t_acquire(lh, key[2], REPLAY_LONG_MS, 3 * T2_MS, &l[2]), 0,
	    "the closer is killed: the last key is acquired");
	cmp(t_since_ms(began_ns), <, T2_MS, "within T2");
	ok(l[2].notes & LH_NOTE_PREVIOUS_DIED,
	    "and the new lease notes the death");
	finish(lh, l);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 100, "close halfway");
	return done();
}
