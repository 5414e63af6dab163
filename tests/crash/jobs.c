/* SPDX-License-Identifier: MIT */
/*
 * Several scenarios at a time.
 *
 * Each worker is a process with a trial, and so with a company and a table, of
 * its own; it takes the next scenario that nobody has.  The one that forked
 * them prints the results, in the scenarios' order.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "crash/jobs.h"
#include "tap.h"

#define LOOK_MS 200

/* Shared by the workers. */
struct board {
	_Atomic int next;		/* not yet taken */
	_Atomic uint32_t good[JOBS_SCENARIOS];
	struct flag done[JOBS_SCENARIOS];
	char line[JOBS_SCENARIOS][400];
};

static void
work_on(struct work *w, struct board *b, job_fn *fn)
{
	struct trial *p = trial_make();
	int i;

	while ((i = atomic_fetch_add(&b->next, 1)) < w->n) {
		b->good[i] = fn(p, w, i, b->line[i], sizeof(b->line[i]));
		flag_set(&b->done[i], 1);
	}
}

static void
start(struct work *w, struct board *b, job_fn *fn)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (pid > 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		exit(1);
	work_on(w, b, fn);
	exit(0);
}

void
jobs_run(struct work *w, int jobs, job_fn *fn)
{
	struct board *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int left = jobs, status, how = 0;

	if (b == MAP_FAILED)
		bail_out("no shared memory: %s", strerror(errno));
	for (int i = 0; i < jobs; i++)
		start(w, b, fn);
	for (int i = 0; i < w->n; i++) {
		while (left > 0 && !flag_wait(&b->done[i], 1, LOOK_MS)) {
			if (waitpid(-1, &status, WNOHANG) <= 0)
				continue;
			left--;
			how = status != 0 ? status : how;
		}
		if (flag_get(&b->done[i]) == 0)
			fail("%s: its worker has died (status 0x%x)",
			    w->some[i]->name, how);
		else
			ok(b->good[i], "%s", b->line[i]);
	}
	while (left-- > 0)
		(void)wait(NULL);
	munmap(b, sizeof(*b));
}
