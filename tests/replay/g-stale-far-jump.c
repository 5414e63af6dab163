/* SPDX-License-Identifier: MIT */
/*
 * G2: who stands before the swap of its grant, having chosen its token, while
 * others take the key 256 ranges on and use it there.  The words there were the
 * same (40 bits of version), so the swap succeeded, with a token of long ago.
 * Now a key keeps its place in the range, so none of them is: the swap fails
 * and the token is chosen anew.
 */
#include "replay.h"
#include "behaviour/fence.h"

#define USES 5

static void
stale(const char *table, int uses)
{
	struct replay_call op = REPLAY_CALL(NULL, "k", REPLAY_LONG_MS, 0);
	uint64_t last = 0, latest;
	struct lh *p, *q;

	op.lh = p = fence_open(table);
	fence_larger(p, "k", &last, "a first use");
	replay_stop("P", "acquire.announced", replay_acquire, &op);
	latest = fence_gap(table, 256);
	q = fence_open(table);
	for (int i = 0; i < uses; i++)
		fence_larger(q, "k", &last, "others");
	is_u64(last >> 32, latest, "256 ranges on");
	is(replay_finish("P"), 0, "P has it then");
	cmp(op.lease.token, >, last, "with a larger token (after %d)", uses);
	is(lh_verify(p, &op.lease), 0, "it is held");
	is(lh_release(p, &op.lease), 0, "released");
	t_close(q);
	t_close(p);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	stale(replay_begin(), 1);
	for (int uses = 2; uses <= USES; uses++)
		stale(t_table(), uses);
	return done();
}
