/* SPDX-License-Identifier: MIT */
/*
 * System calls that only look: what a file is, who holds a byte, what time it
 * is.  To everybody else a process that dies just before one, and one that dies
 * just after it, have done the same.
 *
 * A call that is not in the list counts as a change: that costs time and hides
 * nothing.  So a call that changes a file, a lock, a mapping that others use,
 * or who is asleep must never be put in.
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include "crash/system_call.h"
#include "crash/tracee.h"

bool
system_call_looks(pid_t pid)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0)
		return false;
	switch (tracee_at_call() ? r.orig_rax : r.rax) {
	case SYS_stat:
	case SYS_fstat:
	case SYS_lstat:
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_statfs:
	case SYS_fstatfs:
	case SYS_access:
	case SYS_readlink:
	case SYS_readlinkat:
	case SYS_getdents64:
	case SYS_pread64:
	case SYS_clock_gettime:
	case SYS_getrandom:
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getuid:
	case SYS_geteuid:
	case SYS_getegid:
		return true;
	case SYS_fcntl:
		return r.rsi == F_GETFD || r.rsi == F_GETFL ||
		    r.rsi == F_GETLK || r.rsi == F_OFD_GETLK;
	default:
		return false;
	}
}
