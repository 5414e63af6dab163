/* SPDX-License-Identifier: MIT */
/* test: slow 10 */
/* test: release: ASan's malloc() lock is not held over fork() */
/*
 * Guarantee G4, issue 21 A6: no fork hangs, nor its child, wherever it comes
 * from and whatever other threads do: thread exits, opening and closing, live
 * handles and waits.  Each child forks in turn, uses live handles and threads,
 * and ends; the parent goes on.  Otherwise a program that forks would stop for
 * ever, with signals blocked.
 *
 *	main thread	fork(), 60 times (3,000 in make check-all)
 *	live thread	fork() in each callback of an event
 *	fork handlers	of the application use the library
 *	two threads	posix_spawn(), vfork()
 *	signal handler	fork() in the middle of calls
 *	bare		a child that no fork handler has run for
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define DEPTH 3
#define HANG_MS t_ms(T_HANG_MS)

extern char **environ;

static const char *table;
static struct lh *lh;
static _Atomic bool stop;
static _Atomic int wrong, hung, event_forks, spawned, signal_forks;
static _Atomic int handler_calls, wanted_forks;
static _Thread_local bool in_handler;

/* The application's own: they call the library before and after each fork. */
static void
use_in_handler(void)
{
	struct lh_cancel c = LH_CANCEL_INIT;
	struct lh_lease l;

	if (lh == NULL || in_handler)
		return;
	in_handler = true;
	(void)lh_cancel(&c);
	if (t_acquire(lh, "handler", 60000, 0, &l) == 0)
		(void)lh_release(lh, &l);
	in_handler = false;
	handler_calls++;
}

__attribute__((constructor)) static void
register_handlers(void)
{
	(void)pthread_atfork(use_in_handler, use_in_handler, use_in_handler);
}

/* That child has ended well; if it hangs, its alarm ends it. */
static void
await(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		hung++;
	else if (pid < 0 || status != 0)
		wrong++;
}

static void *
hold_for_a_moment(void *arg)
{
	struct lh_lease l;

	return t_acquire(arg, "a thread's", 60000, HANG_MS, &l) == 0 &&
	    lh_release(arg, &l) == 0 ? NULL : arg;
}

/* A live handle, and a thread that comes and goes; what failed, or 0. */
static int
live_and_thread(struct lh *own)
{
	struct lh_acquire_opts a = t_opts(60000, HANG_MS);
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_lock *lock;
	pthread_t thread;
	void *bad;

	o.renew_ms = 1;
	if (lh_lock_open(own, "child's", &o, &lock) != 0 ||
	    lh_lock_acquire(lock, &a) != 0)
		return 3;
	if (pthread_create(&thread, NULL, hold_for_a_moment, own) != 0 ||
	    pthread_join(thread, &bad) != 0 || bad != NULL)
		return 4;
	return lh_lock_release(lock) != 0 || lh_lock_close(lock) != 0 ? 5 : 0;
}

/* The calls of each child and of its children. */
static void __attribute__((noreturn))
be_child(int depth, bool live)
{
	struct lh_lease l;
	struct lh *own;
	int bad;
	pid_t pid;

	(void)alarm((unsigned)(HANG_MS / 1000));
	hung = wrong = 0;
	if (lh_release(lh, &(struct lh_lease){ .opaque = 1 }) == 0)
		_exit(1);
	if (lh_open(&own, table, NULL) != 0)
		_exit(2);
	bad = live ? live_and_thread(own) : 0;
	if (bad == 0 && (t_acquire(own, "k", 60000, HANG_MS, &l) != 0 ||
	    lh_release(own, &l) != 0))
		bad = 6;
	pid = bad == 0 && depth > 1 ? fork() : -1;
	if (pid == 0)
		be_child(depth - 1, live);
	if (pid > 0)
		await(pid);
	if (bad == 0 && (hung + wrong != 0 || lh_close(own) != 0))
		bad = 7;
	_exit(bad);
}

static void *
acquire_and_release(void *arg)
{
	struct lh_lease l;

	while (!stop)
		wrong += t_acquire(lh, arg, 60000, HANG_MS, &l) != 0 ||
		    lh_release(lh, &l) != 0;
	return NULL;
}

static void *
open_and_close(void *arg)
{
	struct lh_key *k;
	struct lh *other;

	(void)arg;
	while (!stop) {
		other = t_open(table);
		wrong += lh_key_open(other, "opened", 0, &k) != 0 ||
		    lh_key_close(k) != 0 || lh_close(other) != 0;
	}
	return NULL;
}

static void *
begin_and_end_threads(void *arg)
{
	(void)arg;
	while (!stop)
		wrong += t_join(t_thread(hold_for_a_moment, lh)) != NULL;
	return NULL;
}

static void
fork_at_event(struct lh_lock *lock, const struct lh_event *e, void *arg)
{
	pid_t pid;

	(void)lock;
	(void)arg;
	if (e->what == LH_EVENT_WARNING)
		return;
	pid = fork();
	if (pid == 0)
		be_child(2, true);
	await(pid);
	event_forks++;
}

