/* SPDX-License-Identifier: MIT */
/*
 * `leasehold flock FD`: the descriptor form of flock(1), for scripts.
 *
 *	exec 9>/run/lock/job
 *	leasehold flock 9		# or -n, -w 10s, -s
 *	...
 *	leasehold flock -u 9
 *
 * The key file:DEV:INO is acquired, and then a real flock is put on the
 * descriptor, which the script shares.  So jobs that use flock(1) on that file
 * are excluded, and `list`, `explain` and `log` show who holds it.
 *
 * Steps of a lock, and what a kill behind each one leaves:
 *
 *  1	the key is acquired for this process	nothing: it ends with us
 *  2	the descriptor is locked		the lock on the file
 *  3	the key is handed over to a session	all is held, as it should be
 *	that is bound to the script
 *
 * Between 2 and 3 other signals than SIGKILL wait.  A key that were bound to
 * the script before 2 would stay with it after a kill in the wait for the file.
 *
 * -u finds the session by process and descriptor (flock_session.c).  It ends
 * with the process; the flock, when all copies of the descriptor are closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <leasehold.h>
#include "advice.h"
#include "caller.h"
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "file_lock.h"
#include "flock_session.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "process_watch.h"
#include "verbs.h"

static const char help[] =
"usage: leasehold flock [OPTION...] FD\n"
"\n"
"Locks the open file descriptor FD as flock(1) does, and holds the key\n"
"file:DEV:INO of its file as well, until 'leasehold flock -u FD' or the end\n"
"of the process that called it.  Closing FD alone releases only the flock.\n"
"Exit status 0; 75: busy, or timed out; 76: the descriptor has changed.\n"
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

/* leasehold-preload knows by its beginning that the file is locked as well. */
static const char lock_info[] = "kernel lock: leasehold flock";

struct flock_args {
	struct table_opts table;
	uint32_t mode;
	bool unlock, try;
	int64_t wait_ms;
	int busy_code;
	int32_t pid;		/* --pid; 0: the process that called */
	struct flock_target t;
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

/* Finds the descriptor, and the process that it is locked for. */
static int
find_target(struct flock_args *a, const char *text)
{
	uint64_t n;
	int e, status = 0;

	if (parse_number("flock FD", text, INT32_MAX, &n) != 0)
		return EX_BAD_USAGE;
	a->t.fd = (int)n;
	if (fcntl(a->t.fd, F_GETFD) < 0)
		return usage_error("descriptor %d is not open: open the file "
		    "first, as in: exec %d>FILE", a->t.fd, a->t.fd);
	a->t.pid = a->pid;
	if (a->pid == 0)
		status = caller_find(a->t.fd, a->unlock ?
		    "nothing is unlocked" : "nothing is locked",
		    &a->t.pid);
	if (status != 0)
		return status;
	e = flock_session_name(&a->t);
	return e == 0 ? 0 : message_error(e, strerror(-e), "cannot ask for the "
	    "file of descriptor %d", a->t.fd);
}

/* Ends the session that holds the key for the descriptor, if there is one. */
static int
release_key(struct flock_args *a)
{
	struct lh_session *s;
	int e = flock_session_find(&a->t, &s);

	if (e != 0 || s == NULL)
		return e;
	e = lh_session_destroy(s);
	lh_session_close(s);
	return e == -ESTALE ? 0 : e;
}

/* Acquires the key for this process.  The rest of the wait is for the file. */
static int
acquire_key(struct flock_args *a, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct process_watch watch;
	int64_t began = lh_clock_ns(a->t.lh), spent;
	bool watched = a->pid != 0 && a->wait_ms != 0;
	int e;

	m.policy = LH_POLICY_STRICT;
	m.info = lock_info;
	o.more = &m;
	o.mode = a->mode;
	o.max_wait_ms = a->wait_ms;
	o.cancel = &cancel;
	if (watched)
		process_watch_begin(&watch, a->pid, &cancel);
	e = lh_acquire(a->t.lh, a->t.key, &o, lease);
	if (watched)
		process_watch_end(&watch);
	spent = (lh_clock_ns(a->t.lh) - began) / 1000000;
	if (a->wait_ms != LH_WAIT_FOREVER)
		a->wait_ms = spent < a->wait_ms ? a->wait_ms - spent : 0;
	return e;
}

/* Moves the key from this process to the one that it is for. */
static int
hand_over(struct flock_args *a, struct lh_lease *lease)
{
	struct lh_session *s;
	int e = flock_session_open(&a->t, &s);

	if (e != 0)
		return e;
	e = lh_handoff(a->t.lh, lease, s);
	/* (if that was our parent, and was not before: it has ended) */
	if (e == 0 && a->pid == 0 && !caller_is_there(a->t.pid))
		e = -ESRCH;
	if (e != 0)
		(void)lh_session_destroy(s);
	lh_session_close(s);
	return e;
}

static int
fail_file_busy(struct flock_args *a, int e)
{
	message_busy("descriptor %d is not locked: %s", a->t.fd, e == -EAGAIN ?
	    "another process has its file locked (flock)" :
	    "another process kept its file locked (flock)");
	return a->busy_code;
}

/* True if the descriptor, passed on to us by the caller, is of this file. */
static bool
is_on_file(const struct flock_args *a, int fd)
{
	char key[FILE_KEY_MAX];

	return flock_session_key(fd, key) == 0 && strcmp(key, a->t.key) == 0;
}

static int
fail_key(struct flock_args *a, int e)
{
	char name[LH_SESSION_NAME_MAX + 1], advice[ADVICE_MAX];
	char verb[40] = "flock -u";
	int other = e == -EAGAIN || e == -ETIMEDOUT ?
	    flock_session_other(&a->t, name) : -1, status;

	if (other >= 0 && !is_on_file(a, other)) {
		message_busy("descriptor %d is not locked: process %d locked "
		    "its file by descriptor %d, and has closed that since; the "
		    "file is locked still: end the process that has that "
		    "descriptor, or has locked the file, or end the session of "
		    "the key (%s)", a->t.fd, (int)a->t.pid, other,
		    advice_command(advice, &a->table, false, "session destroy",
		    name));
		return a->busy_code;
	}
	if (other >= 0) {
		if (a->pid != 0)
			(void)snprintf(verb, sizeof(verb),
			    "flock -u --pid %d", (int)a->pid);
		message_busy("descriptor %d is not locked: process %d has its "
		    "file locked by descriptor %d; unlock that first "
		    "(%s %d)", a->t.fd, (int)a->t.pid, other,
		    advice_command(advice, &a->table, false, verb, NULL),
		    other);
		return a->busy_code;
	}
	status = message_error(e, lh_error_detail(), "descriptor %d is not "
	    "locked", a->t.fd);
	return status == EX_BUSY ? a->busy_code :
	    e == -ECANCELED ? EX_LOST : status;
}

/* Locks the file.  Signals wait meanwhile, but for the time of a wait. */
static int
lock_file(struct flock_args *a, const sigset_t *usual, const sigset_t *all)
{
	int how = a->mode == LH_SHARED ? LOCK_SH : LOCK_EX, e;
	int64_t none = 0;

	e = file_lock(a->t.fd, how, &none);
	if (e != -EAGAIN || a->wait_ms == 0)
		return e;
	(void)sigprocmask(SIG_SETMASK, usual, NULL);
	e = file_lock(a->t.fd, how, &a->wait_ms);
	(void)sigprocmask(SIG_SETMASK, all, NULL);
	return e;
}

/* Its copy that we have is closed when we end, and the lock with it. */
static int
fail_descriptor_gone(const struct flock_args *a)
{
	message("nothing is locked: the process that called has ended, or has "
	    "closed descriptor %d or used it for another file since; wait for "
	    "the lock before that", a->t.fd);
	return EX_LOST;
}

/* With lease NULL the key is held already, by the session. */
static int
lock_with_key(struct flock_args *a, struct lh_lease *lease)
{
	sigset_t all, usual;
	int e, status = EX_YES;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &usual);
	e = lock_file(a, &usual, &all);
	if (e == -EAGAIN || e == -ETIMEDOUT)
		status = fail_file_busy(a, e);
	else if (e != 0)
		status = message_error(e, strerror(-e), "cannot lock "
		    "descriptor %d", a->t.fd);
	else if (a->pid == 0 && !caller_has(a->t.pid, a->t.fd))
		status = fail_descriptor_gone(a);
	else if (lease != NULL && (e = hand_over(a, lease)) != 0)
		status = message_error(e, lh_error_detail(), "descriptor %d is "
		    "not locked", a->t.fd);
	if (status != EX_YES) {
		(void)flock(a->t.fd, LOCK_UN);
		if (lease == NULL)
			(void)release_key(a);
		else
			(void)lh_release(a->t.lh, lease);
	}
	(void)sigprocmask(SIG_SETMASK, &usual, NULL);
	return status;
}

