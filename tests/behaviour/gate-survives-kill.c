/* SPDX-License-Identifier: MIT */
/* test: slow 13 */
/*
 * Guarantees G4 and G5: a process that is killed or stopped at any instruction
 * of lh_gate_check() leaves a gate that everyone else can use, with marks that
 * never fall.  A child is stepped through a check of token 20 and stopped after
 * n instructions; the parent then checks, kills it, and checks again.
 *
 * Otherwise one crash would close the gate for ever, or let an older token
 * pass.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

/* Of so many instructions, evenly; LH_TEST_LONG: of each.  (In sanitizer builds
 * a check is 8,000.) */
#define POINTS (t_ms(1) > 1 ? 6 : 100)

static char path[] = "/tmp/leasehold-gate.XXXXXX";
static struct lh_gate *gate;

static void
start_over(uint32_t flags)
{
	unlink(path);
	if (lh_gate_open(&gate, path, NULL, flags) != 0 ||
	    lh_gate_check(gate, 10, LH_EXCLUSIVE) != 0)
		bail_out("no gate: %s", lh_error_detail());
}

/* Between two stops of its own; the first is where the steps begin. */
static void
victim(uint32_t mode)
{
	t_child_begin();
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
		_exit(2);
	raise(SIGSTOP);
	(void)lh_gate_check(gate, 20, mode);
	_exit(0);
}

/* At most n instructions of a child, which did *done: its pid, or 0 if it has
 * come to its end. */
static pid_t
stepped(uint32_t mode, int n, int *done)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		victim(mode);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		bail_out("the child cannot be traced");
	for (*done = 0; *done < n; ++*done) {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) != 0 ||
		    waitpid(pid, &status, 0) != pid)
			bail_out("cannot step: %s", strerror(errno));
		if (WIFEXITED(status))
			return 0;
	}
	return pid;
}

/* Marks that are neither the old nor the new ones; answers that are wrong. */
static int
wrong(uint32_t mode, bool seen)
{
	uint64_t mark[2];
	int n = 0;

	n += lh_gate_marks(gate, &mark[0], &mark[1]) != 0;
	n += mark[LH_EXCLUSIVE] != 10 &&
	    !(mode == LH_EXCLUSIVE && mark[LH_EXCLUSIVE] == 20);
	n += mark[LH_SHARED] != 0 && !(mode == LH_SHARED &&
	    mark[LH_SHARED] == 20);
	n += seen && mark[mode] != 20;
	n += lh_gate_check(gate, 9, LH_EXCLUSIVE) != -ESTALE;
	n += lh_gate_check(gate, 15, LH_EXCLUSIVE) !=
	    (mark[mode] == 20 ? -ESTALE : 0);
	return n;
}

static void
every_instruction(uint32_t mode, uint32_t flags, const char *what)
{
	int bad = 0, points = 0, all, stride, done;

	start_over(flags);
	if (stepped(mode, INT32_MAX, &all) != 0)
		bail_out("it does not end");
	lh_gate_close(gate);
	stride = getenv("LH_TEST_LONG") ? 1 : all / POINTS + 1;
	for (int n = 0; n < all; n += stride, points++) {
		pid_t pid;
		uint64_t mark[2];
		bool seen;

		start_over(flags);
		pid = stepped(mode, n, &done);
		if (pid == 0)
			break;
		seen = lh_gate_marks(gate, &mark[0], &mark[1]) == 0 &&
		    mark[mode] == 20;
		/* beside a stopped one */
		bad += lh_gate_check(gate, 10, LH_EXCLUSIVE) !=
		    (seen ? -ESTALE : 0);
		t_kill(pid);
		bad += wrong(mode, seen);
		bad += lh_gate_check(gate, 30, LH_EXCLUSIVE) != 0;
		lh_gate_close(gate);
	}
	cmp(points, >, POINTS / 2, "%s: stopped and killed at %d of %d "
	    "instructions", what, points, all);
	is(bad, 0, "%s: nothing wrong was seen", what);
}

/* Many at once, killed at random: the mark is never behind an answer. */
#define CROWD 4

static _Atomic uint64_t *told;

static int
climb(void *arg)
{
	uint64_t token = (uintptr_t)arg;

	for (;; token += CROWD) {
		uint64_t seen = atomic_load(told);

		if (lh_gate_check(gate, token, LH_EXCLUSIVE) == 0) {
			while (seen < token && !atomic_compare_exchange_weak(
			    told, &seen, token))
				;
		} else {
			token = seen + (uintptr_t)arg;
		}
	}
	return 0;
}

static void
at_random(void)
{
	int kills = t_count(40, 10), bad = 0;
	pid_t crowd[CROWD];

	start_over(0);
	told = t_shared(sizeof(*told));
	atomic_store(told, 100);
	for (uintptr_t i = 0; i < CROWD; i++)
		crowd[i] = t_fork(climb, (void *)(100 + i));
	for (int i = 0; i < kills; i++) {
		uint64_t before, mark;

		t_sleep_ms(2);
		t_kill(crowd[i % CROWD]);
		before = atomic_load(told);
		bad += lh_gate_marks(gate, &mark, NULL) != 0 || mark < before;
		crowd[i % CROWD] = t_fork(climb, (void *)(uintptr_t)
		    (100 + i % CROWD));
	}
	for (int i = 0; i < CROWD; i++)
		t_kill(crowd[i]);
	diag("%llu tokens", (unsigned long long)atomic_load(told));
	is(bad, 0, "no mark was behind an answer");
	(void)lh_gate_close(gate);
}

int
main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		bail_out("no file: %s", strerror(errno));
	close(fd);
	every_instruction(LH_EXCLUSIVE, 0, "a writer");
	every_instruction(LH_SHARED, 0, "a reader");
	every_instruction(LH_EXCLUSIVE, LH_GATE_DURABLE, "a durable one");
	at_random();
	unlink(path);
	return done();
}
