/* SPDX-License-Identifier: MIT */
/*
 * Reads the frames of clients, so that each user has its turn.
 *
 * In each round of the loop a user has up to USER_QUANTUM frames handled; a key
 * that is wanted counts as a frame, because it is about as much work.  When
 * that is used up, the user's clients that have more to say are parked, in the
 * order in which they came, and are read in the next round, before any other of
 * that user.  So a user alone has the whole loop, and one beside others has its
 * share, however many connections any of them has.
 *
 *	reads		its descriptor is watched
 *	parked		its user's turn is over: until the next round
 *	paused		more than CREDIT frames in REST_NS: until the refill
 */
#include <errno.h>
#include <sys/socket.h>
#include "shim.h"

#define FRAMES 16		/* of a client, before the next client's turn */
#define CREDIT SHIM_CREDIT
#define REST_NS (100 * NS_PER_MS)

/* A message of the client.  Returns what it costs; -1: hang up; 0: there is
 * none. */
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
	return f.type == FRAME_WANT ? f.n : 1;
}

static void
rest_soon(struct shim *s)
{
	struct timeval tv = { 0, REST_NS / 1000 };

	if (!evtimer_pending(s->refill, NULL))
		(void)evtimer_add(s->refill, &tv);
}

static void
begin_round_soon(struct shim *s)
{
	struct timeval now = { 0, 0 };

	if (!evtimer_pending(s->round, NULL))
		(void)evtimer_add(s->round, &now);
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
serve_client(struct client *c)
{
	struct shim *s = c->s;
	int cost = 1;

	for (int i = 0; i < FRAMES && c->user->left > 0 && !c->doomed; i++) {
		cost = read_frame(c);
		if (cost <= 0)
			break;
		c->user->left -= cost;
		if (--c->credit == 0) {
			c->paused = true;
			(void)event_del(c->ready);
			break;
		}
	}
	begin_round_soon(s);
	if (cost < 0 || c->doomed) {
		client_free(c);
		return;
	}
	rest_soon(s);
	TAILQ_REMOVE(&s->clients, c, of);
	TAILQ_INSERT_TAIL(&s->clients, c, of);
}

static void
park_client(struct client *c)
{
	(void)event_del(c->ready);
	c->is_parked = true;
	TAILQ_INSERT_TAIL(&c->user->parked, c, parked);
	begin_round_soon(c->s);
}

static void
on_round(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	struct client *c;
	struct user *u;

	/* users are freed by the sweep only, and made by new connections */
	TAILQ_FOREACH(u, &s->users, all) {
		u->left = u->left < 0 ? u->left + USER_QUANTUM : USER_QUANTUM;
		while (u->left > 0 && (c = TAILQ_FIRST(&u->parked)) != NULL) {
			TAILQ_REMOVE(&u->parked, c, parked);
			c->is_parked = false;
			(void)event_add(c->ready, NULL);
			serve_client(c);
		}
		if (!TAILQ_EMPTY(&u->parked))
			begin_round_soon(s);
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;

	if (c->doomed)
		client_free(c);
	else if (c->user->left > 0 && TAILQ_EMPTY(&c->user->parked))
		serve_client(c);
	else if (!c->is_parked)
		park_client(c);
}

int
turns_open(struct shim *s)
{
	s->on_readable = on_readable;
	s->refill = evtimer_new(s->o.base, on_refill, s);
	s->round = evtimer_new(s->o.base, on_round, s);
	return s->refill != NULL && s->round != NULL ? 0 : -ENOMEM;
}

void
turns_close(struct shim *s)
{
	if (s->refill != NULL)
		event_free(s->refill);
	if (s->round != NULL)
		event_free(s->round);
	s->refill = s->round = NULL;
}
