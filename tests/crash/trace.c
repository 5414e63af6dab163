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
 * `step --thorough` and --full record by PTRACE_SINGLESTEP from marker to
 * marker; without these places.c does, which costs a tenth.  Before each
 * instruction the shared memory is hashed; an instruction after which the hash
 * differs has changed it, and everything between two changes is, to everybody
 * else, one and the same state.  System calls count as changes on both sides,
 * since the kernel's state (locks on bytes, sleepers, names) is in no hash; all
 * but those that only look (system_call.c).
 *
 * Coming back to a point in another run: approach.c.
 *
 * The vDSO's clocks are stepped over, and functions of libraries, unless every
 * instruction is wanted: step_over.c.
 *
 * While it is recorded, the process shares a processor with the director: they
 * take turns, and to wake somebody elsewhere takes longer than all that happens
 * in a step.  All other threads stay where they are.
 *
 * Only the thread that called trace_start()'s functions is traced: stopped
 * alone when it stops, and its process's other threads run on.  SIGKILL ends
 * all.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "crash/breakpoint.h"
#include "crash/scenario.h"
#include "crash/places.h"
#include "crash/recording.h"
#include "crash/step_over.h"
#include "crash/system_call.h"
#include "crash/tracee.h"
#include "crash/symbol.h"
#include "crash/trace.h"
#include "tap.h"

#define INSTRUCTIONS_MAX 4000000u
#define STAGING_MS 30000
#define SYSCALL "\x0f\x05"	/* the instruction */
#define SYSCALL_LEN 2

static bool be_late;

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

uint64_t
trace_end_rip(void)
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

struct point *
recording_note(struct recording *r, uint64_t rip, uint64_t rsp)
{
	uint32_t depth = (uint32_t)(r->top - rsp);
	struct point here = { rip, depth, count(rip, depth), (uint32_t)r->t->n,
	    r->why, r->t->late };
	uint64_t hash = state_hash_now(&r->sight);

	/* (somebody else may change it before the first) */
	if (hash != r->last && r->t->n > 0) {
		here.why |= AT_CHANGE;
		r->t->states++;
		r->t->at[r->t->n - 1].why |= AT_VERGE;
	}
	r->last = hash;
	r->why = 0;
	return append(r->t, here);
}

void
recording_note_call(struct recording *r, struct point *here)
{
	bool looks = system_call_looks(r->pid);

	here->why |= looks ? AT_LOOK : AT_ENTER;
	r->why = looks ? AT_LOOK : AT_RETURN;
	late_sleep_note(r->t->late, r->pid, !be_late);
}

/* Through a function of a library, from one system call to the next. */
static bool
record_library(struct recording *r, struct spot *at)
{
	uint64_t function = at->rip, inside = at->rsp;
	uint64_t back = (uint64_t)ptrace(PTRACE_PEEKDATA, r->pid, inside, NULL);
	bool changes = false;

	do {
		if (!breakpoint_set(r->pid, back, trace_end_rip()) ||
		    !tracee_resume(r->p, r->pid, PTRACE_SYSCALL) ||
		    !tracee_spot(r->p, r->pid, at))
			return false;
		changes = changes || state_hash_now(&r->sight) != r->last;
		if (!tracee_at_call())
			continue;
		recording_note_call(r, recording_note(r, at->rip - SYSCALL_LEN,
		    at->rsp));
		/* its other threads do not wait for it at a breakpoint */
		if (!breakpoint_set(r->pid, 0, 0) ||
		    !tracee_resume(r->p, r->pid, PTRACE_SYSCALL) ||
		    !tracee_spot(r->p, r->pid, at))
			return false;
		state_hash_find(r->p, &r->sight);
		(void)recording_note(r, at->rip, at->rsp);
	} while (at->rip != trace_end_rip() &&
	    (at->rip != back || at->rsp <= inside));
	if (changes && step_over_never(function))
		r->t->hides = true;
	return breakpoint_set(r->pid, 0, 0);
}

