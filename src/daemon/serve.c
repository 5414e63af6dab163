/* SPDX-License-Identifier: MIT */
/*
 * The socket from which metrics are read.  The loops of both daemons call it.
 *
 * A client that connects gets the text of metrics_page.c, and then the
 * connection is closed.  If it first sends GET, it gets the text as an HTTP/1.0
 * answer.  If it sends anything else, closes its side, or is silent for a
 * moment, it gets the plain text.  So `curl --unix-socket`, `socat -
 * UNIX-CONNECT:...` and a collector all work.
 *
 *	asked	reads the request, until its end or a timeout
 *	told	writes the text
 *
 * A client cannot disturb the daemon:
 *
 * - nothing here waits;
 * - the size of a request and the time for everything are limited;
 * - if there are too many clients, the oldest is disconnected, so that the next
 *   one always gets in; and
 * - all clients get the same text, which is made anew when it is older than
 *   half a second.
 *
 * A path where nobody answers (left by a killed daemon) may be replaced,
 * because the pid file excludes another daemon that is just starting.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <bsd/string.h>
#include "daemon_log.h"
#include "now.h"
#include "paths.h"
#include "serve.h"

#define READERS_MAX 16
#define REQUEST_MAX 4096
#define SILENCE_NS (100 * NS_PER_MS)	/* after that no GET is expected */
#define REST_NS NS_PER_SEC		/* pause when there are no
					 * descriptors */
#define PATIENCE_NS (3 * NS_PER_SEC)	/* for everything */

enum reader_state { UNUSED, ASKED, TOLD };

struct reader {
	enum reader_state state;
	int fd;
	int64_t since_ns;
	int64_t until_ns;
	size_t got;		/* bytes of the request */
	char request[REQUEST_MAX];
	char head[160];		/* head of the answer */
	size_t head_len, sent;
	struct metrics_page *page;	/* NULL: only the head is sent */
};

static struct reader readers[READERS_MAX];
static int epoll_fd, listen_fd = -1;
static int64_t deaf_ns;		/* not listening until then; 0: listening */
static uint32_t listener_kind, reader_kind;
static char path[SOCKET_PATH_MAX];
static unsigned path_mode;
static dev_t path_dev;
static ino_t path_ino;

static void
close_reader(struct reader *r)
{
	if (r->state == UNUSED)
		return;
	(void)close(r->fd);
	metrics_page_put(r->page);
	r->page = NULL;
	r->state = UNUSED;
}

/* Writes as much of the answer as the socket takes. */
static void
write_answer(struct reader *r)
{
	size_t body = r->page == NULL ? 0 : r->page->len;

	while (r->sent < r->head_len + body) {
		const char *from = r->sent < r->head_len ? r->head + r->sent :
		    r->page->text + (r->sent - r->head_len);
		size_t len = r->sent < r->head_len ? r->head_len - r->sent :
		    r->head_len + body - r->sent;
		ssize_t n = send(r->fd, from, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		r->sent += (size_t)n;
	}
	close_reader(r);
}

/* Starts the answer, with that HTTP status; 0: plain text. */
static void
begin_answer(struct reader *r, int status, bool body)
{
	struct epoll_event ev = { .events = EPOLLOUT,
	    .data.u64 = (uint64_t)reader_kind << 32 |
	    (uint32_t)(r - readers) };
	static const char *const reasons[] = { "OK", "Bad Request",
	    "Not Found" };
	int i = status == 200 ? 0 : status == 400 ? 1 : 2;

	r->state = TOLD;
	r->head_len = r->sent = 0;
	r->until_ns = r->since_ns + PATIENCE_NS;
	if (status == 0 || status == 200)
		r->page = metrics_page_get();
	if ((status == 0 || status == 200) && r->page == NULL) {
		close_reader(r);
		return;
	}
	if (status != 0)
		r->head_len = (size_t)snprintf(r->head, sizeof(r->head),
		    "HTTP/1.0 %d %s\r\n"
		    "Content-Type: text/plain; version=0.0.4\r\n"
		    "Content-Length: %zu\r\nConnection: close\r\n\r\n", status,
		    reasons[i], r->page == NULL ? (size_t)0 : r->page->len);
	if (!body) {
		metrics_page_put(r->page);
		r->page = NULL;
	}
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, r->fd, &ev) != 0)
		close_reader(r);
	else
		write_answer(r);
}

/* Answers a complete request: GET or HEAD, for /metrics or /. */
static void
begin_http_answer(struct reader *r)
{
	const char *p = strchr(r->request, ' ');
	size_t len;

	p = p == NULL ? "" : p + 1;
	len = strcspn(p, " ?\r\n");
	if ((len == 1 && p[0] == '/') ||
	    (len == 8 && strncmp(p, "/metrics", 8) == 0))
		begin_answer(r, 200, r->request[0] == 'G');
	else
		begin_answer(r, 404, false);
}

static bool
request_has_prefix(const struct reader *r, const char *word)
{
	size_t n = strlen(word);

	return strncmp(r->request, word, r->got < n ? r->got : n) == 0;
}

