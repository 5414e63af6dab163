/* SPDX-License-Identifier: MIT */
/*
 * A session that is bound to a process (lh_session_opts.pid) lives as long as
 * that process, whoever made it: guarantees G4 and G1, timing T2.  The process
 * does not know the table.  Its end frees the keys before anybody has waited
 * for it.  A later process of the same number is not taken for it, and a judge
 * in another pid namespace does not judge.
 *
 * Otherwise a killed script would keep its lock for ever, or a living one would
 * lose it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "behaviour/session.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define NO_NAMESPACE 42

static const char *table;

static int
sit(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

static int
bind_to(struct lh *lh, const char *name, pid_t pid, uint32_t flags,
    struct lh_session **s)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.pid = pid;
	o.flags = flags;
	return lh_session_open(lh, name, &o, s);
}

/* Acquires the key into a session that is bound to that process. */
static void
hold_for(struct lh *lh, const char *key, pid_t pid)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s;
	struct lh_lease l;

	is(bind_to(lh, NULL, pid, 0, &s), 0, "a session for process %d",
	    (int)pid);
	m.session = s;
	m.policy = LH_POLICY_STRICT;
	o.more = &m;
	o.max_wait_ms = 0;
	is(lh_acquire(lh, key, &o, &l), 0, "it gets the key");
	lh_session_close(s);
}

/* Ends it, and leaves it to be waited for. */
static void
kill_unreaped(pid_t pid)
{
	siginfo_t info;

	is(t_signal(pid, SIGKILL), 0, "killed");
	is(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0,
	    "dead, and not waited for");
}

static void
refuse_what_is_none(struct lh *lh)
{
	pid_t pid = t_fork(sit, NULL);
	struct lh_session *s = NULL, *again;
	struct lh_session_info info;

	is(bind_to(lh, "x", -1, 0, &s), -EINVAL, "no number");
	is(bind_to(lh, "x", 0x3fffffff, 0, &s), -ESRCH, "no such process");
	ok(strstr(lh_error_detail(), "there is no process 1073741823") != NULL,
	    "says so");
	is(bind_to(lh, "x", pid, LH_SESSION_WITH_MAKER, &s), -EINVAL,
	    "bound to a process and to its maker");
	is(bind_to(lh, "x", pid, LH_NO_CREATE, &s), -ENOENT,
	    "LH_NO_CREATE: there is none");
	is(bind_to(lh, "x", pid, 0, &s), 0, "bound");
	is(lh_session_renew(s), 0, "a renewal is not needed");
	is(lh_session_keep(s, 1), 0, "nor to be kept");
	is(lh_session_info(s, &info), 0, "what is known");
	is(info.ttl_ms, 0, "it has no ttl");
	ok(info.expires_ns == INT64_MAX, "and no end that is known");
	is(info.pid, (uint32_t)pid, "its process");
	is(bind_to(lh, "x", pid, 0, &again), 0, "opened again for the same");
	lh_session_close(again);
	is(bind_to(lh, "x", getpid(), 0, &again), -EEXIST,
	    "not for another process");
	ok(strstr(lh_error_detail(), "is not bound to process") != NULL,
	    "says so");
	is(bind_to(lh, "x", getpid(), LH_NO_CREATE, &again), -EEXIST,
	    "nor with LH_NO_CREATE");
	is(bind_to(lh, "x", pid, LH_NO_CREATE, &again), 0,
	    "LH_NO_CREATE: for its process");
	lh_session_close(again);
	is(lh_session_destroy(s), 0, "destroyed");
	lh_session_close(s);
	kill_unreaped(pid);
	is(bind_to(lh, "x", pid, 0, &s), -ESRCH, "one that has ended");
	(void)t_reap(pid, T_HANG_MS);
}

/* The end of the process frees its key; the maker has gone long before. */
static void
end_frees(void)
{
	pid_t pid = t_fork(sit, NULL);
	struct lh *maker = t_open(table), *lh;
	struct lh_lease l;
	int64_t began;

	hold_for(maker, "k", pid);
	is(lh_close(maker), 0, "its maker leaves");
	lh = t_open(table);
	is(t_acquire(lh, "k", 1000, t_ms(200), &l), -ETIMEDOUT,
	    "the process lives: held");
	ok(strstr(lh_error_detail(), "lives as long as process") != NULL,
	    "and says as long as whom: %s", lh_error_detail());
	kill_unreaped(pid);
	is(t_acquire(lh, "k", 1000, 0, &l), 0, "dead: a try succeeds at once");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "and the death is noted");
	is(lh_release(lh, &l), 0, "released");
	(void)t_reap(pid, T_HANG_MS);

	pid = t_fork(sit, NULL);
	hold_for(lh, "k", pid);
	began = lh_clock_ns(lh);
	t_kill(pid);
	is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0, "a wait is served");
	cmp((lh_clock_ns(lh) - began) / 1000000, <=, T2_MS,
	    "within the bound of T2");
	is(lh_release(lh, &l), 0, "released");
	is(lh_table_remove(table, 0), -EBUSY, "(this process is attached)");
	t_close(lh);
}

