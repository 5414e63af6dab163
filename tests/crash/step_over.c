/* SPDX-License-Identifier: MIT */
/*
 * Code that is not stepped through, because a step takes 10 to 50 us.
 *
 * The vDSO's clocks read until the kernel has not written meanwhile.  The
 * kernel writes at each tick.  Where steps take long, such a read never ends.
 *
 * Functions of libraries compute: most instructions of an operation are those
 * of readdir(), vsnprintf(), memset() and the hash.  trace.c runs through such
 * a call, and stops at its system calls.  If the hash of the shared memory
 * differs where no system call was made, the function has changed the memory.
 * Such a function is remembered here, the operation is recorded again, and the
 * function is stepped through.  So no change is missed, and between two changes
 * nothing is left out that another process could tell apart.
 */
#include <link.h>
#include <string.h>
#include <sys/ptrace.h>
#include "crash/breakpoint.h"
#include "crash/step_over.h"
#include "crash/symbol.h"

#define CHANGERS_MAX 32
#define HASHES_MAX 16

static struct span vdso, program;
static struct span hashes[HASHES_MAX];	/* src/base/hash.c */
static size_t n_hashes;
static uint64_t changers[CHANGERS_MAX];
static size_t n_changers;

static struct span
code_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			return (struct span){ from, from + ph->p_memsz };
	}
	return (struct span){ 0, 0 };
}

/* The program itself comes first. */
static int
find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (program.to == 0)
		program = code_of(info);
	if (strstr(info->dlpi_name, "vdso") != NULL)
		vdso = code_of(info);
	return 0;
}

static bool
is_in(const struct span *s, uint64_t rip)
{
	return rip >= s->from && rip < s->to;
}

static void
find_spans(void)
{
	if (program.to != 0)
		return;
	(void)dl_iterate_phdr(find_code, NULL);
	n_hashes = symbol_find("lhi_hash", hashes, HASHES_MAX);
	n_hashes += symbol_find("XXH3_", &hashes[n_hashes],
	    HASHES_MAX - n_hashes);
}

/* The program's own code: not libc's, not that of its hashes. */
static bool
is_own(uint64_t rip)
{
	if (!is_in(&program, rip))
		return false;
	for (size_t i = 0; i < n_hashes; i++)
		if (is_in(&hashes[i], rip))
			return false;
	return true;
}

bool
step_over_is_clock(uint64_t rip)
{
	find_spans();
	return is_in(&vdso, rip);
}

bool
step_over_is_library(pid_t pid, uint64_t from, const struct spot *at)
{
	uint64_t back;

	find_spans();
	if (!is_own(from) || is_own(at->rip))
		return false;
	for (size_t i = 0; i < n_changers; i++)
		if (changers[i] == at->rip)
			return false;
	/* a return into a library is no call */
	back = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, at->rsp, NULL);
	return is_own(back);
}

bool
step_over_never(uint64_t function)
{
	if (n_changers == CHANGERS_MAX)
		return false;
	changers[n_changers++] = function;
	return true;
}

bool
step_over_call(struct trial *p, pid_t pid, struct spot *at)
{
	uint64_t inside = at->rsp;
	uint64_t back = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, at->rsp, NULL);

	if (!breakpoint_set(pid, back, 0))
		return tracee_step(p, pid, at);
	do {
		if (!tracee_resume(p, pid, PTRACE_CONT) ||
		    !tracee_spot(p, pid, at))
			return false;
	} while (at->rip != back || at->rsp <= inside);
	return breakpoint_set(pid, 0, 0);
}
