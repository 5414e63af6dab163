/* SPDX-License-Identifier: MIT */
/*
 * The guard: the table's object is read-only for a traced process, so that it
 * stops at each instruction that is about to change it.
 *
 * The director cannot change what another process has mapped.  So it lets the
 * process make the system call: mprotect(), at an instruction of this program
 * that is there for that (the gate), with the registers as they were
 * afterwards.  The object's mappings are those with its file's number in
 * /proc/PID/maps, because the name there may be an older one.
 *
 * The kernel heeds a read-only mapping as well: a call that is given memory of
 * the object is made when the guard is down.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include "crash/guard.h"

#define MAPPINGS_MAX 32
#define SYSCALL_LEN 2

static struct guard {
	pid_t pid;		/* 0: none */
	bool up;
	ino_t file;		/* 0: it has no name yet */
	size_t n;
	struct { uint64_t from, to; } map[MAPPINGS_MAX];
} guard;

void guard_gate(void);

#ifdef __x86_64__
__asm__(".text\n.globl guard_gate\n.hidden guard_gate\n"
    ".type guard_gate, @function\nguard_gate:\n\tsyscall\n\tint3\n"
    ".size guard_gate, .-guard_gate\n");
#else
void
guard_gate(void)
{
}
#endif

void
guard_begin(pid_t pid)
{
	guard = (struct guard){ .pid = pid };
}

void
guard_end(void)
{
	guard.pid = 0;
}

bool
guard_find(struct trial *p)
{
	uint64_t from, to, inode;
	char path[64], line[300], mode[8];
	struct stat st;
	FILE *f;

	guard.n = 0;
	if (guard.file == 0 && stat(trial_object(p), &st) == 0)
		guard.file = st.st_ino;
	if (guard.file == 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)guard.pid);
	f = fopen(path, "re");
	while (f != NULL && guard.n < MAPPINGS_MAX &&
	    fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64,
		    &from, &to, mode, &inode) != 4 ||
		    inode != (uint64_t)guard.file || strcmp(mode, "rw-s") != 0)
			continue;
		guard.map[guard.n].from = from;
		guard.map[guard.n++].to = to;
	}
	if (f != NULL)
		fclose(f);
	if (f == NULL || guard.n == MAPPINGS_MAX)
		blame(p, "the mappings of the object are not known");
	return f != NULL && guard.n < MAPPINGS_MAX;
}

/* The process, which is stopped, makes that call. */
static bool
make_call(struct trial *p, uint64_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t gate = (uint64_t)(uintptr_t)guard_gate;
	struct user_regs_struct was, r;

	if (ptrace(PTRACE_GETREGS, guard.pid, NULL, &was) != 0)
		return false;
	r = was;
	r.rip = gate;
	r.rax = nr;
	r.orig_rax = (uint64_t)-1;
	r.rdi = a;
	r.rsi = b;
	r.rdx = c;
	if (ptrace(PTRACE_SETREGS, guard.pid, NULL, &r) != 0 ||
	    !tracee_resume(p, guard.pid, PTRACE_SINGLESTEP) ||
	    ptrace(PTRACE_GETREGS, guard.pid, NULL, &r) != 0)
		return false;
	if (r.rip != gate + SYSCALL_LEN || r.rax != 0) {
		blame(p, "the guard cannot be set: rip 0x%llx, %s",
		    (unsigned long long)r.rip, strerror((int)-(int64_t)r.rax));
		return false;
	}
	return ptrace(PTRACE_SETREGS, guard.pid, NULL, &was) == 0;
}

static bool
protect(struct trial *p, bool up)
{
	if (guard.up == up)
		return true;
	for (size_t i = 0; i < guard.n; i++)
		if (!make_call(p, SYS_mprotect, guard.map[i].from,
		    guard.map[i].to - guard.map[i].from,
		    up ? PROT_READ : PROT_READ | PROT_WRITE))
			return false;
	guard.up = up;
	return true;
}

bool
guard_raise(struct trial *p)
{
	return protect(p, true);
}

bool
guard_lower(struct trial *p)
{
	return protect(p, false);
}

static bool
is_guarded(uint64_t at)
{
	for (size_t i = 0; i < guard.n; i++)
		if (at >= guard.map[i].from && at < guard.map[i].to)
			return true;
	return false;
}

bool
guard_was_hit(pid_t pid)
{
	siginfo_t info;

	return pid == guard.pid && guard.up &&
	    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 &&
	    info.si_code == SEGV_ACCERR &&
	    is_guarded((uint64_t)(uintptr_t)info.si_addr);
}

bool
guard_is_in_call(void)
{
	struct user_regs_struct r;

	return ptrace(PTRACE_GETREGS, guard.pid, NULL, &r) == 0 &&
	    (is_guarded(r.rdi) || is_guarded(r.rsi) || is_guarded(r.rdx) ||
	    is_guarded(r.r10) || is_guarded(r.r8) || is_guarded(r.r9));
}

bool
guard_undo_call(struct trial *p)
{
	struct user_regs_struct r, was;

	if (ptrace(PTRACE_GETREGS, guard.pid, NULL, &was) != 0)
		return false;
	r = was;
	r.orig_rax = (uint64_t)-1;	/* no call is made */
	if (ptrace(PTRACE_SETREGS, guard.pid, NULL, &r) != 0 ||
	    !tracee_finish_call(p, guard.pid))
		return false;
	was.rip -= SYSCALL_LEN;
	was.rax = was.orig_rax;
	was.orig_rax = (uint64_t)-1;
	return ptrace(PTRACE_SETREGS, guard.pid, NULL, &was) == 0;
}
