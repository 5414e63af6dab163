/* SPDX-License-Identifier: MIT */
/*
 * The sockets that readers of the metrics connect to.  serve.c calls it.
 *
 *	listener 0	a Unix socket at a path, made here
 *	others		sockets of any kind that the service manager has
 *			opened before it started the daemon (activation.c)
 *
 * So the daemon opens no port itself, and its unit can deny it all families but
 * Unix sockets.  The mode of the path, or the addresses in the socket's unit,
 * decide who may connect.
 *
 * A path where nobody answers (left by a killed daemon) may be replaced,
 * because the pid file excludes another daemon that is just starting.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <bsd/string.h>
#include "activation.h"
#include "daemon_log.h"
#include "now.h"
#include "paths.h"
#include "serve_listen.h"

#define PASSED_MAX 4
#define LISTENERS_MAX (1 + PASSED_MAX)
#define REST_NS NS_PER_SEC		/* pause when there are no
					 * descriptors */

static int epoll_fd;
static uint32_t listener_kind;
static int listeners[LISTENERS_MAX] = { -1, -1, -1, -1, -1 };
static int64_t deaf_ns;		/* not listening until then; 0: listening */
static char path[SOCKET_PATH_MAX];
static unsigned path_mode;
static dev_t path_dev;
static ino_t path_ino;

void
serve_listen_begin(int fd, uint32_t kind)
{
	epoll_fd = fd;
	listener_kind = kind;
}

/* Watches listener i. */
static int
watch_listener(uint32_t i)
{
	struct epoll_event ev = { .events = EPOLLIN,
	    .data.u64 = (uint64_t)listener_kind << 32 | i };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listeners[i], &ev) == 0 ?
	    0 : -errno;
}

/* Watches all listeners again. */
static void
end_rest(void)
{
	deaf_ns = 0;
	for (uint32_t i = 0; i < LISTENERS_MAX; i++)
		if (listeners[i] >= 0)
			(void)watch_listener(i);
}

/* Watches no listener for a while: without descriptors each would stay
 * readable. */
static void
begin_rest(void)
{
	deaf_ns = mono_ns() + REST_NS;
	for (uint32_t i = 0; i < LISTENERS_MAX; i++)
		if (listeners[i] >= 0)
			(void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, listeners[i],
			    NULL);
}

unsigned
serve_listen_adopt(const char *name)
{
	unsigned n = activation_take(name, listeners + 1, PASSED_MAX);

	if (n > PASSED_MAX) {
		log_line(LOG_WARNING, "%u sockets '%s' of the service manager; "
		    "those after the first %d are not answered", n, name,
		    PASSED_MAX);
		n = PASSED_MAX;
	}
	for (uint32_t i = 1; i <= n; i++) {
		int e = watch_listener(i);

		if (e != 0)
			log_line(LOG_ERR, "cannot watch socket '%s': %s", name,
			    strerror(-e));
	}
	return n;
}

static int
open_path(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int fd, e;

	(void)strlcpy(at.sun_path, path, sizeof(at.sun_path));
	e = paths_take_socket(path, SOCK_STREAM);
	if (e != 0)
		return e;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(~path_mode & 0777);
	e = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 ? 0 : -errno;
	(void)umask(mask);
	if (e != 0) {
		(void)close(fd);
		return e;
	}
	listeners[0] = fd;
	e = listen(fd, 64) != 0 || lstat(path, &st) != 0 ? -errno :
	    deaf_ns > 0 ? 0 : watch_listener(0);
	if (e != 0) {
		(void)close(fd);
		(void)unlink(path);
		listeners[0] = -1;
		return e;
	}
	path_dev = st.st_dev;
	path_ino = st.st_ino;
	return 0;
}

static void
close_path(void)
{
	struct stat st;

	if (listeners[0] < 0)
		return;
	(void)close(listeners[0]);
	listeners[0] = -1;
	/* unless something else has that path now */
	if (lstat(path, &st) == 0 && st.st_dev == path_dev &&
	    st.st_ino == path_ino)
		(void)unlink(path);
}

bool
serve_listen_is_at(const char *other, unsigned mode)
{
	return listeners[0] >= 0 && strcmp(other, path) == 0 &&
	    mode == path_mode;
}

void
serve_listen_at(const char *new_path, unsigned mode)
{
	char why[PATHS_ERROR_MAX];
	int e;

	close_path();
	(void)strlcpy(path, new_path, sizeof(path));
	path_mode = mode;
	if (path[0] == '\0')
		return;
	if (paths_make_directory(path, why) != 0) {
		log_line(LOG_ERR, "no metrics: %s", why);
		return;
	}
	e = open_path();
	if (e != 0)
		log_line(LOG_ERR, "no metrics: cannot listen at %s: %s; set "
		    "another path with key 'metrics'", path, e == -EEXIST ?
		    "the path exists and is no socket" : strerror(-e));
	else
		log_line(LOG_DEBUG, "metrics at %s", path);
}

int
serve_listen_accept(uint32_t i)
{
	int fd = -1;

	if (i < LISTENERS_MAX && listeners[i] >= 0) {
		fd = accept4(listeners[i], NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			begin_rest();
	}
	return fd;
}

int64_t
serve_listen_run(int64_t now_ns)
{
	if (deaf_ns > 0 && deaf_ns <= now_ns)
		end_rest();
	return deaf_ns > 0 ? deaf_ns : INT64_MAX;
}

void
serve_listen_end(void)
{
	close_path();
	for (uint32_t i = 1; i < LISTENERS_MAX; i++) {
		if (listeners[i] >= 0)
			(void)close(listeners[i]);
		listeners[i] = -1;
	}
	deaf_ns = 0;
}
