/* SPDX-License-Identifier: MIT */
/* Asks for unix sockets of other processes: see foreign_socket.c. */
#ifndef LHI_FOREIGN_SOCKET_H
#define LHI_FOREIGN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lhi_foreign_socket {
	unsigned long ino;	/* 0: it is no socket */
	int64_t uid;		/* its user; -1: not known */
	bool is_unix;		/* only then the others are known: */
	char name[110];		/* that it is bound to; "": none */
	int net;		/* its network namespace, opened; or -1 */
};

/* Opens that thread for lhi_foreign_socket_read(); on an older kernel only the
 * first thread of a process can be opened.  -1: errno. */
int lhi_foreign_thread_open(pid_t tid);

/* Reads what the kernel says of descriptor fd of that thread.  Returns 0, and
 * the caller closes net; -errno: it cannot be copied. */
int lhi_foreign_socket_read(int thread, int fd, struct lhi_foreign_socket *s);

/* A socket that the kernel lists. */
struct lhi_listed_socket {
	unsigned long ino;
	int64_t uid;		/* its user; -1: not known */
	char name[110];		/* that it is bound to; "": none, or abstract */
};
typedef void lhi_listed_socket_fn(const struct lhi_listed_socket *s, void *arg);

/* Calls fn for each unix socket of this thread's network namespace.  Returns 0;
 * -errno: not for all of them, or the kernel has no such list (-ENOENT, and
 * others). */
int lhi_foreign_sockets_each(lhi_listed_socket_fn *fn, void *arg);

#endif
