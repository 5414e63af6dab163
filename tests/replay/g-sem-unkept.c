/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, invariant I2 of live/semaphore.c: a semaphore's limit is
 * deleted only by a destroyer that has all permits; also if a destroyer was
 * killed just before, when the limit's key was no longer kept.
 *
 * Otherwise the limit would be evicted while permits are held, and the
 * semaphore could be opened with another limit.
 */
#include <errno.h>
#include <string.h>
#include "replay.h"

struct destroy {
	char table[64];
};

static int
destroy(void *arg)
{
	struct destroy *d = arg;
	struct lh *lh = replay_open(d->table, 0);

	return lh_sem_destroy(lh, "s");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0);
	struct destroy *d = t_shared(sizeof(*d));
	struct lh_lease permit[2], one;
	struct lh_sem *sem, *other;

	(void)strncpy(d->table, table, sizeof(d->table) - 1);
	is(lh_sem_open(lh, "s", 2, &sem), 0, "a semaphore of two");
	replay_killed_at("destroyer", "destroy.unkept", destroy, d);
	is(lh_sem_acquire(sem, NULL, &permit[0]), 0, "the semaphore exists");
	is(lh_sem_acquire(sem, NULL, &permit[1]), 0, "both permits are held");
	is(lh_release(lh, &permit[0]), 0, "one is released");
	(void)lh_evict(lh, NULL, 0);
	is(lh_sem_open(lh, "s", 1, &other), -EINVAL, "its limit is still two");
	is(lh_verify(lh, &permit[1]), 0, "and a permit is held");
	is(lh_sem_acquire(sem, NULL, &one), 0, "the other can be acquired");
	is(lh_sem_close(sem), 0, "closed");
	t_close(lh);
	return done();
}