static void
read_request(struct reader *r)
{
	ssize_t n;

	do {
		n = recv(r->fd, r->request + r->got,
		    sizeof(r->request) - 1 - r->got, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		close_reader(r);
		return;
	}
	r->got += (size_t)n;
	r->request[r->got] = '\0';
	if (!request_has_prefix(r, "GET ") && !request_has_prefix(r, "HEAD "))
		begin_answer(r, 0, true);
	else if (strstr(r->request, "\r\n\r\n") != NULL ||
	    strstr(r->request, "\n\n") != NULL)
		begin_http_answer(r);
	else if (n == 0)	/* the client has closed its side */
		begin_answer(r, r->got == 0 ? 0 : 400, true);
	else if (r->got == sizeof(r->request) - 1)
		begin_answer(r, 400, false);
}

void
serve_ready(uint32_t i)
{
	struct reader *r = &readers[i];

	if (i >= READERS_MAX)
		return;
	if (r->state == ASKED)
		read_request(r);
	else if (r->state == TOLD)
		write_answer(r);
}

/* Returns an unused reader, if necessary by disconnecting the oldest. */
static struct reader *
find_free_reader(void)
{
	struct reader *oldest = &readers[0];

	for (struct reader *r = readers; r < readers + READERS_MAX; r++) {
		if (r->state == UNUSED)
			return r;
		if (r->since_ns < oldest->since_ns)
			oldest = r;
	}
	close_reader(oldest);
	return oldest;
}

void
serve_accept(void)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event ev = { .events = EPOLLIN };
	struct reader *r;

	if (fd < 0) {
		/* out of descriptors: the listener would stay readable, so stop
		 * watching it */
		if (errno == EMFILE || errno == ENFILE) {
			(void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, listen_fd,
			    NULL);
			deaf_ns = mono_ns() + REST_NS;
		}
		return;
	}
	r = find_free_reader();
	memset(r, 0, offsetof(struct reader, request));
	r->page = NULL;
	r->fd = fd;
	r->state = ASKED;
	r->since_ns = mono_ns();
	r->until_ns = r->since_ns + SILENCE_NS;
	ev.data.u64 = (uint64_t)reader_kind << 32 | (uint32_t)(r - readers);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
		close_reader(r);
}

/* Watches the listener again. */
static int
restore_listener(void)
{
	struct epoll_event ev = { .events = EPOLLIN,
	    .data.u64 = (uint64_t)listener_kind << 32 };

	deaf_ns = 0;
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &ev) == 0 ? 0 :
	    -errno;
}

int64_t
serve_run(int64_t now_ns)
{
	int64_t next_ns = INT64_MAX;

	if (deaf_ns > 0 && deaf_ns <= now_ns)
		(void)restore_listener();
	if (deaf_ns > 0)
		next_ns = deaf_ns;

	for (struct reader *r = readers; r < readers + READERS_MAX; r++) {
		if (r->state != UNUSED && r->until_ns <= now_ns) {
			if (r->state == ASKED && r->got == 0)
				begin_answer(r, 0, true);
			else if (now_ns - r->since_ns >= PATIENCE_NS)
				close_reader(r);
			else
				r->until_ns = r->since_ns + PATIENCE_NS;
		}
		if (r->state != UNUSED && r->until_ns < next_ns)
			next_ns = r->until_ns;
	}
	return next_ns;
}

static int
open_listener(void)
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
	listen_fd = fd;
	e = listen(fd, 64) != 0 || lstat(path, &st) != 0 ? -errno :
	    restore_listener();
	if (e != 0) {
		(void)close(fd);
		(void)unlink(path);
		listen_fd = -1;
		return e;
	}
	path_dev = st.st_dev;
	path_ino = st.st_ino;
	return 0;
}

void
serve_begin(int fd, uint32_t listener, uint32_t reader, metrics_page_fn *write)
{
	epoll_fd = fd;
	listener_kind = listener;
	reader_kind = reader;
	metrics_page_begin(write);
}

void
serve_configure(const char *new_path, unsigned mode)
{
	char why[PATHS_ERROR_MAX];
	int e;

	if (listen_fd >= 0 && strcmp(new_path, path) == 0 && mode == path_mode)
		return;
	serve_end();
	(void)strlcpy(path, new_path, sizeof(path));
	path_mode = mode;
	if (path[0] == '\0')
		return;
	if (paths_make_directory(path, why) != 0) {
		log_line(LOG_ERR, "no metrics: %s", why);
		return;
	}
	e = open_listener();
	if (e != 0)
		log_line(LOG_ERR, "no metrics: cannot listen at %s: %s; set "
		    "another path with key 'metrics'", path, e == -EEXIST ?
		    "the path exists and is no socket" : strerror(-e));
	else
		log_line(LOG_DEBUG, "metrics at %s", path);
}

void
serve_end(void)
{
	struct stat st;

	for (struct reader *r = readers; r < readers + READERS_MAX; r++)
		close_reader(r);
	if (listen_fd < 0)
		return;
	(void)close(listen_fd);
	listen_fd = -1;
	deaf_ns = 0;
	/* unless something else has that path now */
	if (lstat(path, &st) == 0 && st.st_dev == path_dev &&
	    st.st_ino == path_ino)
		(void)unlink(path);
}
