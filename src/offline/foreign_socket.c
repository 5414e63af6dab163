/* SPDX-License-Identifier: MIT */
/*
 * Asks for unix sockets of other processes, for a search of second signs of
 * life (sign_holder.c).
 *
 * A copy of a descriptor (pidfd_getfd(2)) is the same socket.  Nothing is done
 * with it that its process could see, and it is closed at once.  sock_diag(7)
 * knows a socket that no process shows, too, and its user.  The user is the one
 * who made the socket, until root gives it to another.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "offline/foreign_socket.h"

/* Opens a thread, or on an older kernel the process that it is the first of. */
static int
open_thread(pid_t tid)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, O_EXCL);

	return fd >= 0 || errno != EINVAL ? fd :
	    (int)syscall(SYS_pidfd_open, tid, 0);
}

int
lhi_foreign_socket_read(pid_t tid, int fd, struct lhi_foreign_socket *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(a) - 1;
	int pidfd = open_thread(tid), copy, error;
	struct stat st;

	if (pidfd < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	error = -errno;
	(void)close(pidfd);
	if (copy < 0)
		return error;
	memset(s, 0, sizeof(*s));
	s->uid = fstat(copy, &st) == 0 ? (int64_t)st.st_uid : -1;
	error = getsockname(copy, (struct sockaddr *)&a, &len) == 0 ? 0 :
	    -errno;
	if (error == 0 && len > offsetof(struct sockaddr_un, sun_path))
		memcpy(s->name, a.sun_path, sizeof(a.sun_path) - 1);
	s->net = error == 0 ? ioctl(copy, SIOCGSKNS) : -1;
	(void)close(copy);
	return error;
}

/* Asks for one socket.  Returns the answer's length, or -1. */
static ssize_t
ask(unsigned long ino, void *answer, size_t size)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} q = {
		.h = { .nlmsg_len = sizeof(q), .nlmsg_flags = NLM_F_REQUEST,
			.nlmsg_type = SOCK_DIAG_BY_FAMILY },
		.r = { .sdiag_family = AF_UNIX, .udiag_states = ~0u,
			.udiag_ino = (uint32_t)ino,
			.udiag_show = UDIAG_SHOW_UID,
			.udiag_cookie = { ~0u, ~0u } },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_SOCK_DIAG);
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	/* (the kernel has answered when send() returns) */
	if (send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
		n = recv(fd, answer, size, MSG_DONTWAIT);
	(void)close(fd);
	return n;
}

int64_t
lhi_foreign_socket_user(unsigned long ino)
{
	union {
		struct nlmsghdr h;
		char bytes[1024];
	} answer;
	ssize_t n = ask(ino, &answer, sizeof(answer));
	const struct unix_diag_msg *m = NLMSG_DATA(&answer.h);
	const struct rtattr *a;
	uint32_t uid;
	int left;

	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*m)) ||
	    answer.h.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    m->udiag_ino != (uint32_t)ino)
		return -1;
	left = (int)(n - (ssize_t)NLMSG_LENGTH(sizeof(*m)));
	for (a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == UNIX_DIAG_UID &&
		    RTA_PAYLOAD(a) >= sizeof(uid)) {
			memcpy(&uid, RTA_DATA(a), sizeof(uid));
			return uid;
		}
	return -1;
}
