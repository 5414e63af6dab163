/* SPDX-License-Identifier: MIT */
/*
 * A process counts as in the middle of execve(2) only if its memory is all
 * stack and it cannot run (base/procstatus.h).  Otherwise a job that brings its
 * memory into that state could hide its sign of life in another thread, and be
 * declared dead while it lives.  More than `status` is not asked of a process
 * that may be in it.
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

static void
asks_nothing_of_one_in_kernel(void)
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
}

int
main(void)
{
	const struct lhi_procstatus in_exec = { .state = 'S', .threads = 1,
		.has_memory = true, .memory_kb = 4, .stack_kb = 4 };
	struct lhi_procstatus s = in_exec, later;

	ok(lhi_procstatus_is_in_exec(&s), "all memory is stack");
	s.threads = 2;
	ok(!lhi_procstatus_is_in_exec(&s), "not with another thread");
	s = in_exec;
	s.state = 'R';
	ok(!lhi_procstatus_is_in_exec(&s), "nor one that runs");
	s = in_exec;
	s.memory_kb = 8;
	ok(!lhi_procstatus_is_in_exec(&s), "nor with other memory");
	s = in_exec;
	s.data_kb = 4;
	ok(!lhi_procstatus_is_in_exec(&s), "nor with data");
	s = in_exec;
	s.has_memory = false;
	ok(!lhi_procstatus_is_in_exec(&s), "nor one without memory");

	s = in_exec;
	s.memory_kb = 8;
	s.state = 'D';
	ok(lhi_procstatus_may_stall(&s), "in state D its stat may not answer");
	s.threads = 2;
	ok(!lhi_procstatus_may_stall(&s), "but with another thread it does");
	s.threads = 1;
	s.has_memory = false;
	ok(!lhi_procstatus_may_stall(&s), "or without memory");
	ok(lhi_procstatus_read(getpid(), &s), "ours can be read");
	is(s.state, 'R', "  we run");
	cmp(s.threads, >=, 1, "  a thread at least (qemu has its own)");
	is(s.uid[0], getuid(), "  of that user");
	is(s.uid[1], geteuid(), "  and that one");
	ok(s.has_memory && s.memory_kb > s.stack_kb && s.data_kb > 0,
	    "  with memory");
	ok(!lhi_procstatus_is_in_exec(&s), "  not in execve(2)");
	ok(!lhi_procstatus_may_stall(&s), "  and our stat answers");
	t_sleep_ms(20);
	ok(lhi_procstatus_read(getpid(), &later), "again");
	cmp(later.switches, >, s.switches, "  it has slept meanwhile");
	ok(!lhi_procstatus_read(-1, &s), "no such process");
	asks_nothing_of_one_in_kernel();
	return done();
}
