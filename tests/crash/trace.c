/* SPDX-License-Identifier: MIT */
/*
 * The stepper: runs a piece of code in another process and stops it before any
 * instruction that one likes.
 *
 * A piece of code is what lies between two markers, trace_begin_here() (an
 * int3) and trace_end_here().  Both processes come from one fork without an
 * exec, so code and vDSO are at the same addresses in both, and the director
 * reads instructions from its own memory.
 *
 * Recording is PTRACE_SINGLESTEP from marker to marker.  Before each
 * instruction the shared memory is hashed; an instruction after which the hash
 * differs has changed it, and everything between two changes is, to everybody
 * else, one and the same state.  System calls count as changes on both sides,
 * since the kernel's state (locks on bytes, sleepers, names) is in no hash; all
 * but those that only look (system_call.c).
 *
 * Coming back to a point in another run: not by counting instructions, which
 * differ from run to run by a retry or a clock's second look, but by address,
 * depth of the stack, and how often that was met ("the third time at
 * lh_release+0x40").  A breakpoint (breakpoint.c) stops there at full speed, so
 * that spans of time are what they are in earnest.  When a run does not come by
 * at full speed, and the recorded one had come too late for a sleep, that is
 * the second try (late_sleep.c): still by breakpoints, and with a stop at each
 * system call.  Stepping slowly, as when
 * recording, is the last (a clock tick, say, had been met).
 *
 * Stepped over: the vDSO's clocks, which read until the kernel has not written
 * meanwhile.  It writes at each tick, and where steps take long there is no end
 * to that.
 *
 * While it is recorded, the process shares a processor with the director: they
 * take turns, and to wake somebody elsewhere takes longer than all that happens
 * in a step.  Everybody else stays where he likes.
 *
 * Only the thread that called trace_start()'s functions is traced: stopped
 * alone when it stops, and its process's other threads run on.  SIGKILL ends
 * all.
 */
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "crash/breakpoint.h"
#include "crash/scenario.h"
#include "crash/state_hash.h"
#include "crash/system_call.h"
#include "crash/tracee.h"
#include "crash/symbol.h"
#include "crash/trace.h"
#include "tap.h"

#define INSTRUCTIONS_MAX 4000000u
#define STAGING_MS 30000

static bool be_late;

/* Code that is stepped over. */
struct span {
	uint64_t from, to;
};
static struct span vdso;

void trace_begin_here(void);
void trace_end_here(void);

__attribute__((noinline)) void
trace_begin_here(void)
{
	__asm__ volatile("int3" ::: "memory");
}

__attribute__((noinline)) void
trace_end_here(void)
{
	__asm__ volatile("nop" ::: "memory");
}

static uint64_t
end_rip(void)
{
	return (uint64_t)(uintptr_t)trace_end_here;
}

struct script {
	trial_fn *prepare, *act, *finish;
};

static void
perform(struct trial *p, void *arg)
{
	struct script *s = arg;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
		blame(p, "staging: ptrace: %s", strerror(errno));
		_exit(1);
	}
	p->subject = getpid();
	breakpoint_others_wait(&p->met);
	if (s->prepare != NULL)
		s->prepare(p);
	flag_set(&p->begun, 1);
	trace_begin_here();
	s->act(p);
	trace_end_here();
	if (s->finish != NULL)
		s->finish(p);
	flag_set(&p->finished, 1);
	for (;;)
		pause();	/* attached to the end, like most users */
}

pid_t
trace_start(struct trial *p, trial_fn *prepare, trial_fn *act, trial_fn *finish)
{
	struct script s = { prepare, act, finish };
	pid_t pid;
	int status;

	pid = trial_fork(p, perform, &s);
	trial_watch_used(STAGING_MS, pid);
	do {
		status = trial_waitpid(pid);
		if (!WIFSTOPPED(status)) {
			if (trial_watch(0))
				blame(p, "staging: the subject used up %d s",
				    STAGING_MS / 1000);
			else
				blame(p, "staging: the subject ended (status "
				    "0x%x)", status);
			return -1;
		}
		if (WSTOPSIG(status) != SIGTRAP)
			ptrace(PTRACE_CONT, pid, NULL, WSTOPSIG(status));
	} while (WSTOPSIG(status) != SIGTRAP);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL |
	    PTRACE_O_TRACESYSGOOD);
	p->subject = pid;
	trial_watch(0);
	return pid;
}

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

