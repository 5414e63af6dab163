/* SPDX-License-Identifier: MIT */
/*
 * Reads the frames of clients so that each user gets its turn.
 *
 * In each round of the loop, up to USER_QUANTUM frames of a user are handled.
 * A wanted key counts as a frame, because it costs about as much.  When the
 * quantum is used up, the user's clients with more frames are parked in the
 * order of their arrival.  They are read in the next round before any other
 * client of that user.  So a single user gets the whole loop, and each of
 * several users gets a share, however many connections it has.
 *
 *	reads		the descriptor is watched
 *	parked		the user's turn is over: until the next round
 *	paused		more than CREDIT frames in REST_NS: until the refill
 */
#include <errno.h>
#include <sys/socket.h>
#include "shim.h"

#define FRAMES 16		/* of a client, before the next client is
				 * read */
#define CREDIT SHIM_CREDIT
#define REST_NS (100 * NS_PER_MS)

/* Reads and handles a frame.  Returns its cost, 0 if there is none, or -1 if
 * the client must be disconnected. */
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

/* Schedules the next refill of credits. */
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

/* Reads frames of a client until its or its user's share is used up. */
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

	/* no user is made or freed within this loop */
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
