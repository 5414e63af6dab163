/* SPDX-License-Identifier: MIT */
/*
 * Other processes: children that end with the test, and what they and their
 * parent tell each other through shared memory.
 *
 * A child is killed when the thread that forked it ends (PDEATHSIG): a failing
 * test leaves no process behind, not even a stopped one.  So fork from the
 * main thread, or from one that stays.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A counter that can be waited for; zeroed memory is a valid one. */
struct t_event {
	_Atomic uint32_t count;
};

void t_post(struct t_event *ev);

/* Until it was posted so often in all; false after ms. */
bool t_await(struct t_event *ev, uint32_t count, int64_t ms);

/* Zeroed memory that children share; bail out if there is none. */
void *t_shared(size_t size);

/* A child that runs fn and exits with its result, or 1 if a check failed. */
pid_t t_fork(int (*fn)(void *arg), void *arg);

/* How fork()ed code that did not come from t_fork() should begin and end:
 * dying with the parent, without leak checks of what was inherited; telling
 * coverage. */
void t_child_begin(void);
void t_child_exit(int status) __attribute__((noreturn));

/* Its end: exit status, 256 + signal, or -ETIMEDOUT (it is killed then). */
int t_reap(pid_t pid, int64_t ms);

/* SIGKILL, and gone when this returns. */
/* Sends a signal to one process; refuses what would be all (-1), or a group. */
int t_signal(pid_t pid, int sig);

void t_kill(pid_t pid);

/* SIGSTOP, and stopped when this returns. */
void t_stop(pid_t pid);
void t_cont(pid_t pid);

/*
 * Runs fn() in a process that has a file system of memory of its own somewhere.
 * It begins with t_mount(), and returns T_NO_MOUNT if that is false.  The test
 * is skipped where the mount is refused (to all but root).
 */
#define T_NO_MOUNT 42
bool t_mount(const char *where, const char *options);
void t_small_world(int (*fn)(void *arg), void *arg, int64_t ms);

/* Threads that need no more than this; bail out if none can be made. */
typedef void *t_thread_fn(void *arg);
unsigned long t_thread(t_thread_fn *fn, void *arg);
void *t_join(unsigned long thread);

/* In another thread, and done when this returns. */
void t_aside(t_thread_fn *fn);

/* The next process or thread of this pid namespace gets that number.  False
 * without the right to choose it. */
bool t_set_next_pid(pid_t pid);

#endif
