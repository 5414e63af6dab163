/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, crash row N2: two processes reclaim one dead session, at the
 * same time and one after the other.
 *
 * A process dies with leases on k0 to k2 and in the queue of "w". The table has
 * two chunks of claims, both given out: a process that needs one must reclaim
 * the dead session.  The first one is stopped with its proof of death, and in
 * the middle of its work; others must be able to acquire the dead one's keys,
 * and a second one must not wait for the first.  When the first is killed, the
 * second must complete the work.
 *
 * Otherwise two deaths would take the claims from the table, or both would free
 * one claim twice.
 */
#include "replay.h"

#define KEYS 3

struct shared {
	const char *table;
	struct lh_open_opts opts;
	struct lh_lease lost[KEYS];
	struct replay_call wait, one, two;
};

static const char *const key[KEYS] = { "k0", "k1", "k2" };

static struct lh *
open_small(struct shared *sh)
{
	struct lh *lh = NULL;

	is(lh_open(&lh, sh->table, &sh->opts), 0, "open");
	return lh;
}

static int
hold_and_wait(void *arg)
{
	struct shared *sh = arg;
	struct lh *lh = open_small(sh);

	for (int i = 0; i < KEYS; i++)
		sh->lost[i] = t_hold(lh, key[i]);
	sh->wait.lh = lh;
	return replay_acquire(&sh->wait);
}

static int
reclaim(void *arg)
{
	struct replay_call *c = arg;

	return replay_acquire(c);
}

static int
first_reclaimer(void *arg)
{
	struct shared *sh = arg;

	sh->one.lh = open_small(sh);
	return reclaim(&sh->one);
}

/* Checks that the other keys of the dead process are free, and all new leases
 * are held. */
static void
take_rest(struct lh *lh, struct shared *sh, struct lh_lease *l, int from)
{
	for (int i = from; i < KEYS; i++) {
		is(replay_try(lh, key[i], &l[i]), 0, "%s is free", key[i]);
		ok(l[i].notes & LH_NOTE_PREVIOUS_DIED, "its holder died");
	}
	for (int i = 0; i < KEYS; i++) {
		cmp(l[i].token, >, sh->lost[i].token, "%s: token", key[i]);
		is(lh_verify(lh, &l[i]), 0, "%s is held", key[i]);
		is(lh_release(lh, &l[i]), 0, "release %s", key[i]);
	}
}

static void
play(const char *point, int nth)
{
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh_lease w, l[KEYS];
	struct lh *lh, *two;

	sh->table = t_table();
	sh->opts = replay_opts(0);
	sh->opts.max_leases = 128;
	sh->wait = (struct replay_call)REPLAY_CALL(NULL, "w", REPLAY_LONG_MS,
	    REPLAY_LONG_MS);
	sh->one = (struct replay_call)REPLAY_CALL(NULL, "one", 1000, 0);

	lh = open_small(sh);
	two = open_small(sh);
	sh->two = (struct replay_call)REPLAY_CALL(two, "two", 1000, 0);
	w = t_hold(lh, "w");		/* uses the first chunk */
	replay_hold("dying", "wait.parked");
	replay_fork("dying", hold_and_wait, sh);	/* uses the second */
	replay_wait_held("dying");
	is(t_waiters(lh, "w"), 1, "the process waits for w");
	is(replay_acquire(&sh->two), -ENOSPC, "there are no claims for others");
	replay_kill("dying");

	diag("the first reclaimer stands at %s", point);
	replay_hold_nth("reclaimer", point, nth);
	replay_fork("reclaimer", first_reclaimer, sh);
	replay_wait_held("reclaimer");
	is(replay_acquire(&sh->two), -ENOSPC,
	    "a second reclaimer does not wait");
	is(t_acquire(lh, key[0], REPLAY_LONG_MS, T2_MS, &l[0]), 0,
	    "another acquires a key of the dead process");
	is(t_waiters(lh, "w"), 0, "which has left the queue");
	replay_kill("reclaimer");
	is(replay_acquire(&sh->two), 0,
	    "uses the second reclaimer completes the work");
	take_rest(lh, sh, l, 1);
	is(lh_release(two, &sh->two.lease), 0, "release");
	is(lh_release(lh, &w), 0, "release");
	t_close(two);
	t_close(lh);
}

/* Both at once: one is stopped with its proof of death; another proves the
 * death, too, and acquires a key; the first goes on. */
static void
play_both(void)
{
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh_lease w, l[KEYS];
	struct lh *lh;

	sh->table = t_table();
	sh->opts = replay_opts(0);
	sh->opts.max_leases = 128;
	sh->wait = (struct replay_call)REPLAY_CALL(NULL, "w", REPLAY_LONG_MS,
	    REPLAY_LONG_MS);
	lh = open_small(sh);
	w = t_hold(lh, "w");
	replay_hold("dying", "wait.parked");
	replay_fork("dying", hold_and_wait, sh);
	replay_wait_held("dying");
	replay_kill("dying");

	sh->one = (struct replay_call)REPLAY_CALL(NULL, "one", REPLAY_LONG_MS,
	    0);
	replay_hold("reclaimer", "session.proved");
	replay_fork("reclaimer", first_reclaimer, sh);
	replay_wait_held("reclaimer");
	is(t_acquire(lh, key[0], REPLAY_LONG_MS, T2_MS, &l[0]), 0,
	    "both prove the death: one acquires a key");
	is(replay_finish("reclaimer"), 0, "the other one reclaims the session");
	take_rest(lh, sh, l, 1);
	is(lh_release(lh, &w), 0, "release");
	t_close(lh);
}

static void
play_all(void)
{
	(void)replay_begin();
	play("session.proved", 1);
	play("claim.buried", 1);
	play("claim.buried", KEYS);
	play_both();
}

int
main(void)
{
	t_part(play_all, 500, "two burials");
	return done();
}
