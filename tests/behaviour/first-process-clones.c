/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, base/process.c: process 1 of a pid namespace (as in a
 * container) makes a child that shares its memory and is process 1 of a nested
 * one.  Numbers of processes mean others there, so the child declares nobody
 * dead by them.
 *
 * Otherwise it would take the key of a living holder.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NO_NAMESPACE 42
#define STACK_LEN 262144

static struct shared {
	struct t_event holds, asked;
	int number, error, verified;
} *sh;
static const char *table;
static struct lh *lh;

static int
hold(void *arg)
{
	struct lh *own = t_open(table);
	struct lh_lease l;

	(void)arg;
	if (t_acquire(own, "k", 3600000, 0, &l) != 0)
		return 1;
	t_post(&sh->holds);
	(void)t_await(&sh->asked, 1, T_HANG_MS);
	sh->verified = lh_verify(own, &l);
	return 0;
}

/* In the memory of process 1, and in a namespace of its own. */
static int
ask(void *arg)
{
	struct lh_lease l;

	(void)arg;
	sh->number = getpid();
	sh->error = t_acquire(lh, "k", 1000, 300, &l);
	return 0;
}

/* Process 1 of a namespace, with a /proc that shows it. */
static __attribute__((noreturn)) void
be_first(void)
{
	static char stack[STACK_LEN] __attribute__((aligned(16)));
	pid_t holder, pid;

	t_child_begin();
	if (mount("proc", "/proc", "proc", 0, NULL) != 0)
		t_child_exit(NO_NAMESPACE);
	holder = fork();
	if (holder == 0)
		_exit(hold(NULL));
	if (!t_await(&sh->holds, 1, T_HANG_MS))
		t_child_exit(1);
	lh = t_open(table);
	pid = clone(ask, stack + sizeof(stack), CLONE_VM | CLONE_VFORK |
	    CLONE_NEWPID | SIGCHLD, NULL);
	if (pid < 0)
		t_child_exit(NO_NAMESPACE);
	(void)waitpid(pid, NULL, 0);
	t_post(&sh->asked);
	(void)waitpid(holder, NULL, 0);
	t_child_exit(0);
}

static int
enter(void *arg)
{
	pid_t pid;

	(void)arg;
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return NO_NAMESPACE;
	pid = fork();	/* not t_fork(): its parent has no number there */
	if (pid == 0)
		be_first();
	return t_reap(pid, T_HANG_MS * 3);
}

int
main(void)
{
	int status;

	if (geteuid() != 0)
		skip_all("only root makes a pid namespace");
	table = t_table();
	sh = t_shared(sizeof(*sh));
	sh->verified = 1;
	status = t_reap(t_fork(enter, NULL), T_HANG_MS * 4);
	if (status == NO_NAMESPACE)
		skip_all("no pid namespaces here");
	is(status, 0, "process 1 of a namespace");
	is(sh->number, 1, "its child is process 1 of another");
	is(sh->error, -ETIMEDOUT, "and is not granted the key");
	is(sh->verified, 0, "of a holder that lives");
	return done();
}
