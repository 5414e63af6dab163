/* SPDX-License-Identifier: MIT */
/*
 * A repair by force that looks while another repair has a copy of a killed
 * process's second sign.  The copy is gone a moment later, and no process shows
 * it meanwhile.  So the repair looks again before it says that the table is in
 * use by a process that cannot be found (offline/declare_dead.c).  A copy that
 * stays makes it refuse.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "replay.h"
#include "support/object.h"

struct shared {
	const char *table;
	int to;		/* a copy of the second sign is sent there */
};

/* Puts a copy of a descriptor in flight. */
static int
send_copy(int to, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = "";
	struct iovec iov = { .iov_base = control, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, 0) == 1 ? 0 : -errno;
}

/* Sends a copy of its second sign away, and ends without a word. */
static int
die_holding(void *arg)
{
	struct lh_open_opts o = replay_opts(0);
	struct shared *sh = arg;
	struct lh *lh;
	int fd;

	o.flags |= LH_LIVENESS_FD;
	if (lh_open(&lh, sh->table, &o) != 0)
		return 1;
	(void)t_hold(lh, "k");
	fd = lh_liveness_fd(lh);
	if (fd < 0 || send_copy(sh->to, fd) != 0)
		return 2;
	_exit(0);
}

/* Removes the sign's file of the only session that is in use. */
static void
remove_sign(const char *table)
{
	struct t_object o = t_map_object(table);
	char file[160];
	int removed = 0;

	for (uint32_t i = 0; i < o.geo.max_sessions; i++) {
		snprintf(file, sizeof(file), "/dev/shm/leasehold.%u/%016" PRIx64
		    "-%u.sign", (unsigned)geteuid(), sh64_load(&o.h->uuid[0]),
		    i);
		removed += unlink(file) == 0;
	}
	is(removed, 1, "its file is removed by hand");
	t_unmap_object(&o);
}

static int
repair_by_force(void *arg)
{
	const struct shared *sh = arg;

	return lh_table_repair(sh->table, LH_FORCE, NULL, NULL);
}

int
main(void)
{
	struct shared sh = { .table = replay_begin() };
	int pair[2];

	is(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0,
	    "a pair of sockets");
	sh.to = pair[0];
	is(t_reap(t_fork(die_holding, &sh), T_HANG_MS), 0,
	    "a holder ends; a copy of its sign is in flight");
	remove_sign(sh.table);
	is(repair_by_force(&sh), -EBUSY, "the copy stays: refused");
	ok(strstr(lh_error_detail(), "cannot be found") != NULL, "  %s",
	    lh_error_detail());
	replay_stop("R", "declare.again", repair_by_force, &sh);
	is(close(pair[0]), 0, "it goes while a repair looks");
	is(close(pair[1]), 0, "  with the sockets");
	cmp(replay_finish("R"), >=, 0, "the repair goes on");
	return done();
}
