/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, prim/process_end.h: a process that waits for another, of one
 * thread, watches it through two descriptors.  They prove its end, but not its
 * life, nor anything of another process.  If the application has closed them,
 * and others have their numbers, they prove nothing, and are not closed.  When
 * the wait ends they are.  A process that has memory is asked for nothing that
 * the kernel may not answer.
 *
 * Otherwise a living holder would count as dead, an application would lose
 * files, or a process that waits often would run out of descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <leasehold/ticket.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/procstat.h"
#include "prim/process_end.h"
#include "prim/robust_list.h"
#include "proc/attachment.h"
#include "shm/session_liveness.h"
#include "replay.h"
#include "support/actor.h"

#define WAIT_MS 200
#define NOBODY 65534

static int
wait_free(void *arg)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	const struct replay_call *c = arg;

	o.max_wait_ms = c->wait_ms;
	return lh_wait_free(c->lh, c->key, &o);
}

static int
be_alone(void *arg)
{
	while (arg == NULL)
		pause();
	return 0;
}

static struct lhi_process_watch
watch(pid_t pid, uint64_t later)
{
	struct lhi_process_watch w = { 0 };
	struct lhi_procstat ps;

	ok(lhi_procstat_read(pid, 0, &ps), "a process");
	lhi_process_watch_begin(&w, pid, ps.start_ticks + later);
	return w;
}

static int
ask_watch(void *arg)
{
	return lhi_process_watch_has_ended(arg);
}

static int
ask_process(void *arg)
{
	const struct lhi_process_watch *w = arg;

	return lhi_process_has_ended(w->pid, w->start_ticks);
}

/* The kernel may not answer who asks for the flags of a process that has
 * memory, because it may be in execve(2). */
static void
asks_nothing_else(struct lhi_process_watch *w)
{
	int (*const ask[])(void *arg) = { ask_watch, ask_process };

	for (int i = 0; i < 2; i++) {
		replay_hold("asker", "process.flags");
		replay_go("asker", ask[i], w);
		ok(!replay_comes("asker"), "its flags are not asked for");
		is(replay_result("asker"), 0, "no proof");
	}
}

static void
proves_the_end(void)
{
	pid_t pid = t_fork(be_alone, NULL);
	int before = t_descriptors();
	struct lhi_process_watch other, w;
	siginfo_t si;

	w = watch(pid, 0);
	is(w.pid, pid, "it is watched");
	is(t_descriptors(), before + 2, "through two descriptors");
	other = watch(pid, 1);
	ok(!lhi_process_watch_has_ended(&w), "it lives");
	asks_nothing_else(&w);
	(void)t_signal(pid, SIGKILL);
	is(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0, "killed");
	ok(lhi_process_watch_has_ended(&w), "it has ended");
	ok(!lhi_process_watch_has_ended(&other),
	    "one that began at another time has not");
	lhi_process_watch_end(&other);
	t_kill(pid);
	ok(!lhi_process_watch_has_ended(&w), "unknown when nothing is left");
	lhi_process_watch_end(&w);
	is(t_descriptors(), before, "closed");
	lhi_process_watch_end(&w);
}

/* As nobody, where others' processes are hidden, of one that lives. */
static int
ask_hidden(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;
	struct lhi_process_watch w;

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("proc", "/proc", "proc", 0, "hidepid=2") != 0)
		return 2;
	w = watch(pid, 0);
	is(w.pid, pid, "watched by root");
	is(setresgid(NOBODY, NOBODY, NOBODY), 0, "another group");
	is(setresuid(NOBODY, NOBODY, NOBODY), 0, "another user");
	ok(!lhi_process_watch_has_ended(&w), "a hidden process lives");
	return 0;
}

static void
sees_no_end_in_hiding(void)
{
	pid_t pid;

	if (geteuid() != 0)
		return;
	pid = t_fork(be_alone, NULL);
	is(t_reap(t_fork(ask_hidden, (void *)(intptr_t)pid), T_HANG_MS), 0,
	    "hidden from a process that has changed its user");
	t_kill(pid);
}

/* The session of a living process, whose death word is marked, beside the watch
 * of one that has ended. */
static void
ends_no_other(struct lh *lh, struct t_actor *holder)
{
	pid_t pid = t_fork(be_alone, NULL);
	struct lhi_process_watch w = watch(pid, 0);
	uint64_t sid = 0;
	shm_u32 *word;
	siginfo_t si;

	(void)t_signal(pid, SIGKILL);
	is(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0, "killed");
	for (uint32_t i = 0; i < lh->v.geo.max_sessions && sid == 0; i++) {
		uint64_t one = sid_make(sess_inc(sh64_load(
		    &lh->v.sessions[i].state)), i);

		if (lhi_session_pid(&lh->v, one) == holder->pid)
			sid = one;
	}
	word = lhi_session_death_word(&lh->v, sid);
	if (word == NULL)
		bail_out("the holder has no death word");
	(void)sh32_fetch_or(word, ROBUST_MARKED);
	ok(!lhi_session_watched_dead(&lh->v, sid, &w), "the holder lives");
	is(t_do_verify(holder), 0, "and has its lease");
	lhi_process_watch_end(&w);
	t_kill(pid);
}