/* On to the next instruction that is to be noted; it was at `from` before. */
static bool
record_next(struct recording *r, uint64_t from, struct spot *at)
{
	if (step_over_is_clock(at->rip))
		return step_over_call(r->p, r->pid, at);
	if (!be_late && !r->p->full && step_over_is_library(r->pid, from, at))
		return record_library(r, at);
	return tracee_step(r->p, r->pid, at);
}

void
recording_end(struct recording *r, struct point *last)
{
	last->why |= AT_END;
	r->t->instructions = last->index;
}

/* Instruction by instruction. */
static bool
step_through(struct recording *r, struct spot at)
{
	uint64_t from = 0, here;
	struct point *point;
	bool lived = true;

	while (lived) {
		point = recording_note(r, at.rip, at.rsp);
		if (at.rip == trace_end_rip()) {
			recording_end(r, point);
			break;
		}
		if (point->index == INSTRUCTIONS_MAX) {
			blame(r->p, "more than %u instructions", point->index);
			return false;
		}
		if (memcmp((const void *)(uintptr_t)at.rip, SYSCALL,
		    SYSCALL_LEN) == 0)
			recording_note_call(r, point);
		here = at.rip;
		lived = record_next(r, from, &at);
		from = here;
		if (r->why == AT_RETURN)
			state_hash_find(r->p, &r->sight);
	}
	return lived;
}

static bool
record(struct trial *p, pid_t pid, struct trace *t)
{
	struct recording r = { .p = p, .pid = pid, .t = t, .why = AT_BEGIN };
	struct spot at;
	bool lived;

	t->late = late_sleep_make();
	if (!tracee_spot(p, pid, &at))
		return false;
	r.top = at.rsp;
	memset(counts, 0, sizeof(counts));
	state_hash_find(p, &r.sight);
	r.last = state_hash_now(&r.sight);
	t->states = 1;
	if (!be_late && places_usable(p, pid))
		lived = places_record(&r, at);
	else
		lived = step_through(&r, at);
	state_hash_end(&r.sight);
	return lived;
}

bool
trace_has(const struct trace *t, size_t n, const struct point *at)
{
	uint32_t reasons = at->why == AT_LOOK ? ~0u : ~AT_LOOK;

	for (size_t i = 0; i < n; i++)
		if (t->at[i].rip == at->rip && t->at[i].depth == at->depth &&
		    t->at[i].occ == at->occ && (t->at[i].why & reasons) != 0)
			return true;
	return false;
}

void
trace_add(struct trace *t, const struct trace *other, size_t n)
{
	size_t own = t->n;

	for (size_t i = 0; i < n; i++)
		if (other->at[i].why != 0 && !trace_has(t, own, &other->at[i]))
			(void)append(t, other->at[i]);
}

bool
trace_record(struct trial *p, pid_t pid, struct trace *t)
{
	cpu_set_t before;
	bool lived;

	tracee_watch(pid);
	tracee_share_cpu(pid, &before);
	lived = record(p, pid, t);
	tracee_part_cpu(pid, &before);
	trial_watch(0);
	return lived;
}

void
trace_merge(struct trace *t, struct trace *now)
{
	/* one of them met with a hitch, and went round and round: full speed
	 * will not */
	if (t->n == 0 || now->instructions < t->instructions / 2) {
		trace_free(t);
		*t = *now;
		return;
	}
	t->hides = t->hides || now->hides;
	if (now->instructions / 2 > t->instructions) {
		trace_free(now);
		return;
	}
	trace_add(t, now, now->n);
	now->late->next = t->late;	/* points lead there */
	t->late = now->late;
	now->late = NULL;
	trace_free(now);
}

void
trace_free(struct trace *t)
{
	free(t->at);
	late_sleep_free(t->late);
	memset(t, 0, sizeof(*t));
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
