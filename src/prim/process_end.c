/* SPDX-License-Identifier: MIT */
/*
 * Proves that a process has ended while its memory is still being torn down,
 * which takes 50 to 110 ms for a GiB.  shm/session_liveness.c asks.
 *
 * A thread that the kernel ends first gets the flag PF_EXITING, then it walks
 * the robust list, then it gives up the process's memory (task->mm), under the
 * task's lock.  All of that is for ever.  It runs no user code after the first.
 *
 * Both are the proof, the flag and that there is no memory.  The kernel may not
 * answer who asks for the flag (/proc/PID/task/TID/stat), and not ever: while
 * the process is in execve(2) (since Linux 6.18: base/procstatus.h).  That,
 * too, walks the robust list and wakes waiters.  But a thread in execve(2)
 * always has memory, the old program's or the new one's.  So `stat` is read
 * only of threads that have none.  (Only a thread that takes another's place in
 * execve(2) just then can delay the answer.)
 *
 * /proc/PID/task/TID/statm shows the memory.  It waits for nobody, and reads
 * task->mm under the task's lock.  So whoever sees that it is gone sees what
 * the thread stored before.  (Alone it proves nothing of a process that cannot
 * be seen, and it does not tell which process it is.)
 *
 * Reading it takes a reference to the memory while there is some.  If the dying
 * thread gives up its own meanwhile, the reader has to tear it down.  That is
 * rare, because the reference lasts a microsecond.
 *
 * The waiter that the robust list woke may run in place of the dying thread, on
 * its processor, or beside it.  Then the memory is still there.  It is read
 * several times, in which a thread that is running gives up its memory; and the
 * caller asks again later (op/death_hint.c).
 *
 * A list of threads is no snapshot.  A thread that is looked at late may have
 * been made by one that was not listed, and a list may end early at a thread
 * that is being released.  Asked once, a living process whose threads each make
 * the next one and end was called dead in 1 of 90 questions.  So:
 *
 *	1 list the threads, in one call
 *	2 ask for each one: it has no memory; then for each one: it has ended,
 *	  or it is gone.  Else there is no proof
 *	3 read how many threads the process has (links of the directory task)
 *	4 list again: as many as that, and all of them in the first list, and
 *	  none of them gone at 2
 *	5 compare the start time of the first thread, through that directory
 *
 *	6 see that this /proc shows our own pid namespace (base/process.h)
 *
 * Then every thread that there was at 4 had ended at 2, so none of them could
 * make another, and there is no other.  A thread is its number and the inode of
 * its directory: a number that is used again has another inode.
 *
 * Its cost.  The kernel makes an object for each name below /proc when it is
 * first looked up: 45 to 60 us of the proof.  A waiter that watches a process
 * looks the same names up while it lives, and the kernel keeps them as long as
 * that.
 *
 * A process of one thread.  A waiter that watches it also keeps the directory
 * of its threads open, and its first thread's statm.  Both are of that process
 * for ever, even if its pid is another's by now.  So the proof is:
 *
 *	1 ask its first thread, as above: it has ended, and began at that time
 *	2 read how many threads the process has: one
 *
 * The first thread counts until the whole process is gone, and then the
 * directory has no number any more.  So at 2 it is the only one, and since 1 it
 * could not make another.  (Or another thread executes a program, and has taken
 * the place of the first.  The kernel has ended all others by then, and the old
 * program runs no more.)  Other threads that had ended were released before
 * that; that their stores are seen, too, is only sure on x86.  The caller's
 * application may have closed the descriptors, and others may have their
 * numbers: before 1 and at 2 device and inode are compared.
 *
 * Not covered: another process that shares the memory (vfork(), or clone() with
 * CLONE_VM), because it is not a thread of this one.  Its memory's byte lock is
 * held, but the session counts as dead.  A child of vfork() runs nothing of the
 * library before exec; one of clone() could.
 *
 * A process that has executed another program has memory again, and its thread
 * is not exiting.  Nothing here is in shared memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/process.h"
#include "base/procstat.h"
#include "prim/descriptor.h"
#include "prim/process_end.h"
#include "prim/shared.h"

#define LIST_LEN 8192
#define ENTRY_MAX 280		/* of one name at most */
#define THREADS_MAX 250
#define LOOKS 8			/* at statm: about 15 us */
#define GONE (-1)
#define PREPARED 8		/* so many threads are looked up early */
#define ALONE 3			/* links of `task`: one thread */
#define PF_EXITING 0x4u		/* the kernel's; proc(5) has the field */

