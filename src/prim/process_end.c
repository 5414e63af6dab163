/* SPDX-License-Identifier: MIT */
/*
 * Proves that a process has ended while its memory is still being torn down,
 * which takes 50 to 110 ms for a GiB.  shm/session_liveness.c asks.
 *
 * A thread that the kernel ends gives up the process's memory (task->mm) first,
 * under the task's lock and for ever.  It runs no user code after that, and
 * what it has stored before is seen by whoever sees that it has no memory.  The
 * link /proc/PID/task/TID/exe is read through task->mm, without a reference to
 * the memory, so reading it does not delay the end.  ENOENT means that the
 * thread has no memory, or is gone.
 *
 * A list of threads is no snapshot.  A thread that is looked at late may have
 * been made by one that was not listed, and a list may end early at a thread
 * that is being released.  Asked once, a living process whose threads each make
 * the next one and end was called dead in 1 of 90 questions.  So:
 *
 *	1 list the threads, in one call
 *	2 read each one's exe: ENOENT, or there is no proof
 *	3 read how many threads the process has (links of the directory task)
 *	4 list again: as many as that, and all of them in the first list
 *	5 compare the start time, through the same directory
 *
 * Then every thread that there was at 4 had no memory at 2, so none of them
 * could make another, and there is no other.
 *
 * Not covered: another process that shares the memory (vfork(), or clone() with
 * CLONE_VM), because it is not a thread of this one.  Its memory's byte lock is
 * held, but the session counts as dead.  Such a child runs nothing of the
 * library before exec.
 *
 * A process that has executed another program has memory again.  Nothing here
 * is in shared memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/procstat.h"
#include "prim/process_end.h"
#include "prim/shared.h"

#define LIST_LEN 8192
#define ENTRY_MAX 280		/* of one name at most */
#define THREADS_MAX 250

/* Lists the threads in one call, which the kernel answers in one walk.  Returns
 * how many, or -1 if those were not all. */
static int
list_threads(int task, int tid[THREADS_MAX])
{
	union {
		struct dirent64 first;
		char bytes[LIST_LEN];
	} list;
	const struct dirent64 *d;
	ssize_t len;
	int n = 0;

	if (lseek(task, 0, SEEK_SET) != 0)
		return -1;
	len = getdents64(task, list.bytes, sizeof(list));
	if (len <= 0 || len > (ssize_t)sizeof(list) - ENTRY_MAX)
		return -1;
	for (ssize_t at = 0; at < len; at += d->d_reclen) {
		d = (const struct dirent64 *)(list.bytes + at);
		if (d->d_name[0] == '.')
			continue;
		if (n == THREADS_MAX)
			return -1;
		tid[n++] = atoi(d->d_name);
	}
	return n;
}

/* True if that thread has no memory any more. */
static bool
has_no_memory(int task, int tid)
{
	char path[32], to[4];

	(void)snprintf(path, sizeof(path), "%d/exe", tid);
	return readlinkat(task, path, to, sizeof(to)) < 0 && errno == ENOENT;
}

/* True if all n threads of `later` are among those of `first`.  Both lists are
 * in the kernel's order. */
static bool
is_part_of(const int *later, int n, const int *first, int n_first)
{
	int i = 0;

	for (int j = 0; j < n; j++) {
		while (i < n_first && first[i] != later[j])
			i++;
		if (i == n_first)
			return false;
	}
	return true;
}

/* Steps 1 to 4. */
static bool
have_threads_ended(int task)
{
	int first[THREADS_MAX], later[THREADS_MAX], n, n_later;
	struct stat st;

	n = list_threads(task, first);
	if (n <= 0)
		return false;
	for (int i = 0; i < n; i++)
		if (!has_no_memory(task, first[i]))
			return false;
	if (lhi_mutant_on(listed_once))
		return true;
	if (fstat(task, &st) != 0)
		return false;
	n_later = list_threads(task, later);
	return n_later > 0 && st.st_nlink == (nlink_t)n_later + 2 &&
	    is_part_of(later, n_later, first, n);
}

bool
lhi_process_has_ended(pid_t pid, uint64_t start_ticks)
{
	int saved = errno, dir, task = -1;
	struct lhi_procstat ps;
	bool ended = false;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = pid <= 0 || start_ticks == 0 ? -1 :
	    open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		task = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (task >= 0)
		ended = have_threads_ended(task) &&
		    lhi_procstat_read_at(dir, &ps) &&
		    (ps.start_ticks == start_ticks ||
		    lhi_mutant_on(start_uncompared));
	if (task >= 0)
		(void)close(task);
	if (dir >= 0)
		(void)close(dir);
	errno = saved;
	return ended;
}
