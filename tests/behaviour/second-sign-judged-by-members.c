/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, lh_liveness_fd(): all members of a table judge a second sign of
 * life, whoever made it: a session that was passed on lives while the heir
 * does, and is dead afterwards.  Nobody can open it, which might keep it alive,
 * or send to it.  A child gets a /dev/shm of its own.  Needs root.
 *
 * Otherwise a member would take a living session for dead, or a stranger could
 * keep a dead one alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define GROUP	65530
#define MEMBER	65531
#define OTHER	65532
#define STRANGER 65534

static struct shared {
	uid_t maker;
	struct t_event passed, asked, killed, gone;
	pid_t heir;
	int held, freed;
} *sh;

static void
become(uid_t uid)
{
	gid_t groups[1] = { GROUP };

	if (uid == 0)
		return;
	if (setgroups(uid == STRANGER ? 0 : 1, groups) != 0 ||
	    setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
		bail_out("become user %u", (unsigned)uid);
}

static struct lh *
open_machines(uint32_t flags)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;
	int r;

	o.flags = LH_SYSTEM | flags;
	o.mode = 0660;
	o.group = GROUP;
	r = lh_open(&lh, "t", &o);
	if (r != 0)
		bail_out("lh_open: %d: %s", r, lh_error_detail());
	return lh;
}

/* Holds "k", passes its session on to a child, and waits to be killed. */
static int
pass_on(void *arg)
{
	struct lh *lh;
	pid_t heir;

	(void)arg;
	become(sh->maker);
	lh = open_machines(LH_LIVENESS_FD);
	(void)t_hold(lh, "k");
	if (lh_liveness_fd(lh) < 3)
		bail_out("lh_liveness_fd");
	heir = fork();
	if (heir == 0) {
		(void)alarm(60);
		for (;;)
			pause();
	}
	sh->heir = heir;
	t_post(&sh->passed);
	pause();
	return 0;
}

/* Another member: tries while the heir lives, and waits once it is dead. */
static int
judge(void *arg)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh *lh;
	struct lh_lease l;

	(void)arg;
	become(OTHER);
	lh = open_machines(0);
	o.max_wait_ms = 0;
	sh->held = lh_acquire(lh, "k", &o, &l);
	t_post(&sh->asked);
	if (!t_await(&sh->killed, 1, T_HANG_MS))
		return 1;
	o.max_wait_ms = t_ms(5000);
	sh->freed = lh_acquire(lh, "k", &o, &l);
	if (sh->freed != 0)
		diag("it says: %s", lh_error_detail());
	t_post(&sh->gone);
	return lh_close(lh);
}

/* errno of opening the file so, by that user. */
static int
open_by(uid_t uid, const char *path, int flags)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		become(uid);
		_exit(open(path, flags | O_NONBLOCK) >= 0 ? 0 : errno);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		bail_out("waitpid");
	return WEXITSTATUS(status);
}

/* errno of sending a datagram to the file, by that user. */
static int
send_by(uid_t uid, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	pid_t pid = fork();
	int status, fd;

	if (pid == 0) {
		become(uid);
		(void)strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
		fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		_exit(sendto(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
		    (struct sockaddr *)&a, sizeof(a)) == 1 ? 0 : errno);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		bail_out("waitpid");
	return WEXITSTATUS(status);
}

static void
look_at_file(void)
{
	char pattern[64];
	struct stat st;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/dev/shm/leasehold.%u/*.sign",
	    (unsigned)sh->maker);
	is(glob(pattern, 0, NULL, &found), 0, "its file is there");
	is((int)found.gl_pathc, 1, "one");
	is(stat(found.gl_pathv[0], &st), 0, "it is looked at");
	ok(S_ISSOCK(st.st_mode), "a socket");
	is(st.st_mode & 07777, 0666, "for all to connect to");
	is(open_by(sh->maker, found.gl_pathv[0], O_WRONLY), ENXIO,
	    "its maker does not open it");
	is(open_by(OTHER, found.gl_pathv[0], O_RDONLY), ENXIO,
	    "nor does a member");
	is(open_by(STRANGER, found.gl_pathv[0], O_WRONLY), ENXIO,
	    "nor a stranger");
	is(send_by(OTHER, found.gl_pathv[0]), EPIPE,
	    "and a member sends nothing to it");
	globfree(&found);
}

static void
made_by(uid_t uid)
{
	pid_t maker, member;

	memset(sh, 0, sizeof(*sh));
	sh->maker = uid;
	maker = t_fork(pass_on, NULL);
	ok(t_await(&sh->passed, 1, T_HANG_MS), "user %u passes a session on",
	    (unsigned)uid);
	t_kill(maker);
	look_at_file();
	member = t_fork(judge, NULL);
	ok(t_await(&sh->asked, 1, T_HANG_MS), "its process is killed");
	is(sh->held, -EAGAIN, "a member sees that it lives in the heir");
	is(sh->heir > 0 && t_signal(sh->heir, SIGKILL) == 0, true, "killed");
	t_post(&sh->killed);
	ok(t_await(&sh->gone, 1, T_HANG_MS), "the heir is killed");
	is(sh->freed, 0, "the member sees that it is dead");
	is(t_reap(member, T_HANG_MS), 0, "and ends");
}

static int
in_a_world_of_our_own(void *arg)
{
	(void)arg;
	if (!t_mount("/dev/shm", "mode=1777"))
		return T_NO_MOUNT;
	is(lh_close(open_machines(0)), 0, "a table for a group");
	made_by(0);
	made_by(MEMBER);
	return tap_child_status();
}

int
main(void)
{
	int status;

	if (geteuid() != 0) {
		skip(1, "for root");
		return done();
	}
	sh = t_shared(sizeof(*sh));
	status = t_reap(t_fork(in_a_world_of_our_own, NULL), T_HANG_MS);
	if (status == T_NO_MOUNT)
		skip(1, "no mount namespace");
	else
		is(status, 0, "all of it");
	return done();
}
