/* SPDX-License-Identifier: MIT */
/*
 * The socket of the shim: SOCK_SEQPACKET, one frame in each message.  turns.c
 * reads the frames, dispatch.c handles them.
 *
 * The socket's mode decides who may connect.  A client must send the table's
 * uuid first; nothing else about it is checked.  No client can harm another:
 *
 *	invalid or too long message	the connection is closed
 *	no room for an answer		it does not read: closed
 *	many frames			read in turn (turns.c)
 *	too many requests, questions	refused
 *	too many connections		one is closed: of the user with the
 *					most, the one that is silent longest and
 *					waits for nothing.  If there is none,
 *					the new one.  Budgets of users: users.c
 *	no descriptors			the shim stops accepting for a while
 *
 * Nothing is buffered for a client that does not read.  A client is freed only
 * by its own event; elsewhere it is only marked (client_doom).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <bsd/string.h>
#include "daemon/daemon_log.h"
#include "daemon/paths.h"
#include "shim.h"

#define BACKLOG 1024
#define ACCEPTS 32		/* at a time, so that other events get a turn */
#define ACCEPT_PAUSE_S 1
#define KEPT_FDS 32u

/* Marks a client to be freed by its own event.  Anywhere else it must not be
 * freed. */
static void
client_doom(struct client *c)
{
	c->doomed = true;
	event_active(c->ready, EV_TIMEOUT, 0);
}

void
client_free(struct client *c)
{
	struct shim *s = c->s;

	s->on_client_gone(c);
	if (c->is_parked)
		TAILQ_REMOVE(&c->user->parked, c, parked);
	TAILQ_REMOVE(&s->clients, c, of);
	s->n_clients--;
	c->user->n_clients--;
	event_free(c->ready);
	(void)close(c->fd);
	free(c);
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
	client_doom(c);
}

/* u: a client of that user; NULL: of any user. */
/* Returns the client that is silent longest and waits for nothing. */
static struct client *
find_silent(struct shim *s, const struct user *u)
{
	struct client *c;

	TAILQ_FOREACH(c, &s->clients, of)
		if ((u == NULL || c->user == u) && c->n_requests == 0 &&
		    c->n_queries == 0 && !c->doomed)
			return c;
	return NULL;
}

/* Makes room for one more connection of the user, if necessary by closing one
 * of the user with the most connections.  Returns false if there is no room. */
static bool
make_room_for(struct shim *s, const struct user *u)
{
	const struct user *other, *most = u;
	struct client *silent;

	if (!user_may_connect(s, u))
		return false;
	if (user_has_sixteenth(s, u))
		return true;
	TAILQ_FOREACH(other, &s->users, all)
		if (other->n_clients > most->n_clients)
			most = other;
	silent = find_silent(s, most);
	if (silent == NULL)
		silent = find_silent(s, NULL);
	if (silent == NULL)
		return false;
	client_doom(silent);
	return true;
}

/* Takes over a new connection, or closes it. */
static void
add_client(struct shim *s, int fd)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);
	struct client *c = NULL;
	struct user *u = NULL;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
		u = user_of(s, who.uid);
	if (u != NULL && make_room_for(s, u))
		c = calloc(1, sizeof(*c));
	if (c != NULL)
		c->ready = event_new(s->o.base, fd, EV_READ | EV_PERSIST,
		    s->on_readable, c);
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
	c->user = u;
	c->credit = SHIM_CREDIT;
	TAILQ_INIT(&c->requests);
	TAILQ_INIT(&c->queries);
	TAILQ_INSERT_TAIL(&s->clients, c, of);
	s->n_clients++;
	u->n_clients++;
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

/* Creates the socket with its mode.  Returns 0 or -errno. */
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

/* Lowers max_clients so that descriptors for the table, the store and tickets
 * stay free. */
static void
limit_clients(struct shim *s)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) == 0 &&
	    most.rlim_cur > 4 * KEPT_FDS &&
	    s->o.max_clients > most.rlim_cur - 2 * KEPT_FDS)
		s->o.max_clients = (unsigned)most.rlim_cur - 2 * KEPT_FDS;
}

int
client_listen(struct shim *s, char why[SHIM_WHY_MAX])
{
	struct event_base *base = s->o.base;
	char place[PATHS_ERROR_MAX];
	int e;

	limit_clients(s);
	if (strlcpy(s->socket, s->o.socket, sizeof(s->socket)) >=
	    SOCKET_PATH_MAX) {
		(void)snprintf(why, SHIM_WHY_MAX, "the socket's path has more "
		    "than %d bytes", SOCKET_PATH_MAX - 1);
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
		    s->socket, e == -EEXIST ? "the path exists and is no "
		    "socket" :
		    strerror(-e));
		return e;
	}
	s->accept_timer = evtimer_new(base, on_accept_again, s);
	s->listener = event_new(base, s->listen_fd, EV_READ | EV_PERSIST,
	    on_connection, s);
	if (s->accept_timer != NULL && s->listener != NULL &&
	    event_add(s->listener, NULL) == 0)
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
		client_free(c);
	if (s->listener != NULL)
		event_free(s->listener);
	if (s->accept_timer != NULL)
		event_free(s->accept_timer);
	s->listener = s->accept_timer = NULL;
	if (s->listen_fd >= 0)
		(void)close(s->listen_fd);
	s->listen_fd = -1;
	/* unless something else has that path now */
	if (s->socket_ino != 0 && lstat(s->socket, &st) == 0 &&
	    st.st_dev == s->socket_dev && st.st_ino == s->socket_ino)
		(void)unlink(s->socket);
}
