/* SPDX-License-Identifier: MIT */
/*
 * lh_acquire_watched(): the caller's function runs while the call waits, in its
 * thread; may look at the table; and ends the wait.  The wait keeps its place:
 * it began when the call did, and the key is granted to it.
 *
 * Otherwise a program could not end a wait for a signal that has come, or would
 * go to the end of the queue each time it looks.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

struct watch {
	struct lh *lh;
	pthread_t thread;
	uint32_t calls, end_at;
	bool same_thread, queued;
	int64_t since_ns;	/* when it began to wait */
	bool moved;		/* that has changed */
	bool forked;		/* its child ended as it should */
	struct lh_lease *release;	/* at the end, instead */
};

static int
see_wait(const struct lh_key_info *info, void *arg)
{
	struct watch *w = arg;

	w->queued = info->n_waiters == 1;
	if (!w->queued)
		return 0;
	w->moved |= w->since_ns != 0 &&
	    w->since_ns != info->waiters[0].since_ns;
	w->since_ns = info->waiters[0].since_ns;
	return 0;
}

static int
watch(void *arg)
{
	struct watch *w = arg;

	w->calls++;
	w->same_thread = pthread_equal(pthread_self(), w->thread) != 0;
	(void)lh_status(w->lh, "k", NULL, see_wait, w);
	if (w->calls < w->end_at)
		return 0;
	if (w->release == NULL)
		return 1;
	(void)lh_release(w->lh, w->release);
	return 0;
}

/* Forks, and the child returns, which it must not: it would go on in its
 * parent's place of the queue. */
static int
fork_and_return(void *arg)
{
	struct watch *w = arg;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		return 0;
	}
	w->forked = pid > 0 && waitpid(pid, &status, 0) == pid &&
	    WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
	(void)lh_release(w->lh, w->release);
	return 0;
}

int
main(void)
{
	struct lh *lh = t_open(t_table());
	struct lh_lease held = t_hold(lh, "k"), l;
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct watch w = { .lh = lh, .thread = pthread_self(), .end_at = 5 };

	is(lh_acquire_watched(lh, "k", &o, watch, &w, &l), -EAGAIN,
	    "a try is busy");
	is(w.calls, 0, "  and watches nothing");
	is(lh_acquire_watched(lh, "k", NULL, NULL, NULL, &l), -EINVAL,
	    "no function");
	is(lh_acquire_watched(lh, "k", NULL, watch, &w, NULL), -EINVAL,
	    "no lease");
	o = t_opts(3600000, 3600000);
	o.flags = LH_NO_DEADLOCK;
	is(lh_acquire_watched(lh, "k", &o, watch, &w, &l), -ECANCELED,
	    "the function ends a wait");
	is(w.calls, 5, "  when it says so");
	ok(w.same_thread, "  it ran in the thread that waits");
	ok(w.queued, "  and saw its wait in the queue");
	ok(!w.moved, "  which kept its place");
	ok(strstr(lh_error_detail(), "'k'") != NULL,
	    "the detail has the key");
	ok(t_await_waiters(lh, "k", 0), "nobody waits then");
	w.calls = 0;
	w.release = &held;
	is(lh_acquire_watched(lh, "k", &o, watch, &w, &l), 0,
	    "a wait that the function does not end is granted");
	is(lh_verify(lh, &l), 0, "  and holds the key");
	w.release = &l;
	is(lh_acquire_watched(lh, "k", &o, fork_and_return, &w, &held), 0,
	    "granted although the function forked");
	ok(w.forked, "  and its child was aborted");
	is(lh_verify(lh, &held), 0, "  the key is held");
	is(t_holders(lh, "k"), 1, "  once");
	t_close(lh);
	return done();
}
