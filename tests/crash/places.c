/* SPDX-License-Identifier: MIT */
/*
 * Recording without stepping: the places of an operation.
 *
 * Others can see an operation's changes of the shared memory and its system
 * calls, and nothing else.  Most of its ten thousand instructions only read,
 * and need no stop.  So the table is read-only for the process (guard.c), which
 * stops at each instruction that is about to write there.  ptrace() stops it at
 * system calls.  A place is the address of such an instruction, or of the one
 * behind it.
 *
 * A point is a place, the depth of the stack, and how often the two were met
 * (approach.c).  When a place is found, it is not known how often it was passed
 * by before: a function of libc writes to the table once, and a hundred times
 * elsewhere.  So the operation is recorded again with a breakpoint at each
 * place that is known, until no new one turns up (PLACES_ROUNDS at most).
 * Each arrival at a place is a
 * point then.  The hash says whether the memory has changed, as in a recording
 * that is stepped.
 *
 * A stop is also tried at a few instructions between the places.  The second
 * recording takes some steps behind every n-th point, and makes a place of the
 * instruction where these end.
 *
 * All mappings of a process are those of all its threads, which must not stop
 * at the guard.  An operation of several threads is stepped.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>
#include "crash/breakpoint.h"
#include "crash/guard.h"
#include "crash/places.h"
#include "crash/scenario.h"
#include "crash/step_over.h"

#define SYSCALL_LEN 2
#define SAMPLE 8
#define STEPS_MAX 32

#define LATE_US 12000		/* three ticks at 250 Hz */

static bool wanted, late;

static struct {
	uint64_t rip[BREAKPOINTS_MAX];
	bool between[BREAKPOINTS_MAX];	/* met by a sample alone */
	size_t n;
	bool several;		/* threads */
	bool sample, sampled;
	uint32_t met;		/* points of the last recording */
} known;

void
places_wanted(bool on)
{
	wanted = on;
}

void
places_late(bool on)
{
	late = on;
}

void
places_forget(bool sample)
{
	memset(&known, 0, sizeof(known));
	known.sample = sample;
}

bool
places_likely(const struct trial *p)
{
	return wanted && !p->full && !p->sc->toy && !known.several;
}

bool
places_usable(const struct trial *p, pid_t pid)
{
	char path[64];
	struct stat st;

	if (!places_likely(p))
		return false;
	/* a folder for each thread, and the two of each folder */
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	known.several = stat(path, &st) != 0 || st.st_nlink != 3;
	return !known.several;
}

static size_t
find_place(uint64_t rip)
{
	size_t i = 0;

	while (i < known.n && known.rip[i] != rip)
		i++;
	return i;
}

/* There will be a breakpoint there the next time. */
static void
learn(struct recording *r, uint64_t rip, bool between)
{
	size_t i = find_place(rip);

	if (i == BREAKPOINTS_MAX) {
		known.several = r->t->again = true;
		return;
	}
	if (i < known.n) {
		known.between[i] = known.between[i] && between;
		return;
	}
	known.rip[i] = rip;
	known.between[i] = between;
	known.n++;
	r->t->again = true;
}

/* It has come to a place. */
static struct point *
arrive(struct recording *r, const struct spot *at)
{
	struct point *here = recording_note(r, at->rip, at->rsp);
	size_t i = find_place(at->rip);

	if (i < known.n && known.between[i] && here->occ == 1)
		here->why |= AT_BETWEEN;
	learn(r, at->rip, i < known.n && known.between[i]);
	return here;
}

/* Where it is now is the last point already. */
static bool
is_noted(const struct recording *r, uint64_t rip, uint64_t rsp)
{
	const struct point *last = &r->t->at[r->t->n - 1];

	return last->rip == rip && last->depth == (uint32_t)(r->top - rsp);
}

static struct point *
point_at(struct recording *r, const struct spot *at)
{
	if (!is_noted(r, at->rip, at->rsp))
		return arrive(r, at);
	learn(r, at->rip, false);
	return &r->t->at[r->t->n - 1];
}

/* It is about to write to the table, and does. */
static bool
write_once(struct recording *r, struct spot *at)
{
	(void)point_at(r, at);
	if (!guard_lower(r->p) || !tracee_step(r->p, r->pid, at) ||
	    !guard_raise(r->p))
		return false;
	(void)arrive(r, at);
	return true;
}

