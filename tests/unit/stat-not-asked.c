/* SPDX-License-Identifier: MIT */
/*
 * Nothing but `status` is asked of a process with one thread that waits in the
 * kernel: it may be in execve(2), where `stat` does not answer
 * (base/procstatus.h).  It still counts as running.
 *
 * Otherwise one user's process could keep all others waiting; or a holder that
 * waits for a disk would lose its lease of policy live.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/procstat.h"
#include "base/procstatus.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

/* A parent of vfork() is in state D while its child runs. */
static int
wait_in_kernel(void *arg)
{
	(void)arg;
	if (vfork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pause();
		_exit(0);
	}
	return 0;
}

static bool
comes_to_state(pid_t pid, char state)
{
	struct lhi_procstatus s;

	return lhi_procstatus_read(pid, &s) && s.state == state;
}

int
main(void)
{
	pid_t pid = t_fork(wait_in_kernel, NULL);
	struct lhi_procstat ps;

	ok(t_until(T_HANG_MS, comes_to_state(pid, 'D')), "one waits, state D");
	ok(lhi_procstat_read(pid, 0, &ps), "what is known of it:");
	is(ps.state, 'D', "  its state");
	is(ps.parent, getpid(), "  its parent");
	is(ps.start_ticks, 0, "  not when it began");
	ok(lhi_procstat_runs(pid, &ps), "it counts as running");
	t_kill(pid);
	ok(lhi_procstat_read(getpid(), 0, &ps), "of ourselves");
	cmp(ps.start_ticks, >, 0, "  that is known, too");
	return done();
}