static void *
be_live(void *arg)
{
	struct lh_acquire_opts a = t_opts(60000, HANG_MS);
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_lock *lock;

	(void)arg;
	o.renew_ms = 1;
	o.event = fork_at_event;
	while (!stop) {
		wrong += lh_lock_open(lh, "live", &o, &lock) != 0 ||
		    lh_lock_acquire(lock, &a) != 0 ||
		    lh_lock_release(lock) != 0 || lh_lock_close(lock) != 0;
	}
	return NULL;
}

static void *
spawn(void *arg)
{
	char *args[] = { "true", NULL };
	pid_t pid;

	while (!stop) {
		if (arg != NULL) {
			if (posix_spawnp(&pid, args[0], NULL, NULL, args,
			    environ) != 0)
				pid = -1;
		} else {
			pid = vfork();
			if (pid == 0) {
				(void)execvp(args[0], args);
				_exit(127);
			}
		}
		await(pid);
		spawned++;
	}
	return NULL;
}

/* A child made here may only end: it is in the midst of something. */
static void
fork_at_signal(int sig)
{
	int saved = errno;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* they come faster than this is done where all is slow */
	if (++signal_forks >= wanted_forks)
		(void)signal(sig, SIG_IGN);
	errno = saved;
}

static void
block_signal(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(how, &set, NULL);
}

/* Opens and closes while signals come; alone in a process, because of libc's
 * own locks. */
static int
interrupted(void *arg)
{
	pid_t pid;

	wanted_forks = *(int *)arg;
	(void)signal(SIGUSR1, fork_at_signal);
	block_signal(SIG_UNBLOCK);
	pid = fork();
	if (pid == 0) {
		for (;;) {
			if (getppid() == 1 || kill(getppid(), SIGUSR1) != 0)
				_exit(0);
			t_nap();
		}
	}
	while (signal_forks < wanted_forks) {
		struct lh *own = t_open(table);

		(void)lh_close(own);
	}
	t_kill(pid);
	return tap_child_status();
}

/* As with _Fork(), or a fork() of another C library.  Such a child must not use
 * malloc(), whose locks a thread of the parent may have had. */
static int
bare(void *arg)
{
	int n = *(int *)arg;
	struct lh_cancel c = LH_CANCEL_INIT;
	pid_t pid;

	lh = t_open(table);
	/* the block for this thread's errors is there then */
	(void)lh_table_remove("bare-nothing", 0);
	for (int i = 0; i < n; i++) {
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) {
			(void)alarm((unsigned)(HANG_MS / 1000));
			_exit(lh_release(lh, &(struct lh_lease){ .opaque = 1 })
			    != 0 && lh_cancel(&c) == 0 &&
			    lh_table_remove("bare-nothing", 0) == -ENOENT ?
			    0 : 1);
		}
		await(pid);
	}
	ok(hung == 0 && wrong == 0, "%d bare forks: %d hung, %d wrong", n,
	    hung, wrong);
	return tap_child_status();
}

static void *
open_by_half(void *arg)
{
	(void)arg;
	for (;;) {
		struct lh *own = t_open(table);

		(void)lh_close(own);
	}
	return NULL;
}

static int
bare_beside_openers(void *arg)
{
	(void)t_thread(open_by_half, NULL);
	(void)t_thread(open_by_half, NULL);
	return bare(arg);
}

int
main(void)
{
	int n = getenv("LH_TEST_LONG") != NULL ? 3000 : 60, few = n / 3;
	unsigned long threads[8];
	struct lh *mine;
	pid_t pid;

	table = t_table();
	is(t_reap(t_fork(bare_beside_openers, &few), 60 * HANG_MS), 0,
	    "children of no fork handler");
	is(t_reap(t_fork(interrupted, &few), 60 * HANG_MS), 0,
	    "forks in a signal handler");
	mine = t_open(table);
	lh = mine;
	threads[0] = t_thread(acquire_and_release, "k");
	threads[1] = t_thread(acquire_and_release, "free");
	threads[2] = t_thread(open_and_close, NULL);
	threads[3] = t_thread(begin_and_end_threads, NULL);
	threads[4] = t_thread(be_live, NULL);
	threads[5] = t_thread(spawn, NULL);
	threads[6] = t_thread(spawn, "posix_spawn");
	for (int i = 0; i < n && hung == 0; i++) {
		t_watch();
		pid = fork();
		if (pid == 0)
			be_child(i % 16 == 0 ? DEPTH : 1, i % 4 == 0);
		await(pid);
	}
	stop = true;
	for (int i = 0; i < 7; i++)
		t_join(threads[i]);
	diag("%d forks, %d of callbacks, %d spawned, %d handlers", n,
	    event_forks, spawned, handler_calls);
	is(hung, 0, "no child hung");
	is(wrong, 0, "nothing went wrong");
	cmp(event_forks, >, 0, "callbacks forked");
	cmp(spawned, >, 0, "and others spawned");
	is(t_holders(lh, "k"), 0, "nothing is held");
	lh = NULL;
	t_close(mine);
	return done();
}
