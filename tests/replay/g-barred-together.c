/* SPDX-License-Identifier: MIT */
/*
 * G6, G7: readers in scope local that could not join others, whose key is in a
 * range of long ago, wait like writers.  When the key has come to be free and
 * the first of them has taken it, in the latest range, the others can join him
 * and do, and so does who only tries: all are readers.
 *
 * They went on waiting like writers, each for the one before, and kept all
 * other readers out meanwhile.
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
	is(lh_acquire(lh, "k", &o, &l), -EAGAIN, "who tries has to wait");
	is(lh_release(lh, &first), 0, "the first reader goes");
	for (int i = 0; i < WAIT; i++) {
		is(replay_result(roles[i]), 0, "%s has it", roles[i]);
		is(lh_verify(r[i].lh, &r[i].lease), 0, "and holds it");
		cmp(r[i].lease.token, >, token, "with a larger token");
		token = r[i].lease.token;
	}
	is(lh_acquire(lh, "k", &o, &l), 0, "who tries joins them");
	is(lh_release(lh, &l), 0, "released");
	for (int i = 0; i < WAIT; i++)
		is(lh_release(r[i].lh, &r[i].lease), 0, "released");
	fence_larger(lh, "k", &token, "then a writer");
	for (int i = 0; i < WAIT; i++)
		t_close(r[i].lh);
	t_close(lh);
	return done();
}
