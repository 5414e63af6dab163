/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, invariant I4 of op/token_ceiling.c: nobody has seen yet that a
 * table is the latest of its name; another one was made later and lost, and the
 * disk is away.  A thread reads the end of the latest range, up to which the
 * fast path may grant, and is stopped.  Another attachment claims a higher
 * range, seals the table (SHM_SEALED), and grants.  The thread must not use the
 * end that it has read.
 *
 * Otherwise its tokens would be below those that the keys had in the lost
 * table.
 */
#include <stdatomic.h>
#include "ranges.h"

static atomic_bool disk_is_back, was_refused;

/* Is refused once: from then on the thread has claims, and the fast path. */
static int
twice(void *arg)
{
	struct replay_call *call = arg;

	if (replay_acquire(call) != -EIO)
		return -EINVAL;
	atomic_store(&was_refused, true);
	while (!atomic_load(&disk_is_back))
		t_sleep_ms(1);
	/* so that it looks at the clock and at that end */
	call->ttl_ms /= 2;
	return replay_acquire(call);
}

int
main(void)
{
	struct late_maker m;
	uint64_t lost = come_late(&m), last = 0;
	struct replay_call op = REPLAY_CALL(m.lh, "k", 30000, 0);
	struct lh *lh;

	replay_stop("slow", "acquire.marked", twice, &op);
	replay_hold("slow", "mag.bounds");
	replay_release("slow");
	ok(t_until(REPLAY_MS, atomic_load(&was_refused)),
	    "the key exists, but nothing is granted");
	disk_comes_back(&m);
	atomic_store(&disk_is_back, true);
	replay_wait_held("slow");
	lh = fence_open(m.table);
	fence_larger(lh, "other", &last, "another attachment claims a range");
	is(replay_finish("slow"), 0, "the slow one is granted");
	cmp(op.lease.token, >, lost,
	    "with a larger token than the lost table's");
	is_u64(op.lease.token >> 32, last >> 32, "in the latest range");
	is(lh_release(m.lh, &op.lease), 0, "released");
	fence_larger(m.lh, "k", &op.lease.token, "then in scope local");
	t_close(lh);
	t_close(m.lh);
	return done();
}
