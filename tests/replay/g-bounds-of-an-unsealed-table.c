/* SPDX-License-Identifier: MIT */
/*
 * I4 of op/fence.c: a thread looks how far tokens may go by the fast path, in a
 * table that was claimed for before another one, since lost, and that nobody
 * has yet seen to be the latest, because the disk was away.  It has read where
 * the latest range ends when another attachment claims one above, says that all
 * is well (SHM_SEALED), and grants.  The thread must not go by the end that it
 * has: its tokens would be below those that the keys had in the lost table.
 */
#include <stdatomic.h>
#include "replay.h"
#include "behaviour/fence.h"

static const char *table;
static atomic_bool disk_is_back, was_refused;

/* Once in vain; from then on the thread has claims, and the fast path. */
static int
twice(void *arg)
{
	struct replay_call *call = arg;

	if (replay_acquire(call) != -EIO)
		return -EINVAL;
	atomic_store(&was_refused, true);
	while (!atomic_load(&disk_is_back))
		t_sleep_ms(1);
	call->ttl_ms /= 2;	/* so that it looks at the clock, and at that */
	return replay_acquire(call);
}

static int
make(void *arg)
{
	struct lh_open_opts o = fence_opts();

	return lh_open(arg, table, &o);
}

int
main(void)
{
	char away[FENCE_PATH + 200];
	struct lh *lh, *late;
	uint64_t lost = 0, last = 0;
	struct replay_call op = { .key = "k", .ttl_ms = 30000 };

	table = replay_begin();
	(void)fence_dir();
	replay_hold("maker", "object.filled");
	replay_go("maker", make, &late);
	replay_wait_held("maker");
	lh = fence_open(table);
	fence_larger(lh, "k", &lost, "another table");
	is(lh_close(lh), 0, "closed");
	is(unlink(t_object(table)), 0, "and lost");
	snprintf(away, sizeof(away), "%s.away", fence_ranges(table));
	is(rename(fence_ranges(table), away), 0, "the disk is away");
	replay_release("maker");
	is(replay_result("maker"), 0, "the late one is there");
	op.lh = late;
	replay_hold("slow", "acquire.marked");
	replay_go("slow", twice, &op);
	replay_wait_held("slow");
	replay_hold("slow", "mag.bounds");
	replay_release("slow");
	ok(t_until(REPLAY_MS, atomic_load(&was_refused)),
	    "the key is there, but nothing is granted");
	is(rename(away, fence_ranges(table)), 0, "the disk is there again");
	atomic_store(&disk_is_back, true);
	replay_wait_held("slow");
	lh = fence_open(table);
	fence_larger(lh, "other", &last, "another has claimed a range");
	replay_release("slow");
	is(replay_result("slow"), 0, "the slow one is granted");
	cmp(op.lease.token, >, lost, "with a larger token than there");
	is_u64(op.lease.token >> 32, last >> 32, "in the latest range");
	is(lh_release(late, &op.lease), 0, "released");
	fence_larger(late, "k", &op.lease.token, "and in scope local");
	t_close(lh);
	t_close(late);
	return done();
}
