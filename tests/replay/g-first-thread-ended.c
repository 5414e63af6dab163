/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, prim/process_end.c: a process that holds a key and had one
 * thread when a waiter began to watch it makes another, and its first one ends.
 * The kernel marks its death word, and the waiter asks: the thread has ended,
 * the process has not.  The waiter goes on to wait until the process is killed.
 *
 * Otherwise the key of a living process would be granted to another.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "replay.h"

#define WAIT_MS 300

struct holder {
	const char *table;
	int go[2], held[2];
};

static void *
stay(void *arg)
{
	while (arg == NULL)
		pause();
	return arg;
}

static int
hold(void *arg)
{
	struct holder *h = arg;
	struct lh *lh = t_open(h->table);
	struct lh_lease l;
	pthread_t t;
	char byte = 0;

	if (t_acquire(lh, "k", REPLAY_LONG_MS, 0, &l) != 0 ||
	    write(h->held[1], &byte, 1) != 1 || read(h->go[0], &byte, 1) != 1 ||
	    pthread_create(&t, NULL, stay, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

int
main(void)
{
	struct holder h = { .table = replay_begin() };
	struct replay_call call;
	struct lh *lh = replay_open(h.table, 0);
	struct lh_lease l;
	char byte = 0;
	pid_t pid;

	if (!REPLAY_WATCHES) {
		printf("1..0 # SKIP a process is watched on x86 only\n");
		return 0;
	}
	if (pipe(h.go) != 0 || pipe(h.held) != 0)
		bail_out("no pipes");
	pid = t_fork(hold, &h);
	is(read(h.held[0], &byte, 1), 1, "a process of one thread holds");
	call = (struct replay_call)REPLAY_CALL(lh, "k", REPLAY_LONG_MS,
	    WAIT_MS);
	replay_hold("waiter", "session.prepared");
	replay_go("waiter", replay_acquire, &call);
	replay_wait_held("waiter");
	is(write(h.go[1], &byte, 1), 1, "its first thread is to end");
	replay_stop_next("waiter", "process.watched");
	ok(true, "the waiter wakes up, and asks what it watches");
	is(replay_finish("waiter"), -ETIMEDOUT, "the process lives");
	t_kill(pid);
	is(t_acquire(lh, "k", REPLAY_LONG_MS, T_HANG_MS, &l), 0, "granted");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "when it has died");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
	return done();
}
