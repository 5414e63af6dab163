/* SPDX-License-Identifier: MIT */
/*
 * A process counts as in the middle of execve(2) only if its memory is all
 * stack and it cannot run (base/procstatus.h).  Otherwise a job that brings its
 * memory into that state could hide its sign of life in another thread, and be
 * declared dead while it lives.  More than `status` is not asked of a process
 * that may be in it.
 */
#include <unistd.h>
#include "base/procstatus.h"
#include "support/support.h"
#include "tap.h"

int
main(void)
{
	const struct lhi_procstatus in_exec = { .state = 'S', .threads = 1,
		.has_memory = true, .memory_kb = 4, .stack_kb = 4 };
	struct lhi_procstatus s = in_exec, later;

	ok(lhi_procstatus_is_in_exec(&s), "all memory is stack");
	s.threads = 2;
	ok(!lhi_procstatus_is_in_exec(&s), "not with another thread");
	s = in_exec;
	s.state = 'R';
	ok(!lhi_procstatus_is_in_exec(&s), "nor one that runs");
	s = in_exec;
	s.memory_kb = 8;
	ok(!lhi_procstatus_is_in_exec(&s), "nor with other memory");
	s = in_exec;
	s.data_kb = 4;
	ok(!lhi_procstatus_is_in_exec(&s), "nor with data");
	s = in_exec;
	s.has_memory = false;
	ok(!lhi_procstatus_is_in_exec(&s), "nor one without memory");

	s = in_exec;
	s.memory_kb = 8;
	s.state = 'D';
	ok(lhi_procstatus_may_stall(&s), "in state D its stat may not answer");
	s.threads = 2;
	ok(!lhi_procstatus_may_stall(&s), "but with another thread it does");
	s.threads = 1;
	s.has_memory = false;
	ok(!lhi_procstatus_may_stall(&s), "or without memory");
	ok(lhi_procstatus_read(getpid(), &s), "ours can be read");
	is(s.state, 'R', "  we run");
	cmp(s.threads, >=, 1, "  a thread at least (qemu has its own)");
	is(s.uid[0], getuid(), "  of that user");
	is(s.uid[1], geteuid(), "  and that one");
	ok(s.has_memory && s.memory_kb > s.stack_kb && s.data_kb > 0,
	    "  with memory");
	ok(!lhi_procstatus_is_in_exec(&s), "  not in execve(2)");
	ok(!lhi_procstatus_may_stall(&s), "  and our stat answers");
	t_sleep_ms(20);
	ok(lhi_procstatus_read(getpid(), &later), "again");
	cmp(later.switches, >, s.switches, "  it has slept meanwhile");
	ok(!lhi_procstatus_read(-1, &s), "no such process");
	return done();
}
