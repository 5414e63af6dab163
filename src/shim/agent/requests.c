/* SPDX-License-Identifier: MIT */
/*
 * Requests of clients: each WANT frame, and each key in it.  dispatch.c makes
 * them; key_step.c answers them.
 *
 * A request lives until its keys all have a right, the client drops it or
 * disconnects, or its time is over.  It has one answer:
 *
 * - GRANTED, if the keys have their rights at once;
 * - QUEUED, when the shim holds the keys locally.  Nothing more is sent then,
 *   because a process that waits in the table sees the outcome there; or
 * - an error.
 *
 * A try is answered when the cluster has answered, or after TRY_CALLS timeouts
 * of a call plus BUSY_NS.  That covers one lost answer, and the moment that
 * another host gets (key_step.c).
 */
#include <errno.h>
#include <stdlib.h>
#include "shim.h"

#define TRY_CALLS 2
#define BUSY_NS (50 * NS_PER_MS)	/* as BUSY_AFTER_NS in key_step.c */
#define SPARE_MS 50		/* for the answer's way to the client */

/* Sets the timer to the end of the oldest try.  All tries last about equally
 * long, so the oldest one ends first. */
static void
start_try_timer(struct shim *s)
{
	const struct request *w = TAILQ_FIRST(&s->tries);
	int64_t left_us = w == NULL ? 0 :
	    (w->until_ns - shim_now_ns()) / 1000 + 1;
	struct timeval tv = { left_us / 1000000, left_us % 1000000 };

	if (left_us < 0)
		tv.tv_sec = tv.tv_usec = 0;
	if (w != NULL && !evtimer_pending(s->try_timer, NULL))
		(void)evtimer_add(s->try_timer, &tv);
}

/* Returns how long a try lasts, if the client waits for wait_ms. */
static int64_t
try_ns(const struct shim *s, uint32_t wait_ms)
{
	int64_t ns = TRY_CALLS * s->o.timeout_ms * NS_PER_MS + BUSY_NS;
	int64_t most_ns = ((int64_t)wait_ms - SPARE_MS) * NS_PER_MS;

	return ns < most_ns ? ns : most_ns < 0 ? 0 : most_ns;
}

struct request *
request_new(struct client *c, const struct lhi_frame *f)
{
	struct shim *s = c->s;
	struct request *w = calloc(1, sizeof(*w) + f->n * sizeof(w->key[0]));

	if (w == NULL)
		return NULL;
	w->client = c;
	w->id = f->id;
	w->try = f->flags & FRAME_TRY;
	w->several = f->n > 1;
	w->began_ns = shim_now_ns();
	w->until_ns = w->try ? w->began_ns + try_ns(s, f->wait_ms) :
	    f->wait_ms == FRAME_NO_END ? INT64_MAX :
	    w->began_ns + (int64_t)f->wait_ms * NS_PER_MS;
	TAILQ_INSERT_TAIL(&c->requests, w, of_client);
	TAILQ_INSERT_TAIL(&s->requests, w, all);
	s->n_requests++;
	c->n_requests++;
	if (w->try) {
		TAILQ_INSERT_TAIL(&s->tries, w, of_tries);
		start_try_timer(s);
	}
	return w;
}

void
request_add_key(struct request *w, struct key *k, unsigned mode, int64_t above)
{
	struct request_key *i = &w->key[w->n++];

	i->request = w;
	i->key = k;
	i->mode = mode;
	i->above = above;
	w->left++;
	w->client->user->n_wanted++;
	TAILQ_INSERT_TAIL(&k->requests, i, of_key);
	if (mode == RIGHT_EXCLUSIVE)
		k->n_exclusive++;
}

/* Removes a key from its request. */
static void
drop_key(struct request_key *i)
{
	struct key *k = i->key;

	if (k == NULL)
		return;
	TAILQ_REMOVE(&k->requests, i, of_key);
	if (i->mode == RIGHT_EXCLUSIVE)
		k->n_exclusive--;
	i->key = NULL;
	i->request->left--;
	i->request->client->user->n_wanted--;
	key_touch(k);
}

void
request_free(struct request *w)
{
	struct shim *s = w->client->s;

	for (unsigned i = 0; i < w->n; i++)
		drop_key(&w->key[i]);
	TAILQ_REMOVE(&w->client->requests, w, of_client);
	TAILQ_REMOVE(&s->requests, w, all);
	if (w->try)
		TAILQ_REMOVE(&s->tries, w, of_tries);
	s->n_requests--;
	w->client->n_requests--;
	if (s->handling == w)
		s->handling = NULL;
	free(w);
}

void
requests_free(struct client *c)
{
	struct request *w;

	while ((w = TAILQ_FIRST(&c->requests)) != NULL)
		request_free(w);
}

void
request_answer(struct request *w, uint8_t type, int error, const char *why)
{
	struct shim *s = w->client->s;
	struct lhi_frame f = { .type = type, .id = w->id, .error = error };

	if (w->answered)
		return;
	w->answered = true;
	s->count.answers[type]++;
	if (why != NULL) {
		f.text = why;
		f.text_len = (uint16_t)strnlen(why, SHIM_WHY_MAX - 1);
	}
	client_send(w->client, &f);
}

