/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G12, proc/death_word.c: a mark in a death word is not a
 * death.  The mark comes when a thread ends; it may be scribbled, and so may
 * the pid beside it.  The proof alone counts: the byte lock is free, or no
 * thread of the session's process has memory any more, and its second sign is
 * gone.
 *
 * A process that shares the holder's memory keeps the byte locked after the
 * holder was killed.  So the earlier proof alone frees the key there, for as
 * long as the test likes.
 *
 * Otherwise a process that lives would lose its keys because a thread of it
 * ended.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "prim/robust_list.h"
#include "proc/attachment.h"
#include "replay.h"

struct shared {
	const char *table;
	struct t_event held, go, armed;
	uint64_t sid;
	uint32_t tid;
	bool passed_on, shares_memory;
	pid_t other;
};

static struct lh *lh;

static shm_u32 *
word_of(const struct shared *sh)
{
	return &lh->v.rings[sid_idx(sh->sid)].death;
}

static void *
open_and_hold(void *arg)
{
	struct lh_open_opts o = replay_opts(0);
	struct shared *sh = arg;
	struct lh *mine;

	o.flags |= sh->passed_on ? LH_LIVENESS_FD : 0;
	if (lh_open(&mine, sh->table, &o) != 0)
		return NULL;
	(void)t_hold(mine, "k");
	sh->sid = mine->sid;
	sh->tid = (uint32_t)syscall(SYS_gettid);
	if (sh->passed_on && lh_liveness_fd(mine) < 3)
		return NULL;
	return mine;
}

/* Its first use of the table is by a thread that ends; its second, later, is by
 * the first thread. */
static int
hold_by_a_thread(void *arg)
{
	struct shared *sh = arg;
	pthread_t t;
	void *mine;

	if (pthread_create(&t, NULL, open_and_hold, sh) != 0 ||
	    pthread_join(t, &mine) != 0 || mine == NULL)
		return -EINVAL;
	t_post(&sh->held);
	if (!t_await(&sh->go, 1, REPLAY_MS))
		return -ETIME;
	sh->tid = (uint32_t)syscall(SYS_gettid);
	(void)t_hold(mine, "another");
	t_post(&sh->armed);
	for (;;)
		(void)pause();
}

static int
stay(void *arg)
{
	(void)arg;
	(void)alarm(20);
	for (int i = 0; i < 20; i++)
		(void)pause();
	return 0;
}

static int
hold(void *arg)
{
	struct shared *sh = arg;
	char *stack;

	if (open_and_hold(sh) == NULL)
		return -EINVAL;
	if (sh->shares_memory) {
		stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sh->other = clone(stay, stack + 65536, CLONE_VM, NULL);
		if (sh->other < 0)
			return -errno;
	}
	t_post(&sh->held);
	for (;;)
		(void)pause();
}

static struct shared *
begin(const char *table)
{
	struct shared *sh = t_shared(sizeof(*sh));

	sh->table = table;
	return sh;
}

/* Killed, and not reaped: its pid stays its own. */
static void
kill_and_leave(pid_t pid)
{
	siginfo_t si;

	(void)t_signal(pid, SIGKILL);
	(void)waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
}

static void
mark_of_a_thread(const char *table)
{
	struct shared *sh = begin(table);
	struct lh_lease l;
	pid_t pid = t_fork(hold_by_a_thread, sh);

	ok(t_await(&sh->held, 1, REPLAY_MS), "a thread opens, holds and ends");
	is(sh32_load(word_of(sh)), ROBUST_ARMED | ROBUST_MARKED,
	    "the kernel has marked the word");
	is(replay_try(lh, "k", &l), -EAGAIN, "the process lives: it holds");
	t_post(&sh->go);
	ok(t_await(&sh->armed, 1, REPLAY_MS), "another thread uses the table");
	is(sh32_load(word_of(sh)), ROBUST_ARMED | sh->tid, "it has armed it");
	is(replay_try(lh, "k", &l), -EAGAIN, "the process holds");
	kill_and_leave(pid);
	is(sh32_load(word_of(sh)), ROBUST_ARMED | ROBUST_MARKED,
	    "it is killed: marked again");
	is(replay_try(lh, "k", &l), 0, "and the key is free");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "with the note");
	is(lh_release(lh, &l), 0, "released");
	t_kill(pid);
}

static int
end_at_once(void *arg)
{
	(void)arg;
	return 0;
}

static void
scribbled(const char *table)
{
	static const uint32_t values[] = { ROBUST_MARKED, ROBUST_ARMED |
	    ROBUST_MARKED, UINT32_MAX, ROBUST_ARMED | 1, 5 };
	struct shared *sh = begin(table);
	struct shm_session *se;
	struct lh_lease l;
	uint32_t pid_was;
	pid_t pid, gone;

	gone = t_fork(end_at_once, NULL);
	kill_and_leave(gone);
	t_sleep_ms(50);		/* a tick of start times has passed */
	pid = t_fork(hold, sh);
	ok(t_await(&sh->held, 1, REPLAY_MS), "a process holds");
	se = &lh->v.sessions[sid_idx(sh->sid)];
	pid_was = sh32_load(&se->pid);
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		sh32_store(word_of(sh), values[i]);
		is(replay_try(lh, "k", &l), -EAGAIN, "scribbled 0x%x: it holds",
		    values[i]);
		sh32_store(&se->pid, (uint32_t)gone);
		is(replay_try(lh, "k", &l), -EAGAIN, "and the pid of a dead "
		    "process: it holds");
		sh32_store(&se->pid, pid_was);
	}
	t_kill(pid);
	is(replay_try(lh, "k", &l), 0, "it is killed: the key is free");
	is(lh_release(lh, &l), 0, "released");
	t_kill(gone);
}

static void
memory_outlives(const char *table, bool passed_on)
{
	struct shared *sh = begin(table);
	struct lh_lease l;
	pid_t pid;

	sh->passed_on = passed_on;
	sh->shares_memory = true;
	pid = t_fork(hold, sh);
	ok(t_await(&sh->held, 1, REPLAY_MS), "a process holds");
	is(replay_try(lh, "k", &l), -EAGAIN, "it lives");
	kill_and_leave(pid);
	is(replay_try(lh, "k", &l), passed_on ? -EAGAIN : 0, passed_on ?
	    "it is killed, but another has its second sign" :
	    "it is killed: the key is free before its memory is gone");
	(void)t_signal(sh->other, SIGKILL);
	t_kill(pid);
	if (passed_on)
		ok(t_until(REPLAY_MS, replay_try(lh, "k", &l) == 0),
		    "that is gone, too: the key is free");
	is(lh_release(lh, &l), 0, "released");
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	mark_of_a_thread(table);
	scribbled(table);
	memory_outlives(table, false);
	memory_outlives(table, true);
	t_close(lh);
	return done();
}
