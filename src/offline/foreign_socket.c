/* SPDX-License-Identifier: MIT */
/*
 * Asks for unix sockets of other processes, for a search of second signs of
 * life (sign_holder.c).
 *
 * A copy of a descriptor (pidfd_getfd(2)) is the same socket.  Nothing is done
 * with it that its process could see, and it is closed at once.  Its process
 * may put another file in that place meanwhile; the copy stays what it is.  So
 * everything is asked of the copy, also whether it is a socket.
 *
 * sock_diag(7) lists a socket that no process shows, too, with its name and its
 * user.  The user is the one who made the socket, until root gives it to
 * another.  Each of them has a length of its own.  A line of /proc/net/unix has
 * not: a name may contain the end of a line, and then whatever the stranger who
 * made it wants to have there.
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
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "offline/foreign_socket.h"

int
lhi_foreign_thread_open(pid_t tid)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, O_EXCL);

	return fd >= 0 || errno != EINVAL ? fd :
	    (int)syscall(SYS_pidfd_open, tid, 0);
}

/* Reads what copy says, which is a socket. */
static void
read_copy(int copy, struct lhi_foreign_socket *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(a) - 1, size = sizeof(int);
	int domain = 0;

	s->is_unix = getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain,
	    &size) == 0 && domain == AF_UNIX;
	if (!s->is_unix)
		return;
	if (getsockname(copy, (struct sockaddr *)&a, &len) == 0 &&
	    len > offsetof(struct sockaddr_un, sun_path))
		memcpy(s->name, a.sun_path, sizeof(a.sun_path) - 1);
	s->net = ioctl(copy, SIOCGSKNS);
}

int
lhi_foreign_socket_read(int thread, int fd, struct lhi_foreign_socket *s)
{
	int copy = (int)syscall(SYS_pidfd_getfd, thread, fd, 0);
	struct stat st;

	if (copy < 0)
		return -errno;
	*s = (struct lhi_foreign_socket){ .uid = -1, .net = -1 };
	if (fstat(copy, &st) == 0 && S_ISSOCK(st.st_mode)) {
		s->ino = st.st_ino;
		s->uid = st.st_uid;
		read_copy(copy, s);
	}
	(void)close(copy);
	return 0;
}

#define LISTED_MAX 4194304	/* sockets of a network namespace */

/* Asks for all unix sockets of this thread's network namespace. */
static int
ask_for_list(int fd)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} q = {
		.h = { .nlmsg_len = sizeof(q),
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			.nlmsg_type = SOCK_DIAG_BY_FAMILY },
		.r = { .sdiag_family = AF_UNIX, .udiag_states = ~0u,
			.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID },
	};

	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 0 : -errno;
}

static void
read_attributes(const struct rtattr *a, int left, struct lhi_listed_socket *s)
{
	uint32_t uid;
	size_t n;

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		n = RTA_PAYLOAD(a);
		if (a->rta_type == UNIX_DIAG_UID && n >= sizeof(uid)) {
			memcpy(&uid, RTA_DATA(a), sizeof(uid));
			s->uid = uid;
		} else if (a->rta_type == UNIX_DIAG_NAME) {
			memcpy(s->name, RTA_DATA(a), n < sizeof(s->name) ? n :
			    sizeof(s->name) - 1);
		}
	}
}

/* Reads an answer of n bytes.  Returns 1: that was the last one; 0; -errno. */
static int
read_answer(const struct nlmsghdr *h, size_t n, lhi_listed_socket_fn *fn,
    void *arg)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		struct lhi_listed_socket s = { .uid = -1 };
		const struct unix_diag_msg *m = NLMSG_DATA(h);

		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EAGAIN;
		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR)
			return h->nlmsg_len >= NLMSG_LENGTH(sizeof(*e)) &&
			    e->error < 0 ? e->error : -EPROTO;
		if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
			return -EPROTO;
		s.ino = m->udiag_ino;
		read_attributes((const void *)(m + 1), (int)(h->nlmsg_len -
		    NLMSG_LENGTH(sizeof(*m))), &s);
		fn(&s, arg);
	}
	return 0;
}

int
lhi_foreign_sockets_each(lhi_listed_socket_fn *fn, void *arg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_SOCK_DIAG), error;
	const struct timeval limit = { .tv_sec = 5 };
	union {
		struct nlmsghdr h;
		char bytes[32768];
	} answer;
	ssize_t n;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	error = ask_for_list(fd);
	for (int i = 0; error == 0 && i < LISTED_MAX; i++) {
		n = recv(fd, &answer, sizeof(answer), MSG_TRUNC);
		error = n < 0 && errno == EINTR ? 0 : n < 0 ? -errno :
		    n == 0 || (size_t)n > sizeof(answer) ? -EMSGSIZE :
		    read_answer(&answer.h, (size_t)n, fn, arg);
	}
	(void)close(fd);
	return error == 1 ? 0 : error == 0 ? -EOVERFLOW : error;
}
