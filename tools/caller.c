/* SPDX-License-Identifier: MIT */
/*
 * Finds the process that called, so that a key can be bound to its life.
 *
 * The parent is not always the caller.  If the caller ended before we asked,
 * the kernel has given us to another parent: the first process of the pid
 * namespace, or a subreaper such as `systemd --user`.  A key that is bound to
 * that one would be held for ever.  If the caller is outside our pid namespace,
 * the parent's number is 0, and nothing can be bound to it.
 *
 * The caller passed the descriptor on to us.  So it is the parent only if the
 * parent has the same open file at the same number.  kcmp() compares them.
 * Where that is refused (no ptrace, seccomp), the files are compared by
 * /proc/PID/fd.  A parent that cannot be asked is not taken for the caller.
 *
 * Order: first ask for our own death at the parent's end, then read its number,
 * then compare.  A parent that ends after the number was read ends us, or is
 * not our parent any more (caller_is_there()).
 *
 * Not told apart: a reaper that has the descriptor itself.  Then the lock on
 * the file lasts as long as that process has it, and so does the key.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "caller.h"
#include "daemon/exit_status.h"
#include "daemon/usage_error.h"
#include "message.h"

enum answer { SAME, OTHER, UNSEEN };

static enum answer
compare_files(pid_t pid, int fd)
{
	struct stat ours, theirs;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	if (stat(path, &theirs) != 0)
		return errno == ENOENT ? OTHER : UNSEEN;
	return fstat(fd, &ours) == 0 && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino ? SAME : OTHER;
}

/* Has that process the same open file at that number? */
static enum answer
compare_descriptor(pid_t pid, int fd)
{
	long order = syscall(SYS_kcmp, pid, getpid(), KCMP_FILE,
	    (unsigned long)fd, (unsigned long)fd);

	if (order >= 0)
		return order == 0 ? SAME : OTHER;
	return errno == EBADF || errno == ESRCH ? OTHER :
	    compare_files(pid, fd);
}

bool
caller_is_there(int32_t pid)
{
	return getppid() == pid;
}

bool
caller_has(int32_t pid, int fd)
{
	return caller_is_there(pid) && compare_descriptor(pid, fd) != OTHER;
}

int
caller_find(int fd, const char *what, int32_t *pid)
{
	enum answer answer;
	pid_t parent;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	parent = getppid();
	if (parent == 0)
		return usage_error("%s: the process that called is outside "
		    "this pid namespace, where its end cannot be seen; name a "
		    "process of this namespace with --pid", what);
	answer = compare_descriptor(parent, fd);
	if (!caller_is_there(parent)) {
		message("%s: the process that called has ended", what);
		return EX_LOST;
	}
	if (answer == UNSEEN)
		return usage_error("%s: whether parent process %d is the "
		    "process that called cannot be seen, because its "
		    "descriptors cannot; name that process with --pid (in a "
		    "script: --pid $$)", what, (int)parent);
	if (answer == OTHER)
		return usage_error("%s: the parent process %d does not have "
		    "descriptor %d open as it is here: the process that called "
		    "has ended, or opened it for this command alone; open it "
		    "in the script first, as in: exec %d>FILE", what,
		    (int)parent, fd, fd);
	*pid = parent;
	return 0;
}
