/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4: the exclusive right of a process that reclaims a dead
 * session inside lh_open() does not depend on a descriptor.
 *
 * The reclaimer is stopped in the middle of its work, and another thread of its
 * process closes every descriptor (closefrom). A stranger opens the table: its
 * session and leases, if it gets any, must stay its own when the reclaimer goes
 * on.  The table has two sessions (the director's, and the one in question) and
 * two chunks of claims, so that the stranger must use just these.
 *
 * Otherwise the reclaimer would free the stranger's leases and overwrite its
 * session record.
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
	struct t_event close, closed;	/* the reclaimer's descriptors */
	struct t_event had, on;		/* the stranger has tried all keys */
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

/* Opens a session if it can, acquires what it can, and checks that it stays
 * held. */
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

/* Stops the reclaimer at its nth arrival at `point`. */
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
	l = t_hold(lh, "w");			/* uses the first chunk */
	is(lh_release(lh, &l), 0, "release");
	replay_fork("dying", hold, sh);		/* uses the second */
	ok(t_await(&sh->had, 1, REPLAY_MS), "a process holds %d keys", KEYS);
	replay_kill("dying");
	replay_hide_dead(lh);

	diag("the reclaimer stands at %s, %d", point, nth);
	replay_hold_nth("reclaimer", point, nth);
	replay_fork("reclaimer", burier, sh);
	replay_wait_held("reclaimer");
	t_post(&sh->close);
	ok(t_await(&sh->closed, 1, REPLAY_MS), "its descriptors are closed");
	replay_fork("stranger", stranger, sh);
	ok(t_await(&sh->had, 2, REPLAY_MS), "a stranger comes");
	ok(sh->opened == 0 || sh->opened == -ENOSPC,
	    "and has the session, or not (%d)", sh->opened);
	r = replay_finish("reclaimer");
	ok(r == 0 || r == -ENOSPC || r == -EBADF,
	    "the reclaimer goes on, and opens the table or not (%d)", r);

	for (int i = 0; i < sh->n_held; i++)
		busy += lh_verify_token(lh, key[i], sh->held[i].token) == 0;
	is(busy, sh->n_held, "others see the stranger's leases held");
	t_post(&sh->on);
	is(replay_result("stranger"), 0, "it closes");
	is(sh->n_kept, sh->n_held, "so does the stranger");
	for (int i = 0; i < KEYS; i++) {
		is(replay_try(lh, key[i], &l), 0, "%s is free", key[i]);
		cmp(l.token, >, sh->lost[i].token, "with a larger token");
		is(lh_release(lh, &l), 0, "release");
	}
	is(lh_open(&next, sh->table, &sh->opts), 0,
	    "the session can be opened");
	is(replay_try(next, key[0], &l), 0, "and has claims");
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
