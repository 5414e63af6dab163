/* SPDX-License-Identifier: MIT */
/* test: slow 20 */
/*
 * Guarantee G8: an unreachable cluster is reported as -EHOSTUNREACH, with words
 * that say what is missing.  The shim does not exist, says that the cluster is
 * away, is killed or stopped, says nothing, nonsense or half of a frame,
 * promises and grants nothing, or cannot be believed.  Busy, denied and timed
 * out are other answers.
 *
 * Otherwise a program could not tell a busy key from a cluster that is down, or
 * would take a false answer for a grant.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "op/cluster_check.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct t_shim *s;

static int
acquire(int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), wait_ms);
	struct lh_lease l;
	int error = lh_acquire(lh, "cluster:k", &o, &l);

	if (error == 0)
		(void)lh_release(lh, &l);
	return error;
}

/* It says that; then that comes of it, both for a try and for a wait. */
static void
says(int what, int want_try, int want, const char *word)
{
	s->says = what;
	is(acquire(0), want_try, "%d: a try", what);
	ok(t_has_detail(), "in words: %s", lh_error_detail());
	if (word != NULL)
		ok(strstr(lh_error_detail(), word) != NULL,
		    "which are the shim's, or ours");
	is(acquire(t_long(3000)), want, "%d: a wait: %s", what,
	    lh_error_detail());
	is(t_holders(lh, "cluster:k"), 0, "nothing is held");
}

static void
nobody(void)
{
	is(acquire(0), -EHOSTUNREACH, "no shim has ever been here");
	ok(strstr(lh_error_detail(), "leasehold-shimd") != NULL,
	    "it is said what to start: %s", lh_error_detail());
	is(acquire(t_long(5000)), -EHOSTUNREACH, "also for who would wait");
}

static void
answers(void)
{
	s = t_shim(lh_table_name(lh));
	s->ttl_ms = t_long(4000);	/* its process may have to wait */
	is(acquire(0), 0, "a shim: granted: %s", lh_error_detail());
	t_shim_recall(s);
	says(SHIM_AWAY, -EHOSTUNREACH, -EHOSTUNREACH, "no leader,? says? the");
	says(SHIM_DENIES, -EACCES, -EACCES, "not yours, says");
	s->error = EIO;
	says(SHIM_FAILS, -EIO, -EIO, "says the test");
	s->error = EAGAIN;
	says(SHIM_FAILS, -EHOSTUNREACH, -EHOSTUNREACH, "says the test");
	says(SHIM_GARBAGE, -EHOSTUNREACH, -EHOSTUNREACH, "no answer");
	says(SHIM_HALF, -EHOSTUNREACH, -EHOSTUNREACH, "no answer");
	says(SHIM_HANGS_UP, -EHOSTUNREACH, -EHOSTUNREACH, "ended");
	says(SHIM_OTHER_TABLE, -EHOSTUNREACH, -EHOSTUNREACH, NULL);
	says(SHIM_LIES, -EHOSTUNREACH, -ETIMEDOUT, "no right");
	s->says = SHIM_BUSY;
	is(acquire(0), -EAGAIN, "busy is busy: %s", lh_error_detail());
	ok(strstr(lh_error_detail(), "host b has it") != NULL,
	    "and who has it is said");
	s->says = SHIM_QUEUES;
	is(acquire(t_long(100)), -ETIMEDOUT,
	    "queued until its time is over: %s", lh_error_detail());
}

static void
silent(void)
{
	int64_t began = t_now_ns();

	s->ttl_ms = t_long(600);
	s->says = SHIM_SILENT;
	is(acquire(t_long(200)), -ETIMEDOUT, "it says nothing, but renews its "
	    "session: timed out: %s", lh_error_detail());
	s->beats = 0;
	t_sleep_ms(s->ttl_ms + 50);
	began = t_now_ns();
	is(acquire(t_long(20000)), -EHOSTUNREACH, "nor does it renew that: %s",
	    lh_error_detail());
	ok(t_since_ms(began) < t_ms(5000), "which is found out in a moment");
	s->beats = 1;
	s->says = SHIM_GRANTS;
	is(acquire(t_long(2000)), 0, "it is back: %s", lh_error_detail());
}

static void
stopped(void)
{
	t_shim_recall(s);
	t_stop(s->pid);
	t_sleep_ms(s->ttl_ms + 50);
	is(acquire(t_long(20000)), -EHOSTUNREACH, "it is stopped: %s",
	    lh_error_detail());
	is(acquire(0), -EHOSTUNREACH, "also for a try");
	t_cont(s->pid);
	is(acquire(t_long(3000)), 0, "it goes on: %s", lh_error_detail());
}

static void
killed(void)
{
	t_shim_recall(s);
	t_shim_kill(s);
	is(acquire(t_long(20000)), -EHOSTUNREACH, "it is dead: %s",
	    lh_error_detail());
	t_shim_start(s);
	is(acquire(t_long(3000)), 0, "another one: %s", lh_error_detail());
}

/* Somebody else listens where the table says. */
static void
wrong_user(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd, status;
	pid_t pid;

	t_shim_kill(s);
	t_sleep_ms(s->ttl_ms + 50);	/* it may be gone by that long */
	if (geteuid() != 0) {
		ok(1, "not as root # SKIP another user's socket");
		return;
	}
	(void)unlink(s->path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", s->path);
	pid = fork();
	if (pid == 0) {
		t_child_begin();
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (setuid(65534) != 0 ||
		    bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
		    listen(fd, 4) != 0)
			_exit(1);
		pause();
		_exit(0);
	}
	status = t_until(T_HANG_MS, access(s->path, F_OK) == 0);
	ok(status, "user 65534 listens there");
	t_sleep_ms(20);
	is(acquire(t_long(3000)), -EHOSTUNREACH, "not believed: %s",
	    lh_error_detail());
	ok(strstr(lh_error_detail(), "65534") != NULL, "and who it is is said");
	t_signal(pid, SIGKILL);
	t_reap(pid, T_HANG_MS);
}

static void
play(void)
{
	lh = t_open(t_table());
	nobody();
	answers();
	silent();
	stopped();
	killed();
	wrong_user();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 400, "cluster away");
	return done();
}
