/* SPDX-License-Identifier: MIT */
/*
 * Answers the clients that read metrics.  The loops of both daemons call it;
 * serve_listen.c has the sockets that clients connect to.
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
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "now.h"
#include "serve.h"
#include "serve_listen.h"

#define READERS_MAX 16
#define REQUEST_MAX 4096
#define SILENCE_NS (100 * NS_PER_MS)	/* after that no GET is expected */
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
static int epoll_fd;
static uint32_t reader_kind;

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

int64_t
serve_run(int64_t now_ns)
{
	int64_t next_ns = serve_listen_run(now_ns);

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

void
serve_begin(int fd, uint32_t listener, uint32_t reader, metrics_page_fn *write)
{
	epoll_fd = fd;
	reader_kind = reader;
	serve_listen_begin(fd, listener);
	metrics_page_begin(write);
}

unsigned
serve_adopt(const char *name)
{
	return serve_listen_adopt(name);
}

void
serve_accept(uint32_t i)
{
	int fd = serve_listen_accept(i);
	struct epoll_event ev = { .events = EPOLLIN };
	struct reader *r;

	if (fd < 0)
		return;
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

static void
close_readers(void)
{
	for (struct reader *r = readers; r < readers + READERS_MAX; r++)
		close_reader(r);
}

void
serve_configure(const char *path, unsigned mode)
{
	if (serve_listen_is_at(path, mode))
		return;
	close_readers();
	serve_listen_at(path, mode);
}

void
serve_end(void)
{
	close_readers();
	serve_listen_end();
}
