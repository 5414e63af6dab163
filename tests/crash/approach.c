/* SPDX-License-Identifier: MIT */
/*
 * Runs an operation again, to a point that was recorded (trace.c).
 *
 * Instructions cannot be counted, because runs differ by a retry or by a second
 * look at the clock.  A point is an address, the depth of the stack, and how
 * often the two were met: "the third time at lh_release+0x40".  A breakpoint
 * (breakpoint.c) stops the process there at full speed, so that it meets the
 * spans of time that it would meet in use.
 *
 * A run that misses its point is repeated in other ways, in this order:
 *
 *	PACE_TICK	it is stopped on the way until the coarse clock has
 *			ticked, because the recorded run had met with a tick
 *	PACE_LATE	it is late for the sleeps that the recorded run was late
 *			for (late_sleep.c): by breakpoints, with a stop at each
 *			system call
 *	PACE_SLOW	it is stepped, as the recorded run was
 */
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include "crash/breakpoint.h"
#include "crash/step_over.h"
#include "crash/trace.h"
#include "crash/tracee.h"

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

/* The process stands still until the coarse clock has ticked. */
static void
await_tick(void)
{
	struct timespec tick = { 0 };

	(void)clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	trial_nap_us(tick.tv_nsec / 1000 + 1000);
}

/* It has met the point so often, and the stack began at top. */
static enum trace_end
run_to(struct trial *p, pid_t pid, const struct point *point, enum pace pace,
    uint32_t met, uint64_t top)
{
	struct spot at;
	size_t nth = 0;
	bool lived;

	if (!tracee_spot(p, pid, &at))
		return TRACE_DIED;
	if (pace == PACE_SLOW || (point->why & AT_BEGIN))
		met = at.rip == point->rip;
	while (met < point->occ) {
		if (pace != PACE_SLOW) {
			lived = (pace == PACE_LATE ?
			    run_late(p, pid, point->late, &nth) :
			    tracee_resume(p, pid, PTRACE_CONT)) &&
			    tracee_spot(p, pid, &at);
		} else if (step_over_is_clock(at.rip)) {
			lived = step_over_call(p, pid, &at);
		} else {
			late_sleep_follow(point->late, &nth, pid, at.rip);
			lived = tracee_step(p, pid, &at);
		}
		if (!lived)
			return TRACE_DIED;
		if (atomic_load(&p->met))
			return TRACE_EARLY;
		if (at.rip == point->rip &&
		    (uint32_t)(top - at.rsp) == point->depth)
			met++;
		if (at.rip == trace_end_rip() && met < point->occ)
			return TRACE_EARLY;
	}
	return TRACE_AT;
}

static enum trace_end
run_to_breakpoint(struct trial *p, pid_t pid, const struct point *at,
    enum pace pace, uint32_t met, uint64_t top)
{
	uint64_t end = trace_end_rip();

	(void)breakpoint_set(pid, at->rip, at->rip == end ? 0 : end);
	return run_to(p, pid, at, pace, met, top);
}

enum trace_end
trace_run_to(struct trial *p, pid_t pid, const struct point *at,
    struct approach how)
{
	enum trace_end end = TRACE_AT;
	cpu_set_t before;
	struct spot begin;

	if (!tracee_spot(p, pid, &begin))
		return TRACE_DIED;
	tracee_watch(pid);
	if (how.pace == PACE_SLOW) {
		tracee_share_cpu(pid, &before);
		end = run_to(p, pid, at, how.pace, 0, begin.rsp);
		tracee_part_cpu(pid, &before);
	} else {
		if (how.pace == PACE_TICK && how.via != NULL)
			end = run_to_breakpoint(p, pid, how.via, PACE_QUICK, 0,
			    begin.rsp);
		if (how.pace == PACE_TICK)
			await_tick();
		if (end == TRACE_AT)
			end = run_to_breakpoint(p, pid, at, how.pace, how.met,
			    begin.rsp);
	}
	(void)breakpoint_set(pid, 0, 0);
	trial_watch(0);
	return end;
}

struct approach
trace_by_way(const struct trace *t, size_t via, size_t i)
{
	struct approach how = { PACE_TICK, &t->at[via], 0 };

	for (size_t k = 0; k <= via; k++)
		if (t->at[k].rip == t->at[i].rip &&
		    t->at[k].depth == t->at[i].depth)
			how.met = t->at[k].occ;
	return how;
}
