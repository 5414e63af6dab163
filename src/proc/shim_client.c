/* SPDX-License-Identifier: MIT */
/*
 * Connections of this process to the shim, which it asks for this host's right
 * to cluster keys.  op/shim_request.c and src/live use them.
 *
 * The shim writes into the table's header where it listens.  Everybody who may
 * write to the table can change that, but cannot listen under another user's
 * name.  The peer's user (SO_PEERCRED: the one that called listen()) must be
 * root, the table's owner, or our own.  The shim must also know the table's
 * uuid: the client sends HELLO first, and WELCOME must be the first answer.
 *
 * One thread uses a connection at a time; a few unused ones are kept.
 * Connections never block: a thread that waits for an answer does so in poll()
 * (op/shim_request.c).  A kept connection may have ended meanwhile, or contain
 * an answer that nobody wants any more; the ids tell.
 *
 * Answers are trusted only as messages: a right that is reported as granted is
 * then checked in the table (op/cluster_check.c).
 *
 * Fork.  A child's copies of the descriptors only keep the connections open.
 * The child does not use them, because its own attachment has its own
 * connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "proc/shim_client.h"
#include "shm/cluster_right.h"

#define KEPT_MAX 8u

struct lhi_shim_clients {
	struct lhi_shim_client *idle;	/* under lhi_proc_lock() */
	uint32_t n;
};

/* Checks that the listener at the socket can be trusted.  Returns 0 or
 * -EHOSTUNREACH. */
static int
check_peer(const struct lhi_view *v, int fd, const char *path)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct stat st;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
	    stat(v->path, &st) != 0)
		return lhi_fail(-EHOSTUNREACH, "cannot find out which user "
		    "runs the shim at %s: %s", path, strerror(errno));
	if (!lhi_uid_is_sure(peer.uid))
		return lhi_fail(-EHOSTUNREACH, "the shim at %s is run by user "
		    "%u, which in this user namespace is each user without a "
		    "number here, so it is not trusted; start leasehold-shimd "
		    "as root or as a user who is mapped here", path,
		    (unsigned)peer.uid);
	if (peer.uid != 0 && peer.uid != st.st_uid && peer.uid != geteuid())
		return lhi_fail(-EHOSTUNREACH, "the shim at %s is run by user "
		    "%u, who is neither root, this user nor the owner of %s; "
		    "start leasehold-shimd as one of these", path,
		    (unsigned)peer.uid, v->path);
	return 0;
}

static int
report_unreachable(const char *path, int error)
{
	const char *why = error == ENOENT ? "there is no such socket" :
	    error == ECONNREFUSED ? "nobody listens there" : error == EAGAIN ?
	    "it accepts no more connections" : strerror(error);

	if (error == EMFILE || error == ENFILE)
		return lhi_fail(-error, "cannot connect to the shim: too many "
		    "open files");
	return lhi_fail(-EHOSTUNREACH, "cannot reach the shim, which connects "
	    "this host to the cluster (%s: %s); %s", path, why, error ==
	    EACCES ? "its owner and group may connect: see the modes of the "
	    "socket and its directory" : error == ENOENT ? "check that "
	    "leasehold-shimd runs, and restart it if its socket was removed" :
	    "check that leasehold-shimd runs");
}

/* Connects to the shim. */
static int
connect_to_shim(const struct lhi_view *v, int *out)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char path[SHM_SOCKET];
	int fd, error;

	if (!lhi_cluster_socket(v, path))
		return lhi_fail(-EHOSTUNREACH, "no shim has served this table "
		    "yet, so its cluster keys cannot be acquired; start "
		    "leasehold-shimd for %s", v->path);
	if (strnlen(path, sizeof(path)) >= sizeof(to.sun_path))
		return report_unreachable(path, ENAMETOOLONG);
	memcpy(to.sun_path, path, strlen(path) + 1);
	fd = lhi_fd_socket(SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return report_unreachable(path, errno);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		error = report_unreachable(path, errno);
	else
		error = check_peer(v, fd, path);
	if (error != 0)
		(void)close(fd);
	else
		*out = fd;
	return error;
}