static bool
is_of_mappings(uint64_t nr)
{
	return nr == SYS_mmap || nr == SYS_munmap || nr == SYS_mremap ||
	    nr == SYS_mprotect || nr == SYS_link || nr == SYS_linkat ||
	    nr == SYS_rename || nr == SYS_renameat || nr == SYS_renameat2 ||
	    nr == SYS_open || nr == SYS_openat;
}

/* It is at the entry to a system call: to its end. */
static bool
call_once(struct recording *r, struct spot *at)
{
	struct user_regs_struct regs;
	struct spot before = { at->rip - SYSCALL_LEN, at->rsp };

	if (ptrace(PTRACE_GETREGS, r->pid, NULL, &regs) != 0)
		return false;
	if (regs.orig_rax == SYS_clone || regs.orig_rax == SYS_clone3 ||
	    regs.orig_rax == SYS_fork || regs.orig_rax == SYS_vfork)
		known.several = r->t->again = true;
	if (known.several)
		return true;
	if (step_over_is_clock(before.rip))
		return tracee_finish_call(r->p, r->pid);
	recording_note_call(r, point_at(r, &before));
	if (guard_is_in_call() && (!guard_undo_call(r->p) ||
	    !guard_lower(r->p) ||
	    !tracee_resume(r->p, r->pid, PTRACE_SYSCALL)))
		return false;
	if (!tracee_finish_call(r->p, r->pid))
		return false;
	state_hash_find(r->p, &r->sight);
	if (is_of_mappings(regs.orig_rax) && (!guard_lower(r->p) ||
	    !guard_find(r->p)))
		return false;
	if (!guard_raise(r->p) || !tracee_spot(r->p, r->pid, at))
		return false;
	(void)arrive(r, at);
	return true;
}

/* Some instructions on from a point, but not past the next one. */
static bool
step_on(struct recording *r, struct spot *at, uint32_t steps)
{
	static const char call[] = "\x0f\x05";

	while (steps-- > 0) {
		if (memcmp((const void *)(uintptr_t)at->rip, call,
		    SYSCALL_LEN) == 0)
			return true;
		if (!tracee_step(r->p, r->pid, at))
			return false;
		if (tracee_at_fault())
			return write_once(r, at);
		if (step_over_is_clock(at->rip))
			return true;
		if (breakpoint_is_at(r->pid, at->rip)) {
			(void)arrive(r, at);
			return true;
		}
	}
	learn(r, at->rip, true);
	return true;
}

/* It is at a point; which of them, in a recording like the last? */
static bool
sample_here(struct recording *r, struct spot *at, uint32_t *turn)
{
	uint32_t each = known.met / SAMPLE + 1;

	if (!known.sample || known.sampled || known.met == 0 ||
	    r->t->n < (size_t)*turn * each + 1)
		return true;
	++*turn;
	return step_on(r, at, (*turn * 11) % STEPS_MAX + 1);
}

static bool
run(struct recording *r, struct spot at)
{
	uint32_t turn = 0;

	(void)arrive(r, &at);
	while (at.rip != trace_end_rip() && !known.several) {
		if (!sample_here(r, &at, &turn))
			return false;
		if (at.rip == trace_end_rip())
			break;
		if (!tracee_resume(r->p, r->pid, PTRACE_SYSCALL) ||
		    !tracee_spot(r->p, r->pid, &at))
			return false;
		if (tracee_at_fault()) {
			if (!write_once(r, &at))
				return false;
		} else if (tracee_at_call()) {
			if (!call_once(r, &at))
				return false;
		} else {
			(void)arrive(r, &at);
		}
	}
	return true;
}

bool
places_record(struct recording *r, struct spot at)
{
	bool lived;

	if (late)
		(void)usleep(LATE_US);
	r->t->sparse = true;
	guard_begin(r->pid);
	(void)breakpoint_set_all(r->pid, known.rip, known.n);
	lived = breakpoint_add(r->pid, trace_end_rip()) && guard_find(r->p) &&
	    guard_raise(r->p) && run(r, at);
	guard_end();
	if (!lived)
		return false;
	recording_end(r, &r->t->at[r->t->n - 1]);
	known.sampled = known.met > 0;
	if (known.sample && !known.sampled)
		r->t->again = true;
	known.met = r->t->instructions;
	return true;
}
