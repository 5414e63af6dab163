/* SPDX-License-Identifier: MIT */
/*
 * G1, G4: the turn of who buries a dead session inside lh_open() does not hang
 * on a descriptor.
 *
 * The burier is stopped in the middle of a burial; another thread of its
 * process closes every descriptor (closefrom).  If that gave the turn back, a
 * stranger would bury the rest, become the session, and take the claims; and
 * the burier, going on, would free the stranger's live leases and overwrite its
 * record.  What the stranger has got, if anything, stays its own; the burier
 * may be refused (its descriptors are gone, after all); and whoever comes next
 * gets the session.
 *
 * The table has two sessions (the director's, and the one in question) and two
 * chunks of claims (likewise), so that the stranger must have just these.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <unistd.h>
#include "replay.h"

#define KEYS 4

struct shared {
	const char *table;
	struct lh_open_opts opts;
	struct lh_lease lost[KEYS];
	struct t_event close, closed;	/* the burier's descriptors */
	struct t_event had, on;		/* what the stranger could have */
	int opened;			/* the stranger's lh_open() */
	int n_held;
	struct lh_lease held[KEYS];
	int n_kept;
};

static const char *const key[KEYS] = { "k0", "k1", "k2", "k3" };

static int
hold(void *arg)
{
	struct shared *sh = arg;
	struct lh *lh;

	if (lh_open(&lh, sh->table, &sh->opts) != 0)
		return -EINVAL;
	for (int i = 0; i < KEYS; i++)
		sh->lost[i] = t_hold(lh, key[i]);
	t_post(&sh->had);
	(void)t_await(&sh->on, 1, 2 * REPLAY_MS);
	return 0;
}

static void *
close_everything(void *arg)
{
	struct shared *sh = arg;

	if (t_await(&sh->close, 1, REPLAY_MS)) {
		if (close_range(3, ~0u, 0) != 0)
			closefrom(3);
		t_post(&sh->closed);
	}
	return NULL;
}

/* Becomes the session, if it may; keeps an eye on what it then has. */
static int
stranger(void *arg)
{
	struct shared *sh = arg;
	struct lh *lh;

	sh->opened = lh_open(&lh, sh->table, &sh->opts);
	for (int i = 0; sh->opened == 0 && i < KEYS; i++)
		if (t_acquire(lh, key[i], REPLAY_LONG_MS, 0,
		    &sh->held[sh->n_held]) == 0)
			sh->n_held++;
	t_post(&sh->had);
	if (!t_await(&sh->on, 1, REPLAY_MS))
		return -ETIME;
	for (int i = 0; i < sh->n_held; i++)
		sh->n_kept += lh_verify(lh, &sh->held[i]) == 0;
	return sh->opened == 0 ? lh_close(lh) : 0;
}

static int
burier(void *arg)
{
	struct shared *sh = arg;
	unsigned long thread = t_thread(close_everything, sh);
	struct lh *lh;
	int r = lh_open(&lh, sh->table, &sh->opts);

	(void)t_join(thread);
	return r != 0 ? r : lh_close(lh);
}

/* The burier stands at its nth arrival at `point`. */
static void
play(const char *point, int nth)
{
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh_lease l;
	struct lh *lh, *next;
	int r, busy = 0;

	sh->table = t_table();
	sh->opts = replay_opts(2);
	sh->opts.max_leases = 128;
	is(lh_open(&lh, sh->table, &sh->opts), 0, "open");
	l = t_hold(lh, "w");			/* the first chunk */
	is(lh_release(lh, &l), 0, "release");
	replay_fork("dying", hold, sh);		/* the second */
	ok(t_await(&sh->had, 1, REPLAY_MS), "one holds %d keys", KEYS);
	replay_kill("dying");

	diag("the burier stands at %s, %d", point, nth);
	replay_hold_nth("burier", point, nth);
	replay_fork("burier", burier, sh);
	replay_wait_held("burier");
	t_post(&sh->close);
	ok(t_await(&sh->closed, 1, REPLAY_MS), "its descriptors are closed");
	replay_fork("stranger", stranger, sh);
	ok(t_await(&sh->had, 2, REPLAY_MS), "a stranger comes");
	ok(sh->opened == 0 || sh->opened == -ENOSPC,
	    "and gets the session or does not (%d)", sh->opened);
	r = replay_finish("burier");
	ok(r == 0 || r == -ENOSPC || r == -EBADF,
	    "the burier goes on, and opens or does not (%d)", r);

	for (int i = 0; i < sh->n_held; i++)
		busy += lh_verify_token(lh, key[i], sh->held[i].token) == 0;
	is(busy, sh->n_held, "what the stranger has is its own: so say others");
	t_post(&sh->on);
	is(replay_result("stranger"), 0, "it closes");
	is(sh->n_kept, sh->n_held, "so says the stranger itself");
	for (int i = 0; i < KEYS; i++) {
		is(replay_try(lh, key[i], &l), 0, "%s is free", key[i]);
		cmp(l.token, >, sh->lost[i].token, "with a later token");
		is(lh_release(lh, &l), 0, "release");
	}
	is(lh_open(&next, sh->table, &sh->opts), 0, "the session is to be had");
	is(replay_try(next, key[0], &l), 0, "with claims");
	is(lh_close(next), 0, "close");
	t_close(lh);
}

int
main(void)
{
	(void)replay_begin();
	play("session.recycling", 1);
	play("session.proved", 1);
	play("claim.buried", 1);
	play("claim.buried", 2);
	play("session.reserved", 1);
	return done();
}
