/* SPDX-License-Identifier: MIT */
/*
 * `leasehold flock FD`: the descriptor form of flock(1), for scripts.
 *
 *	exec 9>/run/lock/job
 *	leasehold flock 9		# or -n, -w 10s, -s
 *	...
 *	leasehold flock -u 9
 *
 * A real flock is put on the descriptor, which the script shares, and then the
 * key file:DEV:INO is acquired into a session that is bound to the script.  So
 * jobs that use flock(1) on that file are excluded, and `list`, `explain` and
 * `log` show who holds it.  The flock comes first, here and in `run --flock`,
 * so that no two of them wait for each other.
 *
 * The session's name is made of process and file, so that -u finds it again.
 * It ends with the process; the flock, when all copies of the descriptor are
 * closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "file_lock.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

#define FILE_KEY_MAX 64

static const char help[] =
"usage: leasehold flock [OPTION...] FD\n"
"\n"
"Locks the open file descriptor FD as flock(1) does, and holds the key\n"
"file:DEV:INO of its file as well, until 'leasehold flock -u FD' or the end\n"
"of the process that called it.  Closing FD alone releases only the flock.\n"
"Exit status 0; 75: busy, or timed out.\n"
"\n"
"  -s, --shared      share the lock with others that use -s\n"
"  -x, -e, --exclusive  hold it alone (default)\n"
"  -u, --unlock      release it\n"
"  -n, --nonblock    do not wait\n"
"  -w, --wait DUR    wait at most that long; default forever\n"
"  -E, --conflict-exit-code N\n"
"                    exit status when busy or timed out; default 75\n"
"  -q, --quiet       print nothing when it is busy or not free in time\n"
"      --pid PID     hold the key as long as that process; default: the\n"
"                    process that called\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

enum { OPT_PID = 256 };

static const struct option options[] = {
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	{ "exclusive", no_argument, NULL, 'x' },
	{ "nb", no_argument, NULL, 'n' },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "quiet", no_argument, NULL, 'q' },
	{ "shared", no_argument, NULL, 's' },
	{ "timeout", required_argument, NULL, 'w' },
	{ "unlock", no_argument, NULL, 'u' },
	{ "wait", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 },
};

struct flock_args {
	struct table_opts table;
	uint32_t mode;
	bool unlock, try;
	int64_t wait_ms;
	int busy_code;
	int32_t pid;		/* 0: that of our parent */
	int fd;
	char key[FILE_KEY_MAX], session[LH_SESSION_NAME_MAX + 1];
	struct lh *lh;
};

static int
take_option(int c, char *value, void *arg)
{
	struct flock_args *a = arg;
	uint64_t n;

	switch (c) {
	case OPT_PID:
		return parse_pid("--pid", value, &a->pid);
	case 'E':
		if (parse_number("-E", value, 255, &n) != 0)
			return EX_BAD_USAGE;
		a->busy_code = (int)n;
		return 0;
	case 'n':
		a->try = true;
		return 0;
	case 'q':
		message_quiet();
		return 0;
	case 's':
		a->mode = LH_SHARED;
		return 0;
	case 'u':
		a->unlock = true;
		return 0;
	case 'w':
		if (strcmp(value, "forever") != 0)
			return parse_span("-w", value, &a->wait_ms);
		a->wait_ms = LH_WAIT_FOREVER;
		return 0;
	default:		/* 'e', 'x' */
		a->mode = LH_EXCLUSIVE;
		return 0;
	}
}

/* Names key and session after the descriptor's file. */
static int
name_file(struct flock_args *a, const char *text)
{
	struct stat st;
	uint64_t n;

	if (parse_number("flock FD", text, INT32_MAX, &n) != 0)
		return EX_BAD_USAGE;
	a->fd = (int)n;
	if (fstat(a->fd, &st) != 0)
		return usage_error("descriptor %d is not open: open the file "
		    "first, as in: exec %d>FILE", a->fd, a->fd);
	(void)snprintf(a->key, sizeof(a->key), "file:%ju:%ju",
	    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	(void)snprintf(a->session, sizeof(a->session), "fd-%d-%jx-%jx",
	    (int)a->pid, (uintmax_t)st.st_dev & 0xfffff,
	    (uintmax_t)st.st_ino & 0x3fffffffff);
	return 0;
}

static int
open_session(struct flock_args *a, struct lh_session **s)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.pid = a->pid;
	return lh_session_open(a->lh, a->session, &o, s);
}