/* As request_answer(), and names the key if the request is for several. */
void
request_refuse(struct request *w, const struct key *k, uint8_t type, int error,
    const char *why)
{
	char text[SHIM_WHY_MAX];

	if (w->several) {
		(void)snprintf(text, sizeof(text), "'%.64s': %.400s", k->name,
		    why);
		why = text;
	}
	request_answer(w, type, error, why);
}

unsigned
requests_strongest_mode(const struct key *k)
{
	return k->n_exclusive > 0 ? RIGHT_EXCLUSIVE :
	    !TAILQ_EMPTY(&k->requests) ? RIGHT_SHARED : RIGHT_NONE;
}

unsigned
requests_weakest_mode(const struct key *k)
{
	const struct request_key *i;

	TAILQ_FOREACH(i, &k->requests, of_key)
		if (i->mode == RIGHT_SHARED)
			return RIGHT_SHARED;
	return TAILQ_EMPTY(&k->requests) ? RIGHT_NONE : RIGHT_EXCLUSIVE;
}

bool
requests_has_newer_base(const struct key *k)
{
	const struct request_key *i;

	TAILQ_FOREACH(i, &k->requests, of_key)
		if (i->above >= k->base)
			return true;
	return false;
}

bool
requests_is_only_tries(const struct key *k)
{
	const struct request_key *i;

	TAILQ_FOREACH(i, &k->requests, of_key)
		if (!i->request->try)
			return false;
	return true;
}

void
requests_grant(struct key *k)
{
	struct request_key *i, *next;

	TAILQ_FOREACH_SAFE(i, &k->requests, of_key, next) {
		struct request *w = i->request;

		if (i->mode > k->right || i->above >= k->base)
			continue;
		drop_key(i);
		if (w->left > 0)
			continue;
		request_answer(w, FRAME_GRANTED, 0, NULL);
		request_free(w);
	}
}

void
requests_fail(struct key *k, bool tries, uint8_t type, int error,
    const char *why)
{
	struct request_key *i, *next;

	/* a request has a key only once, so `next` belongs to another
	 * request */
	TAILQ_FOREACH_SAFE(i, &k->requests, of_key, next) {
		struct request *w = i->request;

		if (tries && !w->try)
			continue;
		request_refuse(w, k, type, error, why);
		request_free(w);
	}
}

/* Also answers requests for weaker modes that wait locally: they ask again.
 * Otherwise a denied process would learn it only after the others have had the
 * key. */
void
requests_deny(struct key *k, unsigned mode, const char *why)
{
	struct request_key *i, *next;

	TAILQ_FOREACH_SAFE(i, &k->requests, of_key, next) {
		struct request *w = i->request;

		if (mode == DENY_NEWER ? i->above < k->base :
		    i->mode < mode && !w->answered)
			continue;
		request_refuse(w, k, FRAME_DENIED, 0, why);
		request_free(w);
	}
}

void
requests_fail_all(struct shim *s, uint8_t type, int error, const char *why)
{
	struct request *w;

	while ((w = TAILQ_FIRST(&s->requests)) != NULL) {
		request_answer(w, type, error, why);
		request_free(w);
	}
}

/* Returns the key of the request that another host has, if the request is
 * deferred; else NULL. */
static struct key *
find_deferred(const struct request *w)
{
	struct key *k, *found = NULL;

	for (unsigned i = 0; i < w->n; i++) {
		k = w->key[i].key;
		if (k != NULL && k->busy_after_ns != 0 &&
		    (found == NULL || k->busy_by != NULL))
			found = k;
	}
	return found;
}

void
requests_expire(struct shim *s)
{
	int64_t now_ns = shim_now_ns();
	const char *refusal = shim_refusal(s);
	char why[SHIM_WHY_MAX] = "the cluster did not answer in time";
	struct request *w, *next;

	if (refusal[0] != '\0')
		(void)snprintf(why, sizeof(why), "the cluster refuses changes: "
		    "%.400s", refusal);
	TAILQ_FOREACH_SAFE(w, &s->requests, all, next) {
		struct key *k = w->try ? find_deferred(w) : NULL;

		if (w->until_ns > now_ns)
			continue;
		if (k != NULL)
			request_refuse(w, k, FRAME_BUSY, 0,
			    k->busy_by != NULL ? k->busy_by : "another host");
		else
			request_answer(w, FRAME_AWAY, 0, why);
		request_free(w);
	}
}

static void
on_try_timer(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	struct request *w;

	w = TAILQ_FIRST(&s->tries);
	if (w != NULL && w->until_ns <= shim_now_ns())
		requests_expire(s);
	start_try_timer(s);
}

int
requests_open(struct shim *s)
{
	s->try_timer = evtimer_new(s->o.base, on_try_timer, s);
	return s->try_timer != NULL ? 0 : -ENOMEM;
}

void
requests_close(struct shim *s)
{
	if (s->try_timer != NULL)
		event_free(s->try_timer);
	s->try_timer = NULL;
}
