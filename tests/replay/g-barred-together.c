/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6 and G7: readers in scope local that cannot join the present
 * reader, because the key is in an old range of tokens, wait like writers.
 * When the key is free and the first of them has acquired it in the latest
 * range, the others must join it, and so must a reader that only tries.
 *
 * Otherwise each of them would wait for the one before it, and they would keep
 * all other readers out meanwhile.
 */
#include "replay.h"
#include "behaviour/fence.h"

#define WAIT 3

int
main(void)
{
	static const char *const roles[WAIT] = { "R1", "R2", "R3" };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct replay_call r[WAIT];
	uint64_t token = 0;
	struct lh_lease first, l;
	struct lh *lh;

	o.scope = LH_LOCAL;
	o.mode = LH_SHARED;
	lh = fence_open(table);
	is(lh_acquire(lh, "k", &o, &first), 0, "a reader");
	(void)fence_gap(table, 14);
	for (int i = 0; i < WAIT; i++) {
		r[i] = (struct replay_call)REPLAY_CALL(fence_open(table), "k",
		    REPLAY_LONG_MS, REPLAY_MS);
		replay_stop(roles[i], "wait.barred", replay_read_local, &r[i]);
	}
	for (int i = 0; i < WAIT; i++) {
		replay_release(roles[i]);
		ok(t_await_waiters(lh, "k", (uint32_t)i + 1), "%s waits",
		    roles[i]);
	}
	is(lh_acquire(lh, "k", &o, &l), -EAGAIN,
	    "another reader would have to wait");
	is(lh_release(lh, &first), 0, "the first reader leaves");
	for (int i = 0; i < WAIT; i++) {
		is(replay_result(roles[i]), 0, "%s acquires it", roles[i]);
		is(lh_verify(r[i].lh, &r[i].lease), 0, "and holds it");
		cmp(r[i].lease.token, >, token, "with a larger token");
		token = r[i].lease.token;
	}
	is(lh_acquire(lh, "k", &o, &l), 0, "a reader that tries joins them");
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < WAIT; i++)
		is(lh_release(r[i].lh, &r[i].lease), 0, "released");
	fence_larger(lh, "k", &token, "then a writer's token");
	for (int i = 0; i < WAIT; i++)
		t_close(r[i].lh);
	t_close(lh);
	return done();
}