static int
begin_client(struct lh *lh, struct lhi_shim_client **out)
{
	struct lhi_frame hello = { .type = FRAME_HELLO };
	struct lhi_shim_client *c = malloc(sizeof(*c));
	int error;

	if (c == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	*c = (struct lhi_shim_client){ .fd = -1 };
	memcpy(hello.uuid, lh->v.uuid, sizeof(hello.uuid));
	error = connect_to_shim(&lh->v, &c->fd);
	if (error == 0 && lhi_shim_client_send(c, &hello) != 0)
		error = lhi_fail(-EHOSTUNREACH, "the shim does not accept "
		    "requests");
	if (error != 0)
		lhi_shim_client_drop(c);
	else
		*out = c;
	return error;
}

int
lhi_shim_client_take(struct lh *lh, struct lhi_shim_client **out, bool *made)
{
	struct lhi_shim_client *c = NULL;
	int saved = errno, error = 0;

	lhi_proc_lock();
	if (lh->shims != NULL && lh->shims->idle != NULL) {
		c = lh->shims->idle;
		lh->shims->idle = c->next;
		lh->shims->n--;
	}
	lhi_proc_unlock();
	*made = c == NULL;
	if (c == NULL)
		error = begin_client(lh, &c);
	if (error == 0)
		*out = c;
	errno = saved;
	return error;
}

void
lhi_shim_client_keep(struct lh *lh, struct lhi_shim_client *c)
{
	lhi_proc_lock();
	if (lh->shims == NULL)
		lh->shims = calloc(1, sizeof(*lh->shims));
	if (lh->shims != NULL && lh->shims->n < KEPT_MAX) {
		c->next = lh->shims->idle;
		lh->shims->idle = c;
		lh->shims->n++;
		c = NULL;
	}
	lhi_proc_unlock();
	if (c != NULL)
		lhi_shim_client_drop(c);
}

void
lhi_shim_client_drop(struct lhi_shim_client *c)
{
	int saved = errno;

	if (c->fd >= 0)
		(void)close(c->fd);
	free(c);
	errno = saved;
}

int
lhi_shim_client_send(struct lhi_shim_client *c, struct lhi_frame *f)
{
	int saved = errno, len;
	ssize_t n;

	f->id = f->type == FRAME_DROP ? c->id : c->id + 1;
	len = lhi_frame_pack(f, c->buf, sizeof(c->buf));
	if (len < 0)
		return lhi_fail(-EINVAL, "the request cannot be encoded for "
		    "the shim");
	n = send(c->fd, c->buf, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	errno = saved;
	c->id = f->id;
	return n == len ? 0 : -EPIPE;
}

/* Receives the next frame, whatever it answers. */
static int
receive_frame(struct lhi_shim_client *c, struct lhi_frame *f)
{
	int saved = errno, error;
	ssize_t n;

	do
		n = recv(c->fd, c->buf, sizeof(c->buf), MSG_DONTWAIT |
		    MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	error = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? -EAGAIN :
	    n <= 0 ? -EPIPE : 0;
	errno = saved;
	if (error != 0)
		return error;
	return (size_t)n <= sizeof(c->buf) &&
	    lhi_frame_read(f, c->buf, (size_t)n) == 0 &&
	    lhi_frame_from_shim(f->type) ? 0 : -EPROTO;
}

int
lhi_shim_client_answer(struct lh *lh, struct lhi_shim_client *c, struct
    lhi_frame *f)
{
	int error;

	do {
		error = receive_frame(c, f);
		if (error != 0)
			return error;
		if (c->known)
			continue;
		if (f->type != FRAME_WELCOME ||
		    memcmp(f->uuid, lh->v.uuid, sizeof(f->uuid)) != 0)
			return -EPROTO;
		c->known = true;
	} while (f->type == FRAME_WELCOME || f->id != c->id);
	return 0;
}

void
lhi_shim_client_end(struct lh *lh)
{
	struct lhi_shim_client *c;

	while (lh->shims != NULL && (c = lh->shims->idle) != NULL) {
		lh->shims->idle = c->next;
		lhi_shim_client_drop(c);
	}
	free(lh->shims);
	lh->shims = NULL;
}
