/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks (doc/protocol.md): a reader that is kept out by a queued writer
 * looks for a deadlock, and is stopped when it has met that writer.  The writer
 * gives up its wait, and waits for a key that the reader holds: there is no
 * circle any more.  The reader must acquire its key, and must not be refused
 * with a deadlock.
 *
 * Otherwise callers would fail with -EDEADLK although nothing blocks them.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *at_r, *at_w;
static int gave_up;

static int
reader(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 3000);
	struct lh_lease b, k;
	int error;

	(void)unused;
	if (lh_acquire(at_r, "b", &o, &b) != 0)
		return 1;
	o.mode = LH_SHARED;
	error = lh_acquire(at_r, "k", &o, &k);
	if (error != 0)
		diag("%s", lh_error_detail());
	else if (lh_release(at_r, &k) != 0)
		error = 2;
	return lh_release(at_r, &b) != 0 ? 3 : error;
}

/* Has a higher priority, so that a deadlock would be resolved against the
 * reader. */
static int
writer(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 1000);
	struct lh_lease l;
	int error;

	(void)unused;
	o.priority = 1;
	gave_up = lh_acquire(at_w, "k", &o, &l);
	o.max_wait_ms = 3000;
	error = lh_acquire(at_w, "b", &o, &l);
	return error != 0 ? error : lh_release(at_w, &l);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease l;

	lh = replay_open(table, 0);
	at_r = replay_open(table, 0);
	at_w = replay_open(table, 0);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &l), 0, "the key is read");
	replay_go("writer", writer, NULL);
	ok(t_await_waiters(lh, "k", 1), "a writer waits");
	replay_stop("reader", "deadlock.barrier_met", reader, NULL);
	ok(t_await_waiters(lh, "b", 1),
	    "the writer waits for the reader's key");
	is(gave_up, -ETIMEDOUT, "it has given up the first key");
	is(replay_finish("reader"), 0,
	    "the reader acquires the key: no deadlock");
	is(replay_result("writer"), 0,
	    "then the writer acquires the reader's key");
	is(lh_release(lh, &l), 0, "released");
	t_close(at_w);
	t_close(at_r);
	t_close(lh);
	return done();
}
