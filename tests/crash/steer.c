/* SPDX-License-Identifier: MIT */
/* Holding the reins of another process: see steer.h. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/user.h>
#include <sys/wait.h>
#include "crash/steer.h"

#define DR(i) (offsetof(struct user, u_debugreg) + 8 * (size_t)(i))

struct spot
steer_spot(pid_t pid)
{
	struct user_regs_struct regs = { 0 };

	(void)ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	return (struct spot){ regs.rip, regs.rsp };
}

bool
steer_resume(struct play *p, pid_t pid, enum __ptrace_request how)
{
	long sig = 0;
	int status;

	for (;;) {
		if (ptrace(how, pid, NULL, sig) != 0) {
			play_kill(pid);
			blame(p, "the stepped process is gone: %s",
			    strerror(errno));
			return false;
		}
		status = play_waitpid(pid);
		if (!WIFSTOPPED(status))
			break;
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP)
			return true;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		blame(p, "the operation did not end, and was killed");
	else if (WIFSIGNALED(status))
		blame(p, "the operation died of %s",
		    strsignal(WTERMSIG(status)));
	else
		blame(p, "the stepped process exited");
	return false;
}

bool
steer_break(pid_t pid, uint64_t a, uint64_t b)
{
	unsigned long dr7 = (a != 0 ? 1u : 0) | (b != 0 ? 4u : 0);

	if (ptrace(PTRACE_POKEUSER, pid, DR(7), 0) != 0 ||
	    ptrace(PTRACE_POKEUSER, pid, DR(0), a) != 0 ||
	    ptrace(PTRACE_POKEUSER, pid, DR(1), b) != 0 ||
	    ptrace(PTRACE_POKEUSER, pid, DR(7), dr7) != 0)
		return false;
	return true;
}

bool
steer_step(struct play *p, pid_t pid, struct spot *at)
{
	if (!steer_resume(p, pid, PTRACE_SINGLESTEP))
		return false;
	*at = steer_spot(pid);
	return true;
}
