/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: a reader that cannot join the present readers, because the key
 * is in an old range of tokens, queues like a writer.  It must not overtake a
 * writer that already waits: writers that have just come may do so for a
 * moment, readers never.
 *
 * Otherwise a stream of such readers would keep a writer waiting for ever.
 */
#include "replay.h"
#include "behaviour/fence.h"

int
main(void)
{
	struct replay_call r = REPLAY_CALL(NULL, "k", REPLAY_LONG_MS, 0);
	struct replay_call reader = r;
	struct replay_call w = REPLAY_CALL(NULL, "k", REPLAY_LONG_MS,
	    REPLAY_MS);
	const char *table = replay_begin();
	struct lh *lh;

	lh = r.lh = fence_open(table);
	is(replay_read_local(&r), 0, "a reader");
	(void)fence_gap(table, 14);
	reader.lh = fence_open(table);
	w.lh = fence_open(table);
	replay_stop("R", "wait.barred", replay_read_local, &reader);
	replay_stop("W", "queue.linked", replay_acquire, &w);
	is(lh_release(lh, &r.lease), 0,
	    "the key is free, and a writer is queued");
	is(replay_finish("R"), -EAGAIN, "it is the writer's turn");
	is(replay_finish("W"), 0, "the writer acquires the key");
	is(lh_release(w.lh, &w.lease), 0, "released");
	is(replay_read_local(&reader), 0, "then the reader acquires it");
	cmp(reader.lease.token, >, w.lease.token, "with a larger token");
	is(lh_release(reader.lh, &reader.lease), 0, "released");
	t_close(w.lh);
	t_close(reader.lh);
	t_close(lh);
	return done();
}
