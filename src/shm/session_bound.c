/* SPDX-License-Identifier: MIT */
/*
 * Bound sessions: answers "has the process ended that this named session was
 * made for?".
 *
 * A bound session is a named one (session_named.c) with ttl 0.  The process
 * that it is bound to need not be attached, and does nothing for it.  It may be
 * a shell script.  The session lives as long as that process.
 *
 *	pid, pidns_ino, start_ticks	which process: written before the state
 *					is NAMED, never again (session_facts.c)
 *	until	"never", until somebody proves the process dead and swaps
 *		exactly that for NAMED_PROCESS
 *
 * Proof of death.  The judge is in the pid namespace that the number counts in,
 * and the facts fit their sum.  Then one of these is proof:
 *
 *  1	There is no process of that number (ESRCH).
 *  2	Its pidfd is readable: all threads of it have ended, also if nobody has
 *	waited for it yet.  It is asked twice: an exec() of a thread that is not
 *	the first one takes the first one's place, and a look in that moment
 *	could see the old first thread alone.
 *  3	The process of that number began at another time: the number was used
 *	again, which it is only after the end.  The judge's time namespace must
 *	be the table's, because start times are shown in it.  And what was read
 *	must be of a /proc that shows the judge's pid namespace.
 *
 * The number belongs to one process at a time.  So each of the three shows that
 * the process of then has ended, whoever has the number now or between the
 * looks.  All else is "cannot tell": another pid namespace, no /proc, no
 * descriptor left.  Then the session lives: it ends by `session destroy`.
 *
 * The swap of `until` is exact.  A record that is another session's by then has
 * another incarnation in it, so a late judge ends nobody else's session.
 *
 * A crash or stop of a judge leaves nothing (crash row SE9); after its swap,
 * crash row SE2.  A maker writes the facts while the record is RESERVED: crash
 * row N1.
 *
 * Binding.  The pidfd is opened first, then the start time is read.  If the
 * pidfd is not readable after that, the process was alive in between, so the
 * start time was its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"
#include "base/process.h"
#include "base/procstat.h"
#include "base/procstatus.h"
#include "prim/descriptor.h"
#include "shm/session_bound.h"
#include "shm/session_facts.h"

/* (the wrapper of pidfd_open() came with glibc 2.36) */
static int
open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* True if all threads of the pidfd's process have ended. */
static bool
has_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < 2; i++)			/* proof 2 */
		if (poll(&p, 1, 0) != 1 || (p.revents & POLLIN) == 0)
			return false;
	return true;
}

static int
fail_no_process(pid_t pid)
{
	return lhi_fail(-ESRCH, "there is no process %d, or it has ended: "
	    "nothing can be bound to it", (int)pid);
}

int
lhi_bound_identify(const struct lhi_view *v, pid_t pid, struct lhi_bound *b)
{
	struct lhi_procstat ps;
	int fd, error = 0;

	if (pid <= 0)
		return lhi_fail(-EINVAL, "%d is no number of a process",
		    (int)pid);
	if (lhi_process_pid_ns() == 0 || !lhi_process_counts_alike() ||
	    !lhi_view_same_time(v))
		return lhi_fail(-EXDEV, "cannot bind a session to process %d: "
		    "/proc does not show the processes of this pid namespace, "
		    "in the table's time namespace; mount /proc", (int)pid);
	fd = open_pidfd(pid);
	if (fd < 0 && errno == ESRCH)
		return fail_no_process(pid);
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))	/* Linux 6.15 */
		return lhi_fail(-EINVAL, "%d is the number of a thread, not of "
		    "a process; give the number of its process (Tgid in "
		    "/proc/%d/status)", (int)pid, (int)pid);
	if (fd < 0)
		return lhi_fail(errno == ENOSYS || errno == EPERM ?
		    -EOPNOTSUPP : -errno, "cannot bind a session to process "
		    "%d: no pidfd can be opened%s", (int)pid, errno == ENOSYS ||
		    errno == EPERM ? " (pidfd_open: Linux 5.3, not barred by "
		    "seccomp)" : "");
	if (!lhi_procstat_read(pid, 0, &ps) || ps.start_ticks == 0)
		error = has_ended(fd) ? fail_no_process(pid) :
		    lhi_fail(-EXDEV, "cannot bind a session to process %d: "
		    "/proc does not show when it began (hidepid, or it is in "
		    "the middle of execve)", (int)pid);
	else if (has_ended(fd))
		error = fail_no_process(pid);
	(void)close(fd);
	if (error == 0)
		*b = (struct lhi_bound){ pid, lhi_process_pid_ns(),
		    ps.start_ticks };
	return error;
}

bool
lhi_bound_is_to(const struct shm_session *se, const struct lhi_bound *b)
{
	return sh32_load(&se->ttl_ms) == 0 &&
	    (pid_t)sh32_load(&se->pid) == b->pid &&
	    sh64_load(&se->pidns_ino) == b->pidns_ino &&
	    sh64_load(&se->start_ticks) == b->start_ticks;
}

/* True if the process of that number is seen to be another one. */
static bool
began_later(const struct lhi_view *v, pid_t pid, uint64_t start)
{
	struct lhi_procstatus status;
	struct lhi_procstat ps;
	bool later = false;
	char path[32];
	int fd;

	if (lhi_mutant_on(bound_by_number) || !lhi_view_same_time(v))
		return false;
	if (lhi_procstat_may_stall(pid, &status))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = lhi_fd_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (lhi_procstat_read_fd(fd, &ps) && ps.start_ticks != 0 &&
	    ps.start_ticks != start)				/* proof 3 */
		later = lhi_process_is_shown_by(fd);
	(void)close(fd);
	return later;
}

bool
lhi_bound_process_gone(const struct lhi_view *v, const struct shm_session *se)
{
	uint64_t ours = lhi_process_pid_ns(), start;
	int saved = errno, fd;
	bool gone = false;
	pid_t pid;

	if (sh32_load(&se->ttl_ms) != 0 || lhi_mutant_on(bound_lives))
		return false;
	pid = (pid_t)sh32_load(&se->pid);
	start = sh64_load(&se->start_ticks);
	if (ours == 0 || pid <= 0 || start == 0 ||
	    (sh64_load(&se->pidns_ino) != ours &&
	    !lhi_mutant_on(bound_anywhere)) || !lhi_session_facts_fit(se))
		return false;
	fd = open_pidfd(pid);
	lhi_point("bound.looked");
	if (fd >= 0) {
		gone = has_ended(fd);
		(void)close(fd);
	} else {
		gone = errno == ESRCH ||			/* proof 1 */
		    (kill(pid, 0) != 0 && errno == ESRCH);
	}
	if (!gone)
		gone = began_later(v, pid, start);
	errno = saved;
	return gone;
}
