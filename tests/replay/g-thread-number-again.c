/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, prim/process_end.c: somebody asks whether a process has ended,
 * whose first thread has.  The second one, after it was listed, makes a third
 * and ends.  When it has been asked, it is released, and the third makes a
 * fourth, which gets its number, and ends.  The second list has the same two
 * numbers as the first; but the fourth thread lives.
 *
 * Otherwise its process would count as dead, and its keys would be granted to
 * others while it uses them.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/procstat.h"
#include "prim/process_end.h"
#include "replay.h"

#define TRIES 40	/* other processes may take the number */

struct chain {
	struct t_event second, third, fourth, go_second, go_third;
	int tid[5];
	pid_t pid;
	uint64_t start_ticks;
};

static struct chain *chain;

static void
make_thread(void *(*fn)(void *arg))
{
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &attr, fn, NULL) != 0)
		_exit(1);
}

static void *
fourth(void *arg)
{
	chain->tid[4] = (int)syscall(SYS_gettid);
	t_post(&chain->fourth);
	while (arg == NULL)
		pause();
	return arg;
}

static void *
third(void *arg)
{
	chain->tid[3] = (int)syscall(SYS_gettid);
	t_post(&chain->third);
	(void)t_await(&chain->go_third, 1, T_HANG_MS);
	(void)t_set_next_pid(chain->tid[2]);
	make_thread(fourth);
	return arg;
}

static void *
second(void *arg)
{
	chain->tid[2] = (int)syscall(SYS_gettid);
	t_post(&chain->second);
	(void)t_await(&chain->go_second, 1, T_HANG_MS);
	make_thread(third);
	return arg;
}

static int
first(void *arg)
{
	(void)arg;
	make_thread(second);
	pthread_exit(NULL);
}

static int
ask(void *arg)
{
	(void)arg;
	return lhi_process_has_ended(chain->pid, chain->start_ticks);
}

/* True if the thread is in that state; '-': if there is none. */
static bool
is_in_state(int tid, char state)
{
	struct lhi_procstat ps;

	return lhi_procstat_read(chain->pid, tid, &ps) ? ps.state == state :
	    state == '-';
}

/* Returns 1: called dead; 0: not; -1: the number went to others. */
static int
play(void)
{
	struct lhi_procstat ps;
	int ended;

	chain = t_shared(sizeof(*chain));
	chain->pid = t_fork(first, NULL);
	if (!t_await(&chain->second, 1, T_HANG_MS) ||
	    !t_until(T_HANG_MS, is_in_state(chain->pid, 'Z')) ||
	    !lhi_procstat_read(chain->pid, chain->pid, &ps))
		bail_out("no process without its first thread");
	chain->start_ticks = ps.start_ticks;
	/* it is not released before its tracer has waited for it */
	if (ptrace(PTRACE_SEIZE, chain->tid[2], 0, 0) != 0)
		bail_out("cannot trace a thread");
	replay_stop("asker", "process.listed", ask, NULL);
	t_post(&chain->go_second);
	if (!t_await(&chain->third, 1, T_HANG_MS) ||
	    !t_until(T_HANG_MS, is_in_state(chain->tid[2], 'Z')))
		bail_out("the second thread does not end");
	replay_stop_next("asker", "process.asked");
	(void)waitpid(chain->tid[2], NULL, __WALL);
	t_post(&chain->go_third);
	if (!t_await(&chain->fourth, 1, T_HANG_MS) ||
	    !t_until(T_HANG_MS, is_in_state(chain->tid[3], '-')))
		bail_out("the third thread does not end");
	ended = replay_finish("asker");
	if (chain->tid[4] != chain->tid[2] && !ended)
		ended = -1;
	t_kill(chain->pid);
	return ended;
}

int
main(void)
{
	int ended = -1;

	(void)replay_begin();
	if (geteuid() != 0) {
		printf("1..0 # SKIP needs the right to choose numbers\n");
		return 0;
	}
	for (int i = 0; ended < 0 && i < TRIES; i++)
		ended = play();
	if (ended < 0)
		diag("the number went to others each time");
	cmp(ended, <=, 0, "a process whose fourth thread runs has not ended");
	return done();
}
