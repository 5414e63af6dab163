/* SPDX-License-Identifier: MIT */
/* Asks for unix sockets of other processes: see foreign_socket.c. */
#ifndef LHI_FOREIGN_SOCKET_H
#define LHI_FOREIGN_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

struct lhi_foreign_socket {
	char name[110];		/* that it is bound to; "": none */
	int64_t uid;		/* its user; -1: not known */
	int net;		/* its network namespace, opened; or -1 */
};

/* Reads what the kernel says of descriptor fd, a unix socket, of that thread.
 * Returns 0, and the caller closes net; -errno: it cannot be copied. */
int lhi_foreign_socket_read(pid_t tid, int fd, struct lhi_foreign_socket *s);

/* Returns the user of the unix socket with that inode, in this thread's network
 * namespace; -1: not known. */
int64_t lhi_foreign_socket_user(unsigned long ino);

#endif
