/* SPDX-License-Identifier: MIT */
/*
 * Looks at processes in a child, so that none of them can make the look
 * endless.
 *
 * Some files in /proc do not answer while their process is in the middle of
 * execve(2): which ones depends on the kernel.  That call closes descriptors,
 * and any user can have one whose file system never answers (FUSE).  So a look
 * may wait for as long as a stranger likes.  It can be killed meanwhile.  Not
 * even that is certain of a look that copied such a descriptor and closes it.
 *
 * So a child looks, and is killed if it makes no step for STUCK_MS.  It closes
 * all descriptors first, so nobody depends on whether it ends: no lock, and no
 * reader of its output.  (What maps a live file is not copied into a child:
 * prim/bytelock.h.  If a descriptor of the program's itself never answers to
 * close(2), the child may keep some.  So the locks of a repair are unlocked,
 * not only closed.)
 *
 * Then another child begins anew.  It learns where the first one was stuck, and
 * does not look there in the same way (lhi_look_times_stuck()).  Processes that
 * move in and out of execve(2) all the time can stop one child after the other.
 * So there are CHILDREN_MAX of them, within the caller's limit.
 *
 * A program's own handlers of fork() run.  So a program must not call a repair
 * with what they need; lh_open() makes no child.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bsd/unistd.h>
#include "base/clock.h"
#include "offline/look_child.h"

#define STUCK_MS 3000
#define CHILDREN_MAX 9
#define PAUSE_MIN_NS 50000	/* between two questions whether it has ended */
#define PAUSE_MAX_NS 3000000
#define REAP_TRIES 300		/* of a child that was killed: a second */

/* Shared with the child. */
struct look {
	_Atomic unsigned long steps;
	_Atomic pid_t at;
	_Atomic bool done;
	unsigned n_stuck;		/* earlier children were */
	pid_t stuck[CHILDREN_MAX];
	_Alignas(16) unsigned char result[];
};

static struct look *ours;	/* in the child alone */

static int64_t
now_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

void
lhi_look_step(void)
{
	if (ours != NULL)
		atomic_fetch_add(&ours->steps, 1);
}

void
lhi_look_at(pid_t pid)
{
	if (ours != NULL)
		atomic_store(&ours->at, pid);
	lhi_look_step();
}

unsigned
lhi_look_times_stuck(pid_t pid)
{
	unsigned n = 0;

	for (unsigned i = 0; ours != NULL && i < ours->n_stuck; i++)
		n += ours->stuck[i] == pid;
	return n;
}

/* A child, and its pidfd; -1: the kernel has none. */
struct child {
	pid_t pid;
	int process;
};

/* Begins a child.  Returns 0; -errno. */
static int
begin_child(struct child *c, struct look *l, void (*fn)(void *result))
{
	sigset_t all, before;
	pid_t pid, parent = getpid();

	/* no handler of the program runs in the child */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		closefrom(0);
		ours = l;
		fn(l->result);
		atomic_store(&l->done, true);
		_exit(0);
	}
	c->pid = pid < 0 ? -errno : pid;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	c->process = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	return pid < 0 ? c->pid : 0;
}

/* (the program may have waited for it, and its number be another's) */
static void
kill_child(const struct child *c)
{
	if (c->process >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->process, SIGKILL, NULL,
		    0);
	else
		(void)kill(c->pid, SIGKILL);
}

/* True if the child has ended.  (The program may have waited for it.) */
static bool
has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

/* Waits until the child has ended, is stuck, or the time is up.  Then kills it,
 * and returns true.  One that does not end by that is left to itself. */
static bool
wait_for_child(const struct look *l, const struct child *c, int64_t until_ns)
{
	struct timespec pause = { 0, PAUSE_MIN_NS };
	int64_t now = now_ns(), moved = now;
	unsigned long steps = 0, next;

	/* ends: at the latest at until_ns */
	while (now < until_ns && now < moved + STUCK_MS * NS_PER_MS) {
		if (has_ended(c->pid))
			return false;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
		next = atomic_load(&l->steps);
		now = now_ns();
		if (next != steps)
			moved = now;
		steps = next;
	}
	if (has_ended(c->pid))
		return false;
	kill_child(c);
	for (int i = 0; i < REAP_TRIES && !has_ended(c->pid); i++)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return true;
}

/* Looks by one child after the other.  Returns as lhi_look_apart(). */
static int
look(struct look *l, void (*fn)(void *result), const void *begin, size_t len,
    int64_t until_ns)
{
	struct child c;
	bool killed;
	int error;

	for (int i = 0; i < CHILDREN_MAX && now_ns() < until_ns; i++) {
		memcpy(l->result, begin, len);
		atomic_store(&l->at, 0);
		error = begin_child(&c, l, fn);
		if (error != 0)
			return error;
		killed = wait_for_child(l, &c, until_ns);
		if (c.process >= 0)
			(void)close(c.process);
		if (atomic_load(&l->done))
			return 0;
		/* (one whose time was up, or that was killed by another
		 * process, need not have been stuck) */
		if (killed && now_ns() < until_ns)
			l->stuck[l->n_stuck++] = atomic_load(&l->at);
	}
	return -ETIMEDOUT;
}

int
lhi_look_apart(void (*fn)(void *result), void *result, size_t len,
    int limit_ms, pid_t *at)
{
	struct look *l = mmap(NULL, sizeof(*l) + len, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error;

	*at = 0;
	if (l == MAP_FAILED)
		return -errno;
	error = look(l, fn, result, len, now_ns() + limit_ms * NS_PER_MS);
	if (error == 0)
		memcpy(result, l->result, len);
	*at = l->n_stuck > 0 ? l->stuck[l->n_stuck - 1] : 0;
	(void)munmap(l, sizeof(*l) + len);
	return error;
}
