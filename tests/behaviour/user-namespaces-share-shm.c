/* SPDX-License-Identifier: MIT */
/*
 * Spec section 6: user namespaces that share /dev/shm do not keep each other
 * out.  User 0 of a namespace whose users begin at 100000 outside has its
 * tables in leasehold.100000, after its number outside, and root outside has
 * its own in leasehold.0.  A lease with a second sign of life is held and ends
 * there as everywhere.
 *
 * Otherwise the first container would make leasehold.0, and root's own tables
 * and those of the machine would be refused from then on.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define OUTSIDE 100000
#define NO_NAMESPACE 43

static struct shared {
	struct t_event inside, mapped, held;
	_Atomic int no_namespace;
} *sh;

static bool
write_map(pid_t pid, const char *which)
{
	char path[64], text[32];
	int fd, n = snprintf(text, sizeof(text), "0 %d 1000", OUTSIDE);
	bool done;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, which);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, (size_t)n) == n;
	(void)close(fd);
	return done;
}

static int
hold_inside(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct lh_lease l;
	struct lh *lh;

	(void)arg;
	sh->no_namespace = unshare(CLONE_NEWUSER) != 0;
	t_post(&sh->inside);
	if (sh->no_namespace || !t_await(&sh->mapped, 1, T_HANG_MS) ||
	    setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
		return NO_NAMESPACE;
	o.flags |= LH_LIVENESS_FD;
	is(lh_open(&lh, "shared", &o), 0, "root of the namespace: %s",
	    lh_error_detail());
	is(t_acquire(lh, "k", 60000, 0, &l), 0, "holds a key");
	t_post(&sh->held);
	(void)pause();
	return 1;
}

static int
world(void *arg)
{
	struct lh_lease l;
	struct stat st;
	struct lh *lh;
	pid_t pid;

	(void)arg;
	if (!t_mount("/dev/shm", "mode=1777"))
		return T_NO_MOUNT;
	pid = t_fork(hold_inside, NULL);
	ok(t_await(&sh->inside, 1, T_HANG_MS), "a process in a namespace");
	if (sh->no_namespace || !write_map(pid, "uid_map") ||
	    !write_map(pid, "gid_map"))
		return NO_NAMESPACE;
	t_post(&sh->mapped);
	ok(t_await(&sh->held, 1, T_HANG_MS), "holds a key");
	is(stat("/dev/shm/leasehold.100000", &st), 0,
	    "its directory has the number outside");
	is((int)st.st_uid, OUTSIDE, "  which is its owner");
	is(access("/dev/shm/leasehold.0", F_OK), -1, "it made no other");
	is(lh_open(&lh, "shared", NULL), 0, "root outside has its own: %s",
	    lh_error_detail());
	is(t_acquire(lh, "k", 60000, 0, &l), 0, "and gets its key");
	is(lh_release(lh, &l), 0, "and releases it");
	is(lh_close(lh), 0, "closed");
	t_kill(pid);
	if (setresgid(OUTSIDE, OUTSIDE, OUTSIDE) != 0 ||
	    setresuid(OUTSIDE, OUTSIDE, OUTSIDE) != 0)
		return NO_NAMESPACE;
	is(lh_open(&lh, "shared", NULL), 0, "user %d outside is the same "
	    "user: %s", OUTSIDE, lh_error_detail());
	is(t_acquire(lh, "k", 60000, T_HANG_MS, &l), 0,
	    "and sees the holder's death: %s", lh_error_detail());
	is(lh_close(lh), 0, "closed");
	return tap_child_status();
}

int
main(void)
{
	int r;

	if (geteuid() != 0)
		skip_all("only root maps users");
	sh = t_shared(sizeof(*sh));
	r = t_reap(t_fork(world, NULL), T_HANG_MS);
	if (r == T_NO_MOUNT || r == NO_NAMESPACE)
		skip_all("no such namespaces here");
	is(r, 0, "root in and outside of a user namespace");
	return done();
}
