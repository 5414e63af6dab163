/* SPDX-License-Identifier: MIT */
/* Holding the reins of another process: see tracee.h. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/user.h>
#include <sys/wait.h>
#include "crash/breakpoint.h"
#include "crash/guard.h"
#include "crash/tracee.h"

#define SPAN_MS 30000		/* no operation takes longer than this */

static int64_t span_ms = SPAN_MS;
static unsigned long stops;	/* since the watch was set */
static bool at_call, at_fault;

void
tracee_span(int64_t ms)
{
	span_ms = ms > 0 ? ms : SPAN_MS;
}

void
tracee_watch(pid_t pid)
{
	stops = 0;
	trial_watch_used(span_ms, pid);
}

/* It is not there any more, or is dead. */
static void
blame_gone(struct trial *p, const char *how)
{
	if (trial_overdue())
		blame(p, "the operation did not end, and was killed: %lld ms "
		    "were used up (not counting waits for a processor), with "
		    "%lu stops", (long long)span_ms, stops);
	else
		blame(p, "the stepped process is gone: %s", how);
}

/* A call of ptrace() failed: only the dead cannot be reached. */
static bool
lost(struct trial *p, pid_t pid)
{
	const char *how = strerror(errno);

	trial_kill(pid);
	blame_gone(p, how);
	return false;
}

bool
tracee_spot(struct trial *p, pid_t pid, struct spot *at)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		return lost(p, pid);
	*at = (struct spot){ regs.rip, regs.rsp };
	return true;
}

/* To the next trap, whatever it is of. */
static bool
resume_once(struct trial *p, pid_t pid, enum __ptrace_request how)
{
	long sig = 0;
	int status;

	at_fault = false;
	for (;;) {
		if (ptrace(how, pid, NULL, sig) != 0)
			return lost(p, pid);
		status = trial_waitpid(pid);
		if (!WIFSTOPPED(status))
			break;
		stops++;
		sig = WSTOPSIG(status);
		at_call = sig == (SIGTRAP | 0x80);	/* ptrace(2) */
		at_fault = sig == SIGSEGV && guard_was_hit(pid);
		if (sig == SIGTRAP || at_call || at_fault)
			return true;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		blame_gone(p, "killed");
	else if (WIFSIGNALED(status))
		blame(p, "the operation died of %s",
		    strsignal(WTERMSIG(status)));
	else
		blame(p, "the stepped process exited");
	return false;
}

/*
 * Executes the instruction behind a breakpoint.  A system call is entered, and
 * no more, if entries are asked for.
 */
static bool
leave_breakpoint(struct trial *p, pid_t pid, uint64_t rip,
    enum __ptrace_request how)
{
	bool call = memcmp((const void *)(uintptr_t)rip, "\x0f\x05", 2) == 0;

	if (!breakpoint_lift(pid, rip))
		return lost(p, pid);
	if (!resume_once(p, pid, how == PTRACE_SYSCALL && call ?
	    PTRACE_SYSCALL : PTRACE_SINGLESTEP))
		return false;
	return breakpoint_put(pid, rip) || lost(p, pid);
}

bool
tracee_resume(struct trial *p, pid_t pid, enum __ptrace_request how)
{
	struct user_regs_struct regs;

	if (!breakpoint_any(pid))
		return resume_once(p, pid, how);
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		return lost(p, pid);
	if (breakpoint_is_at(pid, regs.rip)) {
		if (!leave_breakpoint(p, pid, regs.rip, how))
			return false;
		if (at_call || at_fault || how == PTRACE_SINGLESTEP)
			return true;
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
			return lost(p, pid);
		if (breakpoint_is_at(pid, regs.rip))
			return true;
	}
	if (!resume_once(p, pid, how))
		return false;
	if (at_call || at_fault || how == PTRACE_SINGLESTEP)
		return true;
	/* its int3 has been executed */
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		return lost(p, pid);
	if (!breakpoint_is_at(pid, regs.rip - 1))
		return true;
	regs.rip--;
	return ptrace(PTRACE_SETREGS, pid, NULL, &regs) == 0 || lost(p, pid);
}

bool
tracee_at_call(void)
{
	return at_call;
}

bool
tracee_at_fault(void)
{
	return at_fault;
}

bool
tracee_finish_call(struct trial *p, pid_t pid)
{
	return resume_once(p, pid, PTRACE_SYSCALL);
}

bool
tracee_step(struct trial *p, pid_t pid, struct spot *at)
{
	return tracee_resume(p, pid, PTRACE_SINGLESTEP) &&
	    tracee_spot(p, pid, at);
}

void
tracee_share_cpu(pid_t pid, cpu_set_t *before)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(before);
	if (cpu < 0 || sched_getaffinity(0, sizeof(*before), before) != 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	(void)sched_setaffinity(pid, sizeof(one), &one);
}

void
tracee_part_cpu(pid_t pid, const cpu_set_t *before)
{
	if (CPU_COUNT(before) == 0)
		return;
	(void)sched_setaffinity(0, sizeof(*before), before);
	(void)sched_setaffinity(pid, sizeof(*before), before);
}