/* Makes fd the threads of that process. */
static void
replace(int fd, pid_t pid)
{
	char path[32];
	int new;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	new = open(path, O_RDONLY | O_DIRECTORY);
	is(dup2(new, fd), fd, "another directory of one thread");
	(void)close(new);
}

static void
recognizes_its_own(void)
{
	pid_t pid = t_fork(be_alone, NULL), other = t_fork(be_alone, NULL);
	struct lhi_process_watch w = watch(pid, 0);

	replace(w.task, other);
	replace(w.statm, other);
	ok(!lhi_process_watch_has_ended(&w), "others' files prove nothing");
	lhi_process_watch_end(&w);
	cmp(fcntl(w.task, F_GETFD), >=, 0, "the first is open");
	cmp(fcntl(w.statm, F_GETFD), >=, 0, "the second is open");
	(void)close(w.task);
	(void)close(w.statm);
	t_kill(pid);
	t_kill(other);
}

/* (reading would set the time of a file that has changed since) */
static void
reads_no_file_of_others(void)
{
	const struct timespec times[] = { { 1000, 0 }, { 2000, 0 } };
	char name[] = "/dev/shm/leasehold-read.XXXXXX";
	pid_t pid = t_fork(be_alone, NULL);
	struct lhi_process_watch w = watch(pid, 0);
	int fd = mkstemp(name);
	struct stat st;

	if (fd < 0 || write(fd, "text", 4) != 4 || futimens(fd, times) != 0)
		bail_out("no file");
	(void)unlink(name);
	is(dup2(fd, w.statm), w.statm, "a file of the application");
	ok(!lhi_process_watch_has_ended(&w), "proves nothing");
	is(fstat(fd, &st), 0, "and its time of access");
	is(st.st_atim.tv_sec, 1000, "shows that it was not read");
	(void)close(w.statm);
	(void)close(fd);
	lhi_process_watch_end(&w);
	t_kill(pid);
}

/* (a waiter that has two descriptors left needs both to ask for that sign) */
static void
watches_none_with_a_second_sign(struct lh *lh)
{
	struct lh_open_opts o = t_open_opts();
	struct lhi_process_watch w = { 0 };
	struct lh *signed_one, *plain;

	is(lh_open(&plain, lh_table_name(lh), &o), 0, "a session");
	lhi_session_watch(&lh->v, plain->sid, &w);
	is(w.pid, getpid(), "its process can be watched");
	lhi_process_watch_end(&w);
	o.flags = LH_LIVENESS_FD;
	is(lh_open(&signed_one, lh_table_name(lh), &o), 0, "one with a sign");
	lhi_session_watch(&lh->v, signed_one->sid, &w);
	is(w.pid, 0, "the sign decides");
	lhi_process_watch_end(&w);
	is(lh_close(signed_one), 0, "closed");
	is(lh_close(plain), 0, "closed");
}

static void
waits(struct lh *lh, int (*fn)(void *arg), const char *how)
{
	struct replay_call call = REPLAY_CALL(lh, "k", REPLAY_LONG_MS, WAIT_MS);
	int before = t_descriptors();

	replay_hold("waiter", "session.prepared");
	replay_go("waiter", fn, &call);
	if (!replay_comes("waiter"))
		bail_out("the holder is not watched");
	is(t_descriptors(), before + 2, "%s: watches the holder", how);
	is(replay_finish("waiter"), -ETIMEDOUT, "%s: waits to its end", how);
	is(t_descriptors(), before, "%s: nothing is left open", how);
}

int
main(void)
{
	const char *table = replay_begin();
	struct t_actor *holder;
	struct lh *lh;

	if (!REPLAY_WATCHES) {
		printf("1..0 # SKIP a process is watched on x86 only\n");
		return 0;
	}

	proves_the_end();
	recognizes_its_own();
	reads_no_file_of_others();
	sees_no_end_in_hiding();
	holder = t_actor(table);
	is(t_do_acquire(holder, "k", REPLAY_LONG_MS, 0), 0, "held");
	lh = replay_open(table, 0);
	watches_none_with_a_second_sign(lh);
	waits(lh, replay_acquire, "acquire");
	waits(lh, wait_free, "lh_wait_free()");
	ends_no_other(lh, holder);
	t_actor_end(holder);
	t_close(lh);
	return done();
}