/* Ends the session that holds the key for the process, if there is one. */
static int
release_key(struct flock_args *a)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	int e;

	o.flags = LH_NO_CREATE;
	e = lh_session_open(a->lh, a->session, &o, &s);
	if (e == 0) {
		e = lh_session_destroy(s);
		lh_session_close(s);
	}
	return e == -ENOENT || e == -ESTALE ? 0 : e;
}

static int
acquire_key(struct flock_args *a)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s;
	struct lh_lease lease;
	int e = release_key(a);	/* locked again, or in another mode: as
				 * flock(2), not in one step */

	if (e == 0)
		e = open_session(a, &s);
	if (e != 0)
		return e;
	m.session = s;
	m.policy = LH_POLICY_STRICT;
	o.more = &m;
	o.mode = a->mode;
	o.max_wait_ms = a->wait_ms;
	e = lh_acquire(a->lh, a->key, &o, &lease);
	if (e != 0)
		(void)lh_session_destroy(s);
	lh_session_close(s);
	return e;
}

static int
fail_busy(struct flock_args *a, int e)
{
	message_busy("descriptor %d is not locked: %s", a->fd, e == -EAGAIN ?
	    "another process has its file locked (flock)" :
	    "another process kept its file locked (flock)");
	return a->busy_code;
}

static int
lock(struct flock_args *a)
{
	int e, status;

	e = file_lock(a->fd, a->mode == LH_SHARED ? LOCK_SH : LOCK_EX,
	    &a->wait_ms);
	if (e == -EAGAIN || e == -ETIMEDOUT)
		return fail_busy(a, e);
	if (e != 0)
		return message_error(e, strerror(-e), "cannot lock descriptor "
		    "%d", a->fd);
	e = acquire_key(a);
	if (e == 0)
		return EX_YES;
	status = message_error(e, lh_error_detail(), "descriptor %d is not "
	    "locked", a->fd);
	(void)flock(a->fd, LOCK_UN);
	return status == EX_BUSY ? a->busy_code : status;
}

static int
unlock(struct flock_args *a)
{
	int e = release_key(a);

	if (e != 0)
		return message_error(e, lh_error_detail(), "descriptor %d is "
		    "not unlocked", a->fd);
	if (flock(a->fd, LOCK_UN) != 0)
		return message_error(-errno, strerror(errno), "cannot unlock "
		    "descriptor %d", a->fd);
	return EX_YES;
}

int
verb_flock(int argc, char **argv)
{
	struct flock_args a = { .mode = LH_EXCLUSIVE, .busy_code = EX_BUSY,
	    .wait_ms = LH_WAIT_FOREVER };
	const struct verb_opts own = { .options = options,
	    .letters = "eE:nqsuw:x", .take = take_option, .arg = &a };
	pid_t parent = getppid();
	int e, status;

	if (!parse_verb_opts("flock", help, argc, argv, &a.table, &own,
	    &status))
		return status;
	if (a.table.json)
		return usage_error("flock prints nothing: no --json");
	if (optind + 1 != argc)
		return usage_error("flock takes one descriptor, as in: "
		    "leasehold flock 9; to run a command under a lock: "
		    "leasehold run KEY COMMAND");
	/* (not with --pid: that process may outlive our parent) */
	if (a.pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
	    getppid() != parent)
		return EX_LOST;
	if (a.pid == 0)
		a.pid = parent;
	if (a.try)
		a.wait_ms = 0;
	status = name_file(&a, argv[optind]);
	if (status != 0)
		return status;
	e = open_table(&a.lh, &a.table, 0, NULL);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	status = a.unlock ? unlock(&a) : lock(&a);
	(void)lh_close(a.lh);
	return status;
}