/* True if the descriptor holds the key in this mode.  In the other mode it is
 * unlocked first: as flock(2), not in one step. */
static bool
has_key(struct flock_args *a, int *e)
{
	struct lh_session *s;
	bool has = false;

	*e = flock_session_find(&a->t, &s);
	if (*e != 0 || s == NULL)
		return false;
	has = flock_session_mode(&a->t, s) == (int)a->mode;
	if (!has) {
		(void)flock(a->t.fd, LOCK_UN);
		*e = lh_session_destroy(s);
		if (*e == -ESTALE)
			*e = 0;
	}
	lh_session_close(s);
	return has;
}

static int
lock(struct flock_args *a)
{
	struct lh_lease lease;
	int e;

	if (has_key(a, &e))
		return lock_with_key(a, NULL);
	if (e == 0) {
		flock_session_end_given_up(&a->t);
		e = acquire_key(a, &lease);
	}
	return e == 0 ? lock_with_key(a, &lease) : fail_key(a, e);
}

static int
unlock(struct flock_args *a)
{
	int e = release_key(a);

	if (e != 0)
		return message_error(e, lh_error_detail(), "descriptor %d is "
		    "not unlocked", a->t.fd);
	/* of a descriptor that was closed after it was duplicated */
	flock_session_end_given_up(&a->t);
	if (flock(a->t.fd, LOCK_UN) != 0)
		return message_error(-errno, strerror(errno), "cannot unlock "
		    "descriptor %d", a->t.fd);
	flock_session_end_given_up(&a->t);
	return EX_YES;
}

int
verb_flock(int argc, char **argv)
{
	struct flock_args a = { .mode = LH_EXCLUSIVE, .busy_code = EX_BUSY,
	    .wait_ms = LH_WAIT_FOREVER };
	const struct verb_opts own = { .options = options,
	    .letters = "eE:nqsuw:x", .take = take_option, .arg = &a };
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
	if (a.try)
		a.wait_ms = 0;
	status = find_target(&a, argv[optind]);
	if (status != 0)
		return status;
	e = open_table(&a.t.lh, &a.table, 0, NULL);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	status = a.unlock ? unlock(&a) : lock(&a);
	(void)lh_close(a.t.lh);
	return status;
}