#if defined(__x86_64__) || defined(__i386__)
#define STORES_IN_ORDER 1
#else
#define STORES_IN_ORDER 0
#endif

struct thread {
	int tid;
	uint64_t inode;		/* of its directory: another thread that gets
				 * its number has another */
};

/* Lists the threads in one call, which the kernel answers in one walk.  Returns
 * how many, or -1 if those were not all. */
static int
list_threads(int task, struct thread threads[THREADS_MAX])
{
	union {
		struct dirent64 first;
		char bytes[LIST_LEN];
	} list;
	const struct dirent64 *d;
	ssize_t len;
	int n = 0;

	len = getdents64(task, list.bytes, sizeof(list));
	if (len <= 0 || len > (ssize_t)sizeof(list) - ENTRY_MAX)
		return -1;
	for (ssize_t at = 0; at < len; at += d->d_reclen) {
		d = (const struct dirent64 *)(list.bytes + at);
		if (d->d_name[0] == '.')
			continue;
		if (n == THREADS_MAX)
			return -1;
		threads[n++] = (struct thread){ atoi(d->d_name), d->d_ino };
	}
	return n;
}

/* Opens the directory of the process's threads. */
static int
open_threads(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return pid <= 0 ? -1 :
	    lhi_fd_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* True if that file statm is of a thread without memory: all is 0. */
static bool
is_without_memory(int statm)
{
	char text[3] = "";

	return pread(statm, text, 2, 0) == 2 && strcmp(text, "0 ") == 0;
}

/* Returns whether there is no memory by the last of several looks. */
static bool
comes_without_memory(int statm)
{
	bool without = false;

	for (int i = 0; i < LOOKS && !without; i++)
		without = is_without_memory(statm);
	return without;
}

/* Step 2, first half.  Of a thread that cannot be seen nothing is read. */
static bool
has_no_memory(int task, pid_t tid)
{
	char path[32];
	bool without;
	int statm;

	(void)snprintf(path, sizeof(path), "%d/statm", (int)tid);
	statm = openat(task, path, O_RDONLY | O_CLOEXEC);
	if (statm < 0)
		return errno == ENOENT || errno == ESRCH;
	without = comes_without_memory(statm);
	(void)close(statm);
	return without;
}

/* Step 2, second half.  *tid becomes GONE if nothing is to be read of it, and
 * *start when it started if that was read. */
static bool
has_thread_ended(int task, int *tid, uint64_t *start)
{
	struct lhi_procstat ps;

	lhi_point("process.flags");
	if (!lhi_procstat_read_at(task, *tid, &ps)) {
		*tid = GONE;
		return true;
	}
	*start = ps.start_ticks;
	return ps.flags & PF_EXITING;
}

/* True if all n threads of `later` are among those of `first`.  Both lists are
 * in the kernel's order. */
static bool
is_part_of(const struct thread *later, int n, const struct thread *first,
    int n_first)
{
	int i = 0;

	for (int j = 0; j < n; j++) {
		while (i < n_first && first[i].tid != later[j].tid)
			i++;
		if (i == n_first || (first[i].inode != later[j].inode &&
		    !lhi_mutant_on(number_is_thread)))
			return false;
	}
	return true;
}

static bool
have_threads_ended(int task, pid_t pid, uint64_t start_ticks)
{
	struct thread first[THREADS_MAX], later[THREADS_MAX];
	uint64_t start = 0, of_other;
	int n, n_later;
	struct stat st;

	n = list_threads(task, first);
	lhi_point("process.listed");
	if (n <= 0)
		return false;
	for (int i = 0; i < n && !lhi_mutant_on(memory_unasked); i++)
		if (!has_no_memory(task, first[i].tid))
			return false;
	for (int i = 0; i < n; i++)
		if (!has_thread_ended(task, &first[i].tid,
		    first[i].tid == pid ? &start : &of_other))
			return false;
	lhi_point("process.asked");
	if (!lhi_mutant_on(listed_once)) {
		if (fstat(task, &st) != 0 || lseek(task, 0, SEEK_SET) != 0)
			return false;
		n_later = list_threads(task, later);
		if (n_later <= 0 || st.st_nlink != (nlink_t)n_later + 2 ||
		    !is_part_of(later, n_later, first, n))
			return false;
	}
	return (start == start_ticks || (start != 0 &&
	    lhi_mutant_on(start_uncompared))) && lhi_process_is_shown_by(task);
}

bool
lhi_process_has_ended(pid_t pid, uint64_t start_ticks)
{
	int saved = errno, task = start_ticks == 0 ? -1 : open_threads(pid);
	bool ended = false;

	if (task >= 0) {
		ended = have_threads_ended(task, pid, start_ticks);
		(void)close(task);
	}
	errno = saved;
	return ended;
}

/* Makes the kernel look up what has_thread_ended() reads.  Returns how many
 * threads there are, or -1. */
static int
look_up_threads(int task)
{
	static const char *const file[] = { "statm", "stat" };
	struct thread threads[THREADS_MAX];
	int n = list_threads(task, threads);
	struct stat st;
	char path[32];

	for (int i = 0; i < n && i < PREPARED; i++) {
		for (int j = 0; j < 2; j++) {
			(void)snprintf(path, sizeof(path), "%d/%s",
			    threads[i].tid, file[j]);
			(void)fstatat(task, path, &st, AT_SYMLINK_NOFOLLOW);
		}
	}
	return n;
}

/* Opens the first thread's statm.  (Its stat is not read while it lives: see
 * above.)  True if /proc shows our own pid namespace. */
static bool
open_watched(struct lhi_process_watch *w, pid_t pid, uint64_t start_ticks)
{
	struct stat task, file;
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/statm", (int)pid);
	w->statm = lhi_fd_openat(w->task, path, O_RDONLY | O_CLOEXEC, 0);
	if (w->statm < 0 || fstat(w->task, &task) != 0 ||
	    fstat(w->statm, &file) != 0 || !lhi_process_is_shown_by(w->task))
		return false;
	w->pid = pid;
	w->start_ticks = start_ticks;
	w->device = task.st_dev;
	w->task_inode = task.st_ino;
	w->statm_inode = file.st_ino;
	return true;
}

void
lhi_process_watch_begin(struct lhi_process_watch *w, pid_t pid,
    uint64_t start_ticks)
{
	int saved = errno;

	lhi_process_watch_end(w);
	w->task = start_ticks == 0 ? -1 : open_threads(pid);
	w->statm = -1;
	if (w->task >= 0 && (look_up_threads(w->task) != 1 ||
	    !STORES_IN_ORDER || !open_watched(w, pid, start_ticks))) {
		(void)close(w->task);
		if (w->statm >= 0)
			(void)close(w->statm);
	}
	errno = saved;
}

/* True if the descriptor is that file still. */
static bool
is_file(int fd, uint64_t device, uint64_t inode, struct stat *st)
{
	return fstat(fd, st) == 0 && ((st->st_dev == device &&
	    st->st_ino == inode) || lhi_mutant_on(watch_unrecognized));
}

void
lhi_process_watch_end(struct lhi_process_watch *w)
{
	int saved = errno;
	struct stat st;

	if (w->pid == 0 || lhi_mutant_on(watch_unclosed))
		return;
	if (is_file(w->task, w->device, w->task_inode, &st))
		(void)close(w->task);
	if (is_file(w->statm, w->device, w->statm_inode, &st))
		(void)close(w->statm);
	w->pid = 0;
	errno = saved;
}

bool
lhi_process_watch_is_of(const struct lhi_process_watch *w, pid_t pid,
    uint64_t start_ticks)
{
	return w->pid != 0 && ((w->pid == pid &&
	    w->start_ticks == start_ticks) || lhi_mutant_on(watch_of_another));
}

bool
lhi_process_watch_has_ended(const struct lhi_process_watch *w)
{
	int tid = w->pid, saved = errno;
	struct stat st, statm;
	uint64_t start = 0;
	bool ended = false;

	/* (reading from a file of the application's might wait, or take what it
	 * is to read) */
	if (w->pid != 0 &&
	    is_file(w->statm, w->device, w->statm_inode, &statm) &&
	    is_file(w->task, w->device, w->task_inode, &st) &&
	    (comes_without_memory(w->statm) || lhi_mutant_on(memory_unasked)))
		ended = has_thread_ended(w->task, &tid, &start) &&
		    (start == w->start_ticks ||
		    lhi_mutant_on(start_uncompared));
	lhi_point("process.watched");
	ended = ended && is_file(w->task, w->device, w->task_inode, &st) &&
	    (st.st_nlink == ALONE || lhi_mutant_on(watch_uncounted));
	errno = saved;
	return ended;
}
