/* SPDX-License-Identifier: MIT */
/*
 * The socket at which processes ask: SOCK_SEQPACKET, one frame a message.
 *
 * The mode of the socket says who may connect; a client that greets with the
 * table's uuid is not checked further.  No client can harm another:
 *
 *	a message that is no frame, or too long		close the connection
 *	no room for an answer				close: it does not read
 *	more than CREDIT frames in REST_NS		pause reading until then
 *	too many requests or queries			refuse
 *	more connections than max_clients		close the one that has
 *		been silent longest and has no request; without such a one,
 *		the new one.  One user (except ours and root) may have half
 *		of them
 *	no descriptors					stop accepting for a
 *							while
 *
 * Nothing is kept for a client that does not read.  A client is freed only from
 * its own event: elsewhere it is marked as doomed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <bsd/string.h>
#include "daemon/daemon_log.h"
#include "daemon/paths.h"
#include "shim.h"

#define BACKLOG 1024
#define ACCEPTS 32		/* at a time, so that others have their turn */
#define FRAMES 16		/* the same */
#define CREDIT 400		/* frames in REST_NS */
#define REST_NS (100 * NS_PER_MS)
#define ACCEPT_PAUSE_S 1

static void
doom_client(struct client *c)
{
	c->doomed = true;
	event_active(c->ready, EV_TIMEOUT, 0);
}

static void
free_client(struct client *c)
{
	struct shim *s = c->s;
	struct query *a;

	s->on_client_gone(c);
	while ((a = TAILQ_FIRST(&c->queries)) != NULL) {
		TAILQ_REMOVE(&c->queries, a, of);
		a->client = NULL;
	}
	TAILQ_REMOVE(&s->clients, c, of);
	s->n_clients--;
	event_free(c->ready);
	(void)close(c->fd);
	free(c);
}

struct query *
query_new(struct client *c, uint32_t id)
{
	struct query *a =
	    c->n_queries < SHIM_QUERIES_MAX ? calloc(1, sizeof(*a)) : NULL;

	if (a == NULL)
		return NULL;
	a->s = c->s;
	a->client = c;
	a->id = id;
	TAILQ_INSERT_TAIL(&c->queries, a, of);
	TAILQ_INSERT_TAIL(&c->s->queries, a, all);
	c->n_queries++;
	return a;
}

void
query_free(struct query *a)
{
	if (a->client != NULL) {
		TAILQ_REMOVE(&a->client->queries, a, of);
		a->client->n_queries--;
	}
	TAILQ_REMOVE(&a->s->queries, a, all);
	free(a);
}

void
queries_free(struct shim *s)
{
	struct query *a;

	while ((a = TAILQ_FIRST(&s->queries)) != NULL)
		query_free(a);
}

void
client_send(struct client *c, const struct lhi_frame *f)
{
	static char buf[FRAME_LEN_MAX];
	int len = lhi_frame_pack(f, buf, sizeof(buf));
	ssize_t n;

	if (c->doomed)
		return;
	do {
		n = len < 0 ? -1 : send(c->fd, buf, (size_t)len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && len >= 0 && errno == EINTR);
	if (n == len)
		return;
	if (len >= 0 && errno == EAGAIN)
		c->s->count.refused++;
	doom_client(c);
}

/* A message of it, if there is one: -1: hang up; 0: there is none. */
static int
read_frame(struct client *c)
{
	static char buf[FRAME_LEN_MAX];
	static struct lhi_frame f;
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	if ((size_t)n > sizeof(buf) ||
	    lhi_frame_read(&f, buf, (size_t)n) != 0 ||
	    lhi_frame_from_shim(f.type) ||
	    (!c->greeted && f.type != FRAME_HELLO) || !c->s->on_frame(c, &f)) {
		c->s->count.refused++;
		return -1;
	}
	return 1;
}

static void
pause_client(struct client *c)
{
	struct timeval tv = { 0, REST_NS / 1000 };

	c->paused = true;
	(void)event_del(c->ready);
	if (!evtimer_pending(c->s->refill, NULL))
		(void)evtimer_add(c->s->refill, &tv);
}

static void
on_refill(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	struct client *c;

	TAILQ_FOREACH(c, &s->clients, of) {
		c->credit = CREDIT;
		if (c->paused)
			(void)event_add(c->ready, NULL);
		c->paused = false;
	}
}

static void
on_client(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	struct timeval tv = { 0, REST_NS / 1000 };
	int heard = 1;

	for (int i = 0; i < FRAMES && heard > 0 && !c->doomed; i++) {
		heard = read_frame(c);
		if (heard > 0 && --c->credit == 0) {
			pause_client(c);
			break;
		}
	}
	if (heard < 0 || c->doomed) {
		free_client(c);
		return;
	}
	if (!evtimer_pending(c->s->refill, NULL))
		(void)evtimer_add(c->s->refill, &tv);
	TAILQ_REMOVE(&c->s->clients, c, of);
	TAILQ_INSERT_TAIL(&c->s->clients, c, of);
}

/* Is there room for one more of that user? */
static bool
has_room_for(struct shim *s, uid_t uid)
{
	struct client *c, *silent = NULL;
	unsigned of_user = 0;

	if (s->n_clients < s->o.max_clients / 2)
		return true;
	TAILQ_FOREACH(c, &s->clients, of) {
		of_user += c->uid == uid;
		if (silent == NULL && c->n_requests == 0 && c->n_queries == 0 &&
		    !c->doomed)
			silent = c;
	}
	if (uid != 0 && uid != geteuid() && of_user >= s->o.max_clients / 2)
		return false;
	if (s->n_clients < s->o.max_clients)
		return true;
	if (silent == NULL)
		return false;
	doom_client(silent);
	return true;
}

static void
add_client(struct shim *s, int fd)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);
	struct client *c = NULL;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	    has_room_for(s, who.uid))
		c = calloc(1, sizeof(*c));
	if (c != NULL)
		c->ready = event_new(s->o.base, fd, EV_READ | EV_PERSIST,
		    on_client, c);
	if (c == NULL || c->ready == NULL || event_add(c->ready, NULL) != 0) {
		if (c != NULL && c->ready != NULL)
			event_free(c->ready);
		free(c);
		(void)close(fd);
		s->count.refused++;
		return;
	}
	c->s = s;
	c->fd = fd;
	c->uid = who.uid;
	c->credit = CREDIT;
	TAILQ_INIT(&c->requests);
	TAILQ_INIT(&c->queries);
	TAILQ_INSERT_TAIL(&s->clients, c, of);
	s->n_clients++;
	s->count.clients++;
}