static int
find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (strstr(info->dlpi_name, "vdso") != NULL)
		vdso = code_of(info);
	return 0;
}

static bool
is_in(const struct span *s, uint64_t rip)
{
	return rip >= s->from && rip < s->to;
}

static bool
is_stepped_over(uint64_t rip)
{
	static bool found;

	if (!found)
		(void)dl_iterate_phdr(find_code, NULL);
	found = true;
	return is_in(&vdso, rip);
}

/* At the first instruction of a call: run until it has returned. */
static bool
step_over(struct trial *p, pid_t pid, struct spot *at)
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

/* How often a place has been met. */
#define COUNTS (1u << 16)
static struct { uint64_t rip; uint32_t depth, n; } counts[COUNTS];

static uint32_t
count(uint64_t rip, uint32_t depth)
{
	uint32_t i = (uint32_t)((rip ^ depth) * 0x9e3779b97f4a7c15 >> 48);

	while (counts[i].rip != 0 &&
	    (counts[i].rip != rip || counts[i].depth != depth))
		i = (i + 1) % COUNTS;
	counts[i].rip = rip;
	counts[i].depth = depth;
	return ++counts[i].n;
}

static struct point *
append(struct trace *t, struct point at)
{
	if (t->n == t->room) {
		t->room = t->room == 0 ? 4096 : 2 * t->room;
		t->at = realloc(t->at, t->room * sizeof(*t->at));
		if (t->at == NULL)
			bail_out("out of memory");
	}
	t->at[t->n] = at;
	return &t->at[t->n++];
}

static bool
record(struct trial *p, pid_t pid, struct trace *t)
{
	struct spot at;
	uint64_t top, hash, last;
	struct state_hash sight = { 0 };
	uint32_t why = AT_BEGIN;
	bool lived = true, looks;

	t->late = late_sleep_make();
	if (!tracee_spot(p, pid, &at))
		return false;
	top = at.rsp;
	memset(counts, 0, sizeof(counts));
	state_hash_find(p, &sight);
	hash = last = state_hash_now(&sight);
	t->states = 1;
	for (uint32_t i = 0;; i++) {
		uint32_t depth = (uint32_t)(top - at.rsp);
		struct point here = { at.rip, depth, count(at.rip, depth), i,
		    why, t->late };

		if (hash != last) {
			here.why |= AT_CHANGE;
			t->states++;
			t->at[t->n - 1].why |= AT_VERGE;
		}
		last = hash;
		if (at.rip == end_rip()) {
			here.why |= AT_END;
			(void)append(t, here);
			t->instructions = i;
			break;
		}
		why = 0;
		/* syscall is 0f 05 */
		if (memcmp((const void *)(uintptr_t)at.rip, "\x0f\x05", 2) ==
		    0) {
			looks = system_call_looks(pid);
			here.why |= looks ? AT_LOOK : AT_ENTER;
			why = looks ? AT_LOOK : AT_RETURN;
			late_sleep_note(t->late, pid, !be_late);
		}
		(void)append(t, here);
		if (i == INSTRUCTIONS_MAX) {
			blame(p, "more than %u instructions", i);
			lived = false;
			break;
		}
		lived =
		    is_stepped_over(at.rip) ? step_over(p, pid, &at)
					    : tracee_step(p, pid, &at);
		if (!lived)
			break;
		if (why == AT_RETURN)
			state_hash_find(p, &sight);
		hash = state_hash_now(&sight);
	}
	state_hash_end(&sight);
	return lived;
}

/* Both to the processor that this one is on; *before: where they could be. */
static void
share_cpu(pid_t pid, cpu_set_t *before)
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

static void
part_cpu(pid_t pid, const cpu_set_t *before)
{
	if (CPU_COUNT(before) == 0)
		return;
	(void)sched_setaffinity(0, sizeof(*before), before);
	(void)sched_setaffinity(pid, sizeof(*before), before);
}

