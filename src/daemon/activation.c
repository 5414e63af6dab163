/* SPDX-License-Identifier: MIT */
/*
 * Takes the sockets that the service manager has opened and passed: the
 * protocol of sd_listen_fds(3), without libsystemd.
 *
 *	LISTEN_PID	the process that they are for
 *	LISTEN_FDS	how many there are, from descriptor 3 on
 *	LISTEN_FDNAMES	their names, with colons between them
 *
 * A descriptor is taken if it has the name that is asked for and is a stream
 * socket that listens.  It then does not block, and is not inherited.  Others
 * are left alone.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "activation.h"

#define FIRST_FD 3
#define FDS_MAX 64		/* more is no manager's number */

/* Returns the number of descriptors that were passed to this process. */
static int
count_passed(void)
{
	const char *pid = secure_getenv("LISTEN_PID");
	const char *fds = secure_getenv("LISTEN_FDS");
	long n = fds == NULL ? 0 : strtol(fds, NULL, 10);

	if (pid == NULL || strtol(pid, NULL, 10) != getpid())
		return 0;
	return n > 0 && n <= FDS_MAX ? (int)n : 0;
}

static int
socket_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value :
	    -1;
}

/* Makes a socket that listens ready for use.  False if it is none. */
static bool
adopt(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return socket_option(fd, SO_TYPE) == SOCK_STREAM &&
	    socket_option(fd, SO_ACCEPTCONN) == 1 && flags >= 0 &&
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	    fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

unsigned
activation_take(const char *name, int *fds, unsigned max)
{
	const char *given = secure_getenv("LISTEN_FDNAMES");
	char *names = given == NULL ? NULL : strdup(given), *rest = names;
	int passed = count_passed();
	unsigned n = 0;

	for (int i = 0; i < passed; i++) {
		const char *its = strsep(&rest, ":");

		if (its == NULL || strcmp(its, name) != 0 ||
		    !adopt(FIRST_FD + i))
			continue;
		if (n < max)
			fds[n] = FIRST_FD + i;
		n++;
	}
	free(names);
	return n;
}
