/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G6, crash rows NK1, NK2, H1 and H2, amendment C15: the
 * lives of a slot do not touch each other.
 *
 * A maker of a key is stopped at each of its steps: another caller that wants
 * the key must acquire it.  A waiter that queues after the evictor has seen the
 * queue empty, and before the word is DYING, must keep its place.  An evictor
 * is stopped between its steps while others complete its work and make another
 * key in the slot: the evictor must not harm that key when it goes on.
 *
 * Otherwise a late maker or evictor would lose a waiter, or would make a held
 * key disappear, so that a second holder could acquire it.
 */
#include <errno.h>
#include "replay.h"

static const char *const making[] = {
	"slot.announced", "slot.filled", "slot.placed", "slot.hinted",
	"slot.linking", "slot.made",
};

static const char *const evicting[] = {
	"evict.chosen", "evict.dying", "evict.floor", "evict.committed",
	"evict.marking", "evict.marked",
};

#define KEYS 8
#define N(steps) (sizeof(steps) / sizeof((steps)[0]))

static struct lh *lh, *other;

static int
evict(void *arg)
{
	return (int)lh_evict(lh, arg, 0);
}

static void
linked_when_free(void)
{
	char key[16];

	for (size_t i = 0; i < N(making); i++) {
		struct replay_call maker = REPLAY_CALL(other, key, 60000, 0);
		struct lh_lease l;
		int r;

		snprintf(key, sizeof(key), "k%zu", i);
		replay_stop("maker", making[i], replay_acquire, &maker);
		r = replay_try(lh, key, &l);
		is(r, 0, "the key can be acquired: its maker is stopped at %s",
		    making[i]);
		is(replay_finish("maker"), r == 0 ? -EAGAIN : 0,
		    "the maker finds it busy");
		if (r == 0)
			is(lh_release(lh, &l), 0, "release");
		else
			is(lh_release(other, &maker.lease), 0, "release");
		is(replay_acquire(&maker), 0, "and acquires it afterwards");
		is(lh_release(other, &maker.lease), 0, "release");
	}
}

static void
waiter_between(void)
{
	struct replay_call waiter = REPLAY_CALL(other, "w", 60000, 60000);
	struct lh_lease l;

	is(replay_try(lh, "w", &l), 0, "w is held");
	replay_stop("waiter", "wait.announced", replay_acquire, &waiter);
	is(lh_release(lh, &l), 0, "and released before the waiter has queued");
	replay_stop("evictor", "evict.chosen", evict, "w");
	replay_stop_next("waiter", "wait.turn");
	is(t_waiters(lh, "w"), 1, "it queues, and is about to acquire it");
	is(replay_finish("evictor"), 0, "nothing was evicted");
	is(t_waiters(lh, "w"), 1, "the waiter keeps its place");
	is(replay_finish("waiter"), 0, "and acquires the key");
	cmp(waiter.lease.token, >, l.token, "with a larger token");
	is(lh_release(other, &waiter.lease), 0, "release");
	is(lh_evict(lh, "w", 0), 1, "then the key can be evicted");
}

static void
next_life(void)
{
	char gone[16], next[16];
	struct lh_lease filler[KEYS - 1];

	/* leave one free slot */
	for (int i = 0; i < KEYS - 1; i++) {
		snprintf(gone, sizeof(gone), "filler%d", i);
		filler[i] = t_hold(lh, gone);
	}
	for (size_t i = 0; i < N(evicting); i++) {
		struct lh_lease l, twice;

		snprintf(gone, sizeof(gone), "gone%zu", i);
		snprintf(next, sizeof(next), "next%zu", i);
		l = t_hold(lh, gone);
		is(lh_release(lh, &l), 0, "a key");
		replay_stop("evictor", evicting[i], evict, gone);
		diag("the evictor stands at %s", evicting[i]);
		/* others complete what it began, or do all of it */
		is(replay_try(other, gone, &twice), 0,
		    "the key can be acquired");
		cmp(twice.token, >, l.token, "with a larger token");
		is(lh_release(other, &twice), 0, "release");
		cmp(lh_evict(other, gone, 0), >=, 0, "others evict");
		is(t_holders(other, gone), -ENOENT,
		    "and the key does not exist");
		is(replay_try(other, next, &l), 0, "its slot is used again");
		cmp(replay_finish("evictor"), >=, 0, "the evictor goes on");
		is(t_holders(lh, next), 1, "the new key is there");
		is(replay_try(lh, next, &twice), -EAGAIN, "and held");
		is(lh_verify(other, &l), 0, "its lease is unchanged");
		is(lh_release(other, &l), 0, "release");
		is(t_findings(lh), 0, "the table is sound");
		is(lh_evict(lh, "next", 0), 1,
		    "and the new key can be evicted");
	}
	for (int i = 0; i < KEYS - 1; i++)
		is(lh_release(lh, &filler[i]), 0, "release");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_open_opts o = replay_opts(0);

	o.max_keys = KEYS;
	is(lh_open(&lh, table, &o), 0, "open");
	other = replay_open(table, 0);
	linked_when_free();
	cmp(lh_evict(lh, NULL, 0), >, 0, "all these keys are evicted");
	next_life();
	waiter_between();
	t_close(other);
	t_close(lh);
	return done();
}
