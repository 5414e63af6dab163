/* SPDX-License-Identifier: MIT */
/*
 * Reports the daemon's state to the service manager: the protocol of
 * sd_notify(3), one datagram for each message, without libsystemd.
 *
 * $NOTIFY_SOCKET is a path, or, if it begins with '@', an abstract name.  The
 * manager may be slow or gone: a message that cannot be sent at once is
 * dropped, and a later one says the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "notify.h"
#include "now.h"

#define MESSAGE_LEN 512
#define USEC_MAX (INT64_MAX / 1000)

/* Sets the manager's address and returns its length, or 0 if there is none. */
static socklen_t
manager_address(struct sockaddr_un *to)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	size_t len = path == NULL ? 0 : strlen(path);

	if (len < 2 || len >= sizeof(to->sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return 0;
	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, path, len);
	if (path[0] == '@')
		to->sun_path[0] = '\0';
	/* an abstract name ends where the address ends */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
	    (path[0] == '/'));
}

void
notify(const char *fmt, ...)
{
	char text[MESSAGE_LEN];
	struct sockaddr_un to;
	socklen_t len = manager_address(&to);
	va_list ap;
	int fd, n;

	if (len == 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (n > 0)
		(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		    (struct sockaddr *)&to, len);
	(void)close(fd);
}

void
notify_reloading(void)
{
	notify("RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=Reading the "
	    "configuration", (long long)(mono_ns() / 1000));
}

int64_t
notify_watchdog_ns(void)
{
	const char *usec = secure_getenv("WATCHDOG_USEC");
	const char *pid = secure_getenv("WATCHDOG_PID");
	long long n;

	if (usec == NULL || (pid != NULL && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	n = strtoll(usec, NULL, 10);
	return n > 0 && n < USEC_MAX ? n * 1000 / 2 : 0;
}