static void *
exec_sleep(void *arg)
{
	static char sleep_name[] = "sleep", time[] = "1000";
	char *argv[] = { sleep_name, time, NULL };

	t_post(arg);
	(void)execv("/bin/sleep", argv);
	return NULL;
}

static void *
stay(void *arg)
{
	t_post(arg);
	for (;;)
		pause();
	return NULL;
}

static int
end_first_thread(void *arg)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, stay, arg);
	pthread_exit(NULL);
}

/* Another thread than the first one takes the whole process over. */
static int
exec_in_thread(void *arg)
{
	pthread_t thread;

	if (!t_await(arg, 1, T_HANG_MS))
		return 1;
	(void)pthread_create(&thread, NULL, exec_sleep, arg);
	for (;;)
		pause();
	return 0;
}

static void
lives_through(void)
{
	struct t_event *ev = t_shared(sizeof(*ev));
	struct t_event *ex = t_shared(sizeof(*ex));
	struct lh *lh = t_open(table);
	struct lh_lease l;
	pid_t pid;

	pid = t_fork(end_first_thread, ev);
	ok(t_await(ev, 1, T_HANG_MS), "one whose first thread ends");
	hold_for(lh, "thread", pid);
	t_sleep_ms(50);
	is(t_acquire(lh, "thread", 1000, 0, &l), -EAGAIN,
	    "lives in its other threads");
	t_kill(pid);
	is(t_acquire(lh, "thread", 1000, 0, &l), 0, "and ends with them");

	pid = t_fork(exec_in_thread, ex);
	hold_for(lh, "exec", pid);
	t_post(ex);
	ok(t_await(ex, 2, T_HANG_MS), "one that becomes another program");
	for (int i = 0; i < 2000; i++)
		if (t_acquire(lh, "exec", 1000, 0, &l) != -EAGAIN) {
			fail("lost at look %d", i);
			break;
		}
	is(t_acquire(lh, "exec", 1000, 0, &l), -EAGAIN, "is the same process");
	t_kill(pid);
	is(t_acquire(lh, "exec", 1000, 0, &l), 0, "until its end");
	t_close(lh);
}

/* In a pid namespace of its own: the number is used again. */
static void
reuse_number(void)
{
	struct lh *lh = t_open(table);
	struct lh_lease l;
	pid_t pid, again;

	pid = fork();
	if (pid == 0)
		(void)sit(NULL);
	hold_for(lh, "number", pid);
	hold_for(lh, "seen outside", getpid());
	(void)t_signal(pid, SIGKILL);
	is(waitpid(pid, NULL, 0), pid, "killed, and waited for");
	t_sleep_ms(30);		/* start times are counted in 10 ms */
	ok(t_set_next_pid(pid), "its number is the next one");
	again = fork();
	if (again == 0)
		(void)sit(NULL);
	is(again, pid, "another process gets it");
	is(t_acquire(lh, "number", 1000, 0, &l), 0,
	    "and is not taken for the one before");
	(void)t_signal(again, SIGKILL);
	(void)waitpid(again, NULL, 0);
	is(t_acquire(lh, "outside", 1000, 0, &l), -EAGAIN,
	    "a number of the outer namespace is not judged in here");
}

static int
enter(void *arg)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return NO_NAMESPACE;
	pid = fork();	/* not t_fork(): its parent has no number there */
	if (pid == 0) {
		t_child_begin();
		if (mount("proc", "/proc", "proc", 0, NULL) != 0)
			t_child_exit(NO_NAMESPACE);
		reuse_number();
		t_post(arg);
		for (;;) {
			if (t_await((struct t_event *)arg + 1, 1, 1000))
				t_child_exit(tap_child_status());
		}
	}
	return t_reap(pid, T_HANG_MS * 3);
}

static void
namespaces(void)
{
	struct t_event *ev = t_shared(2 * sizeof(*ev));
	pid_t outer = t_fork(sit, NULL), pid;
	struct lh *lh = t_open(table);
	struct lh_lease l;
	int r;

	hold_for(lh, "outside", outer);
	pid = t_fork(enter, ev);
	if (!t_await(ev, 1, T_HANG_MS)) {
		r = t_reap(pid, T_HANG_MS);
		if (r == NO_NAMESPACE)
			skip(1, "no pid namespaces here");
		else
			fail("the inner one said nothing (%d)", r);
		return;
	}
	is(t_acquire(lh, "outside", 1000, 0, &l), -EAGAIN, "the outer one "
	    "lives");
	is(t_acquire(lh, "seen outside", 1000, 0, &l), -EAGAIN,
	    "number 1 of the inner namespace is not judged out here");
	t_post(ev + 1);
	is(t_reap(pid, T_HANG_MS), 0, "all was well in there");
	is(t_acquire(lh, "seen outside", 1000, t_ms(100), &l), -ETIMEDOUT,
	    "nor its end: that is unknown out here");
	t_kill(outer);
	is(t_acquire(lh, "outside", 1000, 0, &l), 0, "the outer one's can");
	t_close(lh);
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	refuse_what_is_none(lh);
	end_frees();
	lives_through();
	if (geteuid() == 0)
		namespaces();
	else
		skip(1, "only root makes a pid namespace");
	t_close(lh);
	return done();
}