static void
on_connection(evutil_socket_t listen_fd, short what, void *arg)
{
	struct timeval tv = { ACCEPT_PAUSE_S, 0 };
	struct shim *s = arg;

	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(listen_fd, NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			add_client(s, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS) {
			(void)event_del(s->listener);
			(void)evtimer_add(s->accept_timer, &tv);
		}
		return;
	}
}

static void
on_accept_again(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;

	(void)event_add(s->listener, NULL);
}

static int
bind_socket(struct shim *s)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int e = paths_take_socket(s->socket, SOCK_SEQPACKET);

	if (e != 0)
		return e;
	s->listen_fd = socket(AF_UNIX,
	    SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd < 0)
		return -errno;
	(void)strlcpy(at.sun_path, s->socket, sizeof(at.sun_path));
	mask = umask(~s->o.socket_mode & 0777);
	e = bind(s->listen_fd, (struct sockaddr *)&at, sizeof(at)) == 0 ? 0 :
	    -errno;
	(void)umask(mask);
	if (e == 0 && (listen(s->listen_fd, BACKLOG) != 0 ||
	    lstat(s->socket, &st) != 0))
		e = -errno;
	if (e == 0) {
		s->socket_dev = st.st_dev;
		s->socket_ino = st.st_ino;
	}
	return e;
}

int
client_listen(struct shim *s, char why[SHIM_WHY_MAX])
{
	struct event_base *base = s->o.base;
	char place[PATHS_ERROR_MAX];
	int e;

	TAILQ_INIT(&s->clients);
	if (strlcpy(s->socket, s->o.socket, sizeof(s->socket)) >=
	    SOCKET_PATH_MAX) {
		(void)snprintf(why, SHIM_WHY_MAX, "the socket's path is "
		    "longer than %d bytes", SOCKET_PATH_MAX - 1);
		return -ENAMETOOLONG;
	}
	if (paths_make_directory(s->socket, place) != 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "cannot listen at %.100s: "
		    "%.380s", s->socket, place);
		return -EACCES;
	}
	e = bind_socket(s);
	if (e != 0) {
		(void)snprintf(why, SHIM_WHY_MAX, "cannot listen at %s: %s",
		    s->socket, e == -EEXIST ? "there is something else" :
		    strerror(-e));
		return e;
	}
	s->accept_timer = evtimer_new(base, on_accept_again, s);
	s->refill = evtimer_new(base, on_refill, s);
	s->listener = event_new(base, s->listen_fd, EV_READ | EV_PERSIST,
	    on_connection, s);
	if (s->accept_timer != NULL && s->refill != NULL &&
	    s->listener != NULL && event_add(s->listener, NULL) == 0)
		return 0;
	(void)snprintf(why, SHIM_WHY_MAX, "out of memory");
	return -ENOMEM;
}

void
client_end(struct shim *s)
{
	struct client *c;
	struct stat st;

	while (s->n_clients > 0 && (c = TAILQ_FIRST(&s->clients)) != NULL)
		free_client(c);
	if (s->listener != NULL)
		event_free(s->listener);
	if (s->accept_timer != NULL)
		event_free(s->accept_timer);
	if (s->refill != NULL)
		event_free(s->refill);
	s->listener = s->accept_timer = s->refill = NULL;
	if (s->listen_fd >= 0)
		(void)close(s->listen_fd);
	s->listen_fd = -1;
	/* unless somebody has put something else there */
	if (s->socket_ino != 0 && lstat(s->socket, &st) == 0 &&
	    st.st_dev == s->socket_dev && st.st_ino == s->socket_ino)
		(void)unlink(s->socket);
}
