/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, timing T3: readers and writers agree about a first waiter that
 * does not acquire the key.
 *
 * A reader waits in front; it was killed, which can be neither seen nor proved,
 * because a child of it has its liveness descriptor.  A writer waits behind it,
 * and is stopped.  The key is free, and writers and readers try it in turn.
 * For writers the dead reader is the first; readers, which do not block each
 * other, see the writer as the first.  One of the two must acquire the key
 * within ten times T3, whichever begins.
 *
 * Otherwise each kind of caller would restart the other's count, and the free
 * key would be acquired by nobody.
 */
#include <unistd.h>
#include "sweep.h"

#define BETWEEN_MS 11		/* tries check the first waiter every 10 ms */

static struct t_event *end;

/* Opens an actor's session that a child keeps alive. */
static int
pass_on(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();
	pid_t pid;

	o.flags = LH_LIVENESS_FD;
	if (lh_close(a->lh) != 0 || lh_open(&a->lh, arg, &o) != 0)
		return -EINVAL;
	pid = fork();
	if (pid == 0) {
		/* outlives its parent, not the test */
		(void)t_await(end, 1, 3 * REPLAY_MS);
		_exit(0);
	}
	return pid > 0 ? 0 : -errno;
}

static struct t_actor *
unseen(const char *table)
{
	struct t_actor *a = t_actor(table);

	is(t_do(a, pass_on, (void *)(uintptr_t)table), 0,
	    "a child has a session's descriptor");
	return a;
}

static void
play(const char *table, struct t_actor *front, const char *key,
    bool writer_begins)
{
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct replay_call w = REPLAY_CALL(other, key, 60000, REPLAY_MS);
	struct lh_acquire_opts o = t_read_opts(HOUR_MS, HOUR_MS);
	struct lh_lease l = t_hold(lh, key), x;
	int64_t free_ns, took;
	int r = -EAGAIN, n;

	t_begin_acquire_opts(front, key, &o);
	ok(t_await_waiters(lh, key, 1), "a reader is queued");
	replay_stop("writer", "wait.parked", replay_acquire, &w);
	is(t_waiters(lh, key), 2, "a writer is queued behind it");
	/* long enough to count as starving: then nobody may overtake it */
	t_sleep_ms(50);
	t_actor_kill(front);
	t_actor_free(front);
	free_ns = t_now_ns();
	is(lh_release(lh, &l), 0, "the key is free");
	for (n = 0; r == -EAGAIN && t_since_ms(free_ns) < 2 * T3_DEAD_MS; n++) {
		t_sleep_ms(BETWEEN_MS);
		r = (n & 1) != writer_begins ? replay_try(lh, key, &x) :
		    t_read(lh, key, HOUR_MS, 0, &x);
	}
	took = t_since_ms(free_ns);
	is(r, 0, "the key is acquired, at try %d", n);
	cmp(took, <=, T3_DEAD_MS, "in time");
	if (r == 0)
		is(lh_release(lh, &x), 0, "and released");
	is(replay_finish("writer"), 0, "the writer goes on, and acquires it");
	is(lh_release(other, &w.lease), 0, "released");
	t_close(other);
	t_close(lh);
}

static void
play_all(void)
{
	const char *table = sweep_begin();
	struct t_actor *front[2];

	end = t_shared(sizeof(*end));
	front[0] = unseen(table);
	front[1] = unseen(table);
	play(table, front[0], "k", false);
	play(table, front[1], "l", true);
	t_post(end);
}

int
main(void)
{
	t_part(play_all, 600, "unseen front");
	return done();
}
