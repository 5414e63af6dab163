/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints in another process, which is stopped.
 *
 * A breakpoint is an int3 in the process's own copy of the code.  The debug
 * registers would do without, and for one thread alone.  But there are virtual
 * machines that accept what is written there and never report a hit, and a test
 * is to mean the same everywhere.
 *
 * The process's other threads meet an int3 as well, and nobody traces them.
 * They get SIGTRAP, and its handler lets them wait until the int3 is gone: when
 * the traced thread has arrived, or executes the instruction itself.  It may be
 * that it is waiting for them.  So they wait for WAIT_MS, and then say that
 * they have met: this breakpoint is of no use in this run.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "crash/breakpoint.h"
#include "crash/trial.h"

#define INT3	0xccu
#define WAIT_MS	20
#define NAP_NS	100000
#define WORD	(sizeof(long))

static struct breakpoint {
	uint64_t rip;
	uint8_t was;		/* the byte that is there without it */
} all[BREAKPOINTS_MAX];
static size_t n_all;
static pid_t owner;
static _Atomic int *met_by_others;

static bool
exchange_byte(pid_t pid, uint64_t at, uint8_t byte, uint8_t *before)
{
	uint64_t word_at = at & ~(uint64_t)(WORD - 1);
	unsigned shift = 8 * (unsigned)(at - word_at);
	uint64_t word;

	errno = 0;
	word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, word_at, NULL);
	if (errno != 0)
		return false;
	*before = (uint8_t)(word >> shift);
	word = (word & ~(UINT64_C(0xff) << shift)) | (uint64_t)byte << shift;
	return ptrace(PTRACE_POKETEXT, pid, word_at, word) == 0;
}

static struct breakpoint *
find_at(pid_t pid, uint64_t rip)
{
	for (size_t i = 0; pid == owner && i < n_all; i++)
		if (all[i].rip == rip)
			return &all[i];
	return NULL;
}

bool
breakpoint_any(pid_t pid)
{
	return pid == owner && n_all > 0;
}

bool
breakpoint_is_at(pid_t pid, uint64_t rip)
{
	return find_at(pid, rip) != NULL;
}

bool
breakpoint_lift(pid_t pid, uint64_t rip)
{
	struct breakpoint *b = find_at(pid, rip);
	uint8_t before;

	return b == NULL || exchange_byte(pid, rip, b->was, &before);
}

bool
breakpoint_put(pid_t pid, uint64_t rip)
{
	struct breakpoint *b = find_at(pid, rip);
	uint8_t before;

	return b == NULL || exchange_byte(pid, rip, INT3, &before);
}

bool
breakpoint_set_all(pid_t pid, const uint64_t *rips, size_t n)
{
	bool good = true;

	for (size_t i = 0; pid == owner && i < n_all; i++)
		good = breakpoint_lift(pid, all[i].rip) && good;
	n_all = 0;
	owner = pid;
	for (size_t i = 0; i < n && good; i++)
		good = breakpoint_add(pid, rips[i]);
	return good;
}

bool
breakpoint_add(pid_t pid, uint64_t rip)
{
	struct breakpoint *b = &all[n_all];

	if (find_at(pid, rip) != NULL)
		return true;
	if (n_all == BREAKPOINTS_MAX || pid != owner ||
	    !exchange_byte(pid, rip, INT3, &b->was))
		return false;
	b->rip = rip;
	n_all++;
	return true;
}

bool
breakpoint_set(pid_t pid, uint64_t a, uint64_t b)
{
	uint64_t want[2] = { a, b };

	if (a == 0)
		return breakpoint_set_all(pid, &want[1], b != 0);
	return breakpoint_set_all(pid, want, b != 0 ? 2 : 1);
}

/* Not libc's: there may be a breakpoint in it. */
static inline __attribute__((always_inline)) long
raw_call(long nr, long a, long b, long c)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall" : "=a" (result) : "0" (nr), "D" (a),
	    "S" (b), "d" (c) : "rcx", "r11", "memory");
	return result;
#else
	return syscall(nr, a, b, c);
#endif
}

static void
wait_until_gone(int sig, siginfo_t *info, void *context)
{
	struct timespec nap = { 0, NAP_NS };
	ucontext_t *uc = context;
	volatile uint8_t *code;
	long pid = raw_call(SYS_getpid, 0, 0, 0);

	(void)info;
	if (raw_call(SYS_gettid, 0, 0, 0) == pid) {
		/* it is not traced any more, and has met one all the same */
		signal(sig, SIG_DFL);
		return;
	}
	uc->uc_mcontext.gregs[REG_RIP]--;
	code = (void *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	for (int naps = 0; *code == INT3; naps++) {
		if (naps == WAIT_MS * NS_A_MS / NAP_NS &&
		    atomic_exchange(met_by_others, 1) == 0)
			raw_call(SYS_tgkill, pid, pid, sig);
		raw_call(SYS_nanosleep, (long)&nap, 0, 0);
	}
}

void
breakpoint_others_wait(_Atomic int *met)
{
	struct sigaction sa = { .sa_sigaction = wait_until_gone,
	    .sa_flags = SA_SIGINFO | SA_RESTART };

	met_by_others = met;
	sigaction(SIGTRAP, &sa, NULL);
}
