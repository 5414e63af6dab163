/* SPDX-License-Identifier: MIT */
/*
 * Looks at all processes and their threads in /proc, for those who look for
 * users of a file.
 *
 * The directory of a process shows its first thread.  Once that thread has
 * ended, its memory and descriptors look empty, although other threads have
 * them.  And each thread may have descriptors of its own (CLONE_FILES). So
 * every thread is looked at.  kcmp(2) says where the descriptors are the same
 * as those of the thread before; where it is refused, they are looked at again.
 * Threads may come and go all the time.  So each one is looked at as soon as
 * the kernel has named it, before it names the next one.
 *
 * Whether all processes are there to be seen is no question of how many were
 * found.  Only the first pid namespace has all of them; only CAP_SYS_PTRACE in
 * the first user namespace lets a process examine them, and see them where
 * /proc is mounted with hidepid.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/process.h"
#include "offline/look_child.h"
#include "offline/processes.h"
#include "prim/descriptor.h"

#define PIDS_MAX 100000		/* processes, and threads of each */
#define THREAD_ENTRY 32		/* bytes of one entry of a list of threads */
#define FIRST_PID_NS 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */
#define FIRST_USER_NS 0xeffffffdu	/* PROC_USER_INIT_INO */

/* Returns the next number that is a name in the directory; 0 if none is left.
 */
static pid_t
next_number(DIR *dir)
{
	const struct dirent *e;

	while ((e = readdir(dir)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			return (pid_t)atol(e->d_name);
	return 0;
}

bool
lhi_processes_each(bool (*fn)(pid_t pid, void *arg), void *arg)
{
	DIR *proc = opendir("/proc");
	pid_t pid = 0;
	int i;

	if (proc == NULL)
		return false;
	for (i = 0; i < PIDS_MAX && (pid = next_number(proc)) != 0; i++) {
		lhi_look_at(pid);
		if (fn(pid, arg))
			break;
	}
	(void)closedir(proc);
	return i < PIDS_MAX;
}

/* Returns the next number that is a name in that directory of threads; 0 if
 * none is left. */
static pid_t
next_thread(int dir)
{
	union {
		struct dirent64 first;
		char bytes[THREAD_ENTRY];
	} one;

	while (getdents64(dir, &one, THREAD_ENTRY) > 0)
		if (isdigit((unsigned char)one.first.d_name[0]))
			return (pid_t)atol(one.first.d_name);
	return 0;
}

bool
lhi_processes_each_thread(pid_t pid, bool (*fn)(const char *task, pid_t tid,
    void *arg), void *arg)
{
	char path[TASK_PATH_LEN];
	bool found = false;
	pid_t tid;
	int dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = lhi_fd_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; dir >= 0 && !found && i < PIDS_MAX &&
	    (tid = next_thread(dir)) != 0; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d",
		    (int)pid, (int)tid);
		lhi_look_step();
		found = fn(path, tid, arg);
	}
	if (dir >= 0)
		(void)close(dir);
	return found;
}

bool
lhi_processes_has_thread_ended(const char *task)
{
	return access(task, F_OK) != 0 && (errno == ENOENT || errno == ESRCH);
}

struct tables {
	bool (*fn)(const char *task, pid_t tid, void *arg);
	void *arg;
	pid_t before;		/* the thread looked at last */
};

static bool
look_at_table(const char *task, pid_t tid, void *arg)
{
	struct tables *t = arg;

	if (t->before != 0 && syscall(SYS_kcmp, t->before, tid, KCMP_FILES, 0,
	    0) == 0)
		return false;
	t->before = tid;
	return t->fn(task, tid, t->arg);
}

bool
lhi_processes_each_table(pid_t pid, bool (*fn)(const char *task, pid_t tid,
    void *arg), void *arg)
{
	struct tables t = { fn, arg, 0 };

	return lhi_processes_each_thread(pid, look_at_table, &t);
}

/* True if this thread has the capability, in its user namespace. */
static bool
has_capability(unsigned n)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	return syscall(SYS_capget, &h, d) == 0 &&
	    (d[n / 32].effective & 1u << n % 32);
}

bool
lhi_processes_are_visible(void)
{
	struct stat user;

	return lhi_process_pid_ns() == FIRST_PID_NS &&
	    stat("/proc/thread-self/ns/user", &user) == 0 &&
	    user.st_ino == FIRST_USER_NS && has_capability(CAP_SYS_PTRACE);
}
