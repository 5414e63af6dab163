/* SPDX-License-Identifier: MIT */
/* Processes that stop and die: see crew.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fence/crew.h"
#include "prim/shared.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCS 16
#define STOP_MS 15		/* at most */
#define ONE_IN 60		/* points */

int crew_me;
static struct crew *crew;
static uint64_t seed;

bool
crew_chance(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n == 0;
}

/* At every point of the library, and before each access to shared memory. */
static void
at_point(const char *what, const void *addr)
{
	if ((strncmp(what, "range.", 6) != 0 &&
	    strncmp(what, "fence.", 6) != 0) || !crew_chance(ONE_IN))
		return;
	if (crew_chance(3)) {
		atomic_fetch_add(&crew->kills, 1);
		(void)kill(getpid(), SIGKILL);
	}
	atomic_fetch_add(&crew->stops, 1);
	(void)kill(getpid(), SIGSTOP);
}

static pid_t
start(int who, int (*member)(void *arg), void *arg)
{
	static uint64_t born;
	pid_t pid = fork();

	born++;
	if (pid != 0)
		return pid;
	t_child_begin();
	crew_me = who;
	seed = (uint64_t)getpid() << 20 ^ born;
	if (who != 0)
		lhi_hook = at_point;
	t_child_exit(member(arg));
}

bool
crew_run(struct crew *c, int procs, int64_t ms, int (*member)(void *arg),
    void *arg, void (*meanwhile)(void *arg))
{
	int64_t end_ns = t_now_ns() + ms * T_NS_PER_MS, go_on_ns[PROCS] = { 0 };
	pid_t pids[PROCS];
	int left = procs, status;
	bool good = true;

	crew = c;
	seed = (uint64_t)getpid();
	for (int i = 0; i < procs; i++)
		pids[i] = start(i, member, arg);
	while (left > 0) {
		if (t_now_ns() > end_ns)
			atomic_store(&c->enough, true);
		if (t_now_ns() > end_ns + 10000 * T_NS_PER_MS)
			bail_out("the crew does not come to an end");
		for (int i = 0; i < procs; i++) {
			if (pids[i] == 0 || (go_on_ns[i] != 0 &&
			    t_now_ns() < go_on_ns[i]))
				continue;
			if (go_on_ns[i] != 0)
				(void)kill(pids[i], SIGCONT);
			go_on_ns[i] = 0;
			if (waitpid(pids[i], &status, WNOHANG | WUNTRACED) !=
			    pids[i])
				continue;
			if (WIFSTOPPED(status)) {
				go_on_ns[i] = t_now_ns() + (int64_t)(seed %
				    STOP_MS) * T_NS_PER_MS;
				(void)crew_chance(2);
			} else if (WIFSIGNALED(status) &&
			    WTERMSIG(status) == SIGKILL &&
			    !atomic_load(&c->enough)) {
				pids[i] = start(i, member, arg);
			} else {
				good = good &&
				    (status == 0 || status == SIGKILL);
				pids[i] = 0;
				left--;
			}
		}
		if (meanwhile != NULL && !atomic_load(&c->enough))
			meanwhile(arg);
		t_nap();
	}
	return good;
}
