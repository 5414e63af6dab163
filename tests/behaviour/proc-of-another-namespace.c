/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G12, base/process.c: a process enters a mount namespace
 * whose /proc is that of another pid namespace.  The files in there are about
 * other processes, and prove nothing of those that have the same numbers here:
 * neither that a process has ended, nor that the one that a session is bound to
 * has.  The same goes for the /proc of an outer namespace in which a process
 * happens to have the same number.
 *
 * Otherwise who chooses the numbers in a container, without access to the
 * table, would end the leases of living processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/process.h"
#include "base/procstat.h"
#include "prim/process_end.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NO_NAMESPACE 42
#define STACK_LEN 65536
#define FIRST_NUMBER 31011	/* free here and in a new namespace */

/* A pid namespace with its own /proc, in which a process of the number `pid`
 * lives, and `zombie` has ended. */
struct box {
	struct t_event ready;
	pid_t init, pid, zombie;	/* init: as seen from outside */
	bool made;
};

static struct box *box;
static const char *table;

static void
sit(void)
{
	for (;;)
		pause();
}

static int
stay(void *arg)
{
	(void)arg;
	sit();
	return 0;
}

static int
fill_box(void *arg)
{
	pid_t pid;

	(void)arg;
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return NO_NAMESPACE;
	pid = fork();	/* not t_fork(): its parent has no number there */
	if (pid != 0) {
		box->init = pid;
		sit();
	}
	t_child_begin();
	if (mount("proc", "/proc", "proc", 0, NULL) != 0)
		t_child_exit(NO_NAMESPACE);
	pid = fork();
	if (pid == 0)
		_exit(0);
	box->zombie = pid;
	(void)waitid(P_PID, (id_t)box->zombie, NULL, WEXITED | WNOWAIT);
	box->made = t_set_next_pid(box->pid);
	pid = fork();
	if (pid == 0)
		sit();
	box->made = box->made && pid == box->pid;
	t_post(&box->ready);
	sit();
	return 0;
}

static void
enter_box(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)box->init);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(fd >= 0 && setns(fd, CLONE_NEWNS) == 0, "another /proc");
	(void)close(fd);
}

static int
judge(void *arg)
{
	struct lhi_process_watch w = { 0 };
	struct lh *lh = t_open(table);
	struct lhi_procstat ps;
	struct lh_lease l;

	(void)arg;
	ok(lhi_process_counts_alike(), "its own /proc");
	is(t_acquire(lh, "k", 1000, 0, &l), -EAGAIN, "held by a session");
	enter_box();
	ok(!lhi_process_counts_alike(), "which counts otherwise");
	ok(lhi_procstat_read(box->zombie, box->zombie, &ps) &&
	    ps.state == 'Z', "it shows a process that has ended");
	ok(!lhi_process_has_ended(box->zombie, ps.start_ticks),
	    "which is not the one of that number here");
	ok(lhi_procstat_read(box->pid, 0, &ps), "and one that lives");
	lhi_process_watch_begin(&w, box->pid, ps.start_ticks);
	is(w.pid, 0, "which is not watched");
	is(t_acquire(lh, "k", 1000, 0, &l), -EAGAIN, "the session goes on");
	is(kill(box->pid, 0), 0, "as its process lives");
	t_close(lh);
	return 0;
}

/* A session that is bound to a process; a number that is used elsewhere. */
static void
entered(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh *lh = t_open(table);
	struct lh_session *s;
	struct lh_lease l;
	pid_t maker;

	box = t_shared(sizeof(*box));
	box->pid = t_fork(stay, NULL);
	so.pid = box->pid;
	so.ttl_ms = 0;			/* is ignored */
	is(lh_session_open(lh, "bound", &so, &s), 0, "a bound session");
	more.session = s;
	o.more = &more;
	is(lh_acquire(lh, "k", &o, &l), 0, "with a lease");
	t_sleep_ms(30);		/* start times are counted in 10 ms */
	maker = t_fork(fill_box, NULL);
	if (t_await(&box->ready, 1, T_HANG_MS / 4) && box->made)
		is(t_reap(t_fork(judge, NULL), T_HANG_MS), 0, "a judge");
	else
		diag("no pid namespace in which numbers can be chosen");
	if (box->init > 0)
		(void)kill(box->init, SIGKILL);
	t_kill(maker);
	t_kill(box->pid);
	lh_session_close(s);
	t_close(lh);
}

/* Forks; the child has number `inner` in the newest namespace, and `outer` in
 * that around it. */
static pid_t
fork_as(pid_t inner, pid_t outer)
{
	pid_t set[] = { inner, outer };
	struct clone_args args = { .exit_signal = SIGCHLD,
	    .set_tid = (uintptr_t)set, .set_tid_size = 2 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int
count_in_new(void *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	if (unshare(CLONE_NEWPID) != 0)
		return NO_NAMESPACE;
	pid = fork();	/* its first process */
	if (pid == 0)
		sit();
	for (int i = 0; i < 50; i++) {
		pid_t n = FIRST_NUMBER + i, one = fork_as(n, n);

		if (one == 0)
			_exit(lhi_process_counts_alike() ? 1 : 0);
		if (one < 0 && errno == EEXIST)
			continue;
		status = one < 0 ? NO_NAMESPACE : waitpid(one, &status, 0) !=
		    one || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
		(void)kill(pid, SIGKILL);
		return status;
	}
	return NO_NAMESPACE;
}

static int
number_of_namespace(void *arg)
{
	*(uint64_t *)arg = lhi_process_pid_ns();
	_exit(0);
}

/* A child that shares our memory, and so what we know of ourselves. */
static int
share_memory(void *arg)
{
	static char stack[STACK_LEN] __attribute__((aligned(16)));
	static uint64_t seen = 1;
	int status;
	pid_t pid;

	(void)arg;
	ok(lhi_process_pid_ns() != 0, "we know our pid namespace");
	pid = clone(number_of_namespace, stack + sizeof(stack), CLONE_VM |
	    CLONE_VFORK | CLONE_NEWPID | SIGCHLD, &seen);
	if (pid < 0)
		return NO_NAMESPACE;
	is(waitpid(pid, &status, 0), pid, "a child of another");
	is(seen, 0, "does not take ours for its own");
	return 0;
}

static void
run(int (*fn)(void *arg), const char *what)
{
	int status = t_reap(t_fork(fn, NULL), T_HANG_MS);

	if (status == NO_NAMESPACE)
		diag("%s: no pid namespace can be made here", what);
	else
		is(status, 0, "%s", what);
}

int
main(void)
{
	if (geteuid() != 0) {
		printf("1..0 # SKIP pid namespaces need root\n");
		return 0;
	}
	table = t_table();
	entered();
	run(count_in_new, "the same number in both namespaces");
	run(share_memory, "CLONE_VM into another namespace");
	return done();
}
