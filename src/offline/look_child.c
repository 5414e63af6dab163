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
 * So a child looks, and is killed if it makes no step for STUCK_MS.  It has no
 * descriptor of this process, so nothing of a table depends on whether it ends:
 * no lock, and no reader of its output.  (What maps a live file is not copied
 * into a child: prim/bytelock.h.)
 *
 * Then another child begins anew.  It learns where the first one was stuck, and
 * does not look there in the same way (lhi_look_times_stuck()).  Processes that
 * move in and out of execve(2) all the time can stop one child after the other.
 * So there are CHILDREN_MAX of them, within the caller's limit.
 *
 * This process reads nothing that can wait.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
#define REAP_TRIES 10		/* of a child that was killed */

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

/* Begins a child.  Returns its pid, or -errno. */
static pid_t
begin_child(struct look *l, void (*fn)(void *result))
{
	sigset_t all, before;
	pid_t pid;

	/* no handler of the program runs in the child */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		closefrom(0);
		ours = l;
		fn(l->result);
		atomic_store(&l->done, true);
		_exit(0);
	}
	pid = pid < 0 ? -errno : pid;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* True if the child has ended.  (The program may have waited for it.) */
static bool
has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

/* Waits until the child has ended, is stuck, or the time is up.  Then kills it.
 * One that does not end by that is left to itself. */
static void
wait_for_child(const struct look *l, pid_t pid, int64_t until_ns)
{
	struct timespec pause = { 0, PAUSE_MIN_NS };
	int64_t now = now_ns(), moved = now;
	unsigned long steps = 0, next;

	/* ends: at the latest at until_ns */
	while (now < until_ns && now < moved + STUCK_MS * NS_PER_MS) {
		if (has_ended(pid))
			return;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
		next = atomic_load(&l->steps);
		now = now_ns();
		if (next != steps)
			moved = now;
		steps = next;
	}
	(void)kill(pid, SIGKILL);
	for (int i = 0; i < REAP_TRIES && !has_ended(pid); i++)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* Looks by one child after the other.  Returns as lhi_look_apart(). */
static int
look(struct look *l, void (*fn)(void *result), const void *begin, size_t len,
    int64_t until_ns)
{
	pid_t pid;

	for (int i = 0; i < CHILDREN_MAX && now_ns() < until_ns; i++) {
		memcpy(l->result, begin, len);
		atomic_store(&l->at, 0);
		pid = begin_child(l, fn);
		if (pid < 0)
			return pid;
		wait_for_child(l, pid, until_ns);
		if (atomic_load(&l->done))
			return 0;
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
	*at = atomic_load(&l->at);
	(void)munmap(l, sizeof(*l) + len);
	return error;
}