/* True if that point, or one for a better reason, is in the first n of t. */
static bool
known(const struct trace *t, size_t n, const struct point *at)
{
	uint32_t reasons = at->why == AT_LOOK ? ~0u : ~AT_LOOK;

	for (size_t i = 0; i < n; i++)
		if (t->at[i].rip == at->rip && t->at[i].depth == at->depth &&
		    t->at[i].occ == at->occ && (t->at[i].why & reasons) != 0)
			return true;
	return false;
}

bool
trace_record(struct trial *p, pid_t pid, struct trace *t)
{
	struct trace now = { 0 };
	cpu_set_t before;
	bool lived;
	size_t n = t->n;

	tracee_watch(pid);
	share_cpu(pid, &before);
	lived = record(p, pid, &now);
	part_cpu(pid, &before);
	trial_watch(0);
	if (n == 0) {
		*t = now;
		return lived;
	}
	/* one of them met with a hitch, and went round and round: full speed
	 * will not */
	if (lived && now.instructions < t->instructions / 2) {
		trace_free(t);
		*t = now;
		return lived;
	}
	if (now.instructions / 2 > t->instructions) {
		trace_free(&now);
		return lived;
	}
	for (size_t i = 0; lived && i < now.n; i++)
		if (now.at[i].why != 0 && !known(t, n, &now.at[i]))
			(void)append(t, now.at[i]);
	now.late->next = t->late;	/* points lead there */
	t->late = now.late;
	now.late = NULL;
	trace_free(&now);
	return lived;
}

void
trace_free(struct trace *t)
{
	free(t->at);
	late_sleep_free(t->late);
	memset(t, 0, sizeof(*t));
}

/* To the next breakpoint; what was a late sleep is one. */
static bool
run_late(struct trial *p, pid_t pid, const struct late_sleep *l, size_t *nth)
{
	bool inside = false;

	while (tracee_resume(p, pid, PTRACE_SYSCALL)) {
		if (!tracee_at_call())
			return true;
		inside = !inside;
		if (inside)
			late_sleep_hold(l, nth, pid);
	}
	return false;
}

static enum trace_end
run_to(struct trial *p, pid_t pid, const struct point *point, enum pace pace)
{
	struct spot at;
	uint64_t top;
	uint32_t met = 0;
	size_t nth = 0;
	bool lived;

	if (!tracee_spot(p, pid, &at))
		return TRACE_DIED;
	top = at.rsp;
	if (pace == PACE_SLOW || (point->why & AT_BEGIN))
		met = at.rip == point->rip;
	while (met < point->occ) {
		if (pace != PACE_SLOW) {
			lived = (pace == PACE_LATE ?
			    run_late(p, pid, point->late, &nth) :
			    tracee_resume(p, pid, PTRACE_CONT)) &&
			    tracee_spot(p, pid, &at);
		} else if (is_stepped_over(at.rip)) {
			lived = step_over(p, pid, &at);
		} else {
			lived = tracee_step(p, pid, &at);
		}
		if (!lived)
			return TRACE_DIED;
		if (atomic_load(&p->met))
			return TRACE_EARLY;
		if (at.rip == point->rip &&
		    (uint32_t)(top - at.rsp) == point->depth)
			met++;
		if (at.rip == end_rip() && met < point->occ)
			return TRACE_EARLY;
	}
	return TRACE_AT;
}

enum trace_end
trace_run_to(struct trial *p, pid_t pid, const struct point *at, enum pace pace)
{
	enum trace_end end;

	tracee_watch(pid);
	if (pace != PACE_SLOW)
		(void)breakpoint_set(pid, at->rip, at->rip == end_rip() ? 0 :
		    end_rip());
	end = run_to(p, pid, at, pace);
	(void)breakpoint_set(pid, 0, 0);
	trial_watch(0);
	return end;
}

void
trace_be_late(bool late)
{
	be_late = late;
}

void
trace_let_go(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

const char *
trace_place(const struct point *at, char *buf, size_t size)
{
	size_t len;

	symbol_name(at->rip, buf, size);
	len = strlen(buf);
	if (at->occ > 1 && len < size)
		snprintf(buf + len, size - len, " (time %u)", at->occ);
	return buf;
}
