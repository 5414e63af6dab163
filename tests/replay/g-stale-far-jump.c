/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: a caller has chosen its token, and is stopped before the swap
 * of its grant, while others use the key and take it 256 ranges further.  A key
 * keeps its place when it goes on in another range, so the word must be another
 * one: the swap must fail, and the token must be chosen again.
 *
 * Otherwise the swap would succeed, because the word's 40 bits of version are
 * the same, and the lease would have a token of long ago.
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
		fence_larger(q, "k", &last, "others use the key");
	is_u64(last >> 32, latest, "256 ranges on");
	is(replay_finish("P"), 0, "P acquires the key");
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
