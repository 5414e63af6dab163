/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, prim/process_end.c: a process lives whose first thread has
 * ended, and in which each thread makes the next one and ends.  However often
 * it is asked, it is not proved to have ended.  When it is killed, it is.
 *
 * Otherwise the keys of a living process would be granted to others.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "base/procstat.h"
#include "prim/process_end.h"
#include "replay.h"

#define ASKED_MS 3000

static void *
make_next(void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, 65536);
	while (pthread_create(&t, &attr, make_next, NULL) != 0)
		;
	return arg;
}

static int
be_chain(void *arg)
{
	(void)make_next(arg);
	pthread_exit(NULL);
}

int
main(void)
{
	int64_t end_ns;
	long asked = 0, ended = 0;
	struct lhi_procstat ps;
	siginfo_t si;
	pid_t pid;

	(void)replay_begin();
	pid = t_fork(be_chain, NULL);
	ok(lhi_procstat_read(pid, pid, &ps), "a process of such threads");
	ok(t_until(T_HANG_MS, lhi_procstat_read(pid, pid, &ps) &&
	    ps.state == 'Z'), "its first thread has ended");
	end_ns = t_now_ns() + ASKED_MS * T_NS_PER_MS;
	while (t_now_ns() < end_ns && ended == 0) {
		ended += lhi_process_has_ended(pid, ps.start_ticks);
		asked++;
	}
	diag("asked %ld times", asked);
	cmp(asked, >, 1000, "asked often enough");
	is(ended, 0, "it is never proved to have ended");
	(void)t_signal(pid, SIGKILL);
	is(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0, "killed");
	ok(lhi_process_has_ended(pid, ps.start_ticks), "it is proved then");
	ok(!lhi_process_has_ended(pid, ps.start_ticks + 1),
	    "and not of a process that started at another time");
	t_kill(pid);
	ok(!lhi_process_has_ended(pid, ps.start_ticks),
	    "nor of a process that cannot be seen any more");
	return done();
}
