/* SPDX-License-Identifier: MIT */
/*
 * Who wants what: each WANT of a client, and each key of it.
 *
 * A want is there until the rights to all its keys were set, it is dropped,
 * its time is over, or its client is gone.  It has one answer: GRANTED at
 * once; QUEUED, when we stand for its keys locally (and then nothing more is
 * said: who waits in the table learns there what comes of it); or what went
 * wrong.  A try is answered when the cluster has answered.
 */
#include <errno.h>
#include <stdlib.h>
#include "shim.h"

#define TRY_NS (NS_PER_SEC)	/* then the answer is that there is none */

struct want *
want_new(struct client *c, const struct lhi_frame *f)
{
	struct shim *s = c->s;
	struct want *w = calloc(1, sizeof(*w) + f->n * sizeof(w->wish[0]));

	if (w == NULL)
		return NULL;
	w->client = c;
	w->id = f->id;
	w->try = f->flags & FRAME_TRY;
	w->began_ns = shim_now_ns();
	w->until_ns = w->try ? w->began_ns + TRY_NS :
	    f->wait_ms == FRAME_NO_END ? INT64_MAX :
	    w->began_ns + (int64_t)f->wait_ms * NS_PER_MS;
	TAILQ_INSERT_TAIL(&c->wants, w, of_client);
	TAILQ_INSERT_TAIL(&s->wants, w, all);
	s->n_wants++;
	c->n_wants++;
	return w;
}

void
want_add(struct want *w, struct key *k, unsigned mode, int64_t above)
{
	struct wish *i = &w->wish[w->n++];

	i->want = w;
	i->key = k;
	i->mode = mode;
	i->above = above;
	w->left++;
	TAILQ_INSERT_TAIL(&k->wishes, i, of_key);
	if (mode == RIGHT_EXCLUSIVE)
		k->n_exclusive++;
}

static void
forget(struct wish *i)
{
	struct key *k = i->key;

	if (k == NULL)
		return;
	TAILQ_REMOVE(&k->wishes, i, of_key);
	if (i->mode == RIGHT_EXCLUSIVE)
		k->n_exclusive--;
	i->key = NULL;
	i->want->left--;
	key_touch(k);
}

void
want_free(struct want *w)
{
	struct shim *s = w->client->s;

	for (unsigned i = 0; i < w->n; i++)
		forget(&w->wish[i]);
	TAILQ_REMOVE(&w->client->wants, w, of_client);
	TAILQ_REMOVE(&s->wants, w, all);
	s->n_wants--;
	w->client->n_wants--;
	if (s->hearing == w)
		s->hearing = NULL;
	free(w);
}

void
wants_free(struct client *c)
{
	struct want *w;

	while ((w = TAILQ_FIRST(&c->wants)) != NULL)
		want_free(w);
}

void
want_answer(struct want *w, uint8_t type, int error, const char *why)
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

unsigned
wish_most(const struct key *k)
{
	return k->n_exclusive > 0 ? RIGHT_EXCLUSIVE :
	    !TAILQ_EMPTY(&k->wishes) ? RIGHT_SHARED : RIGHT_NONE;
}

unsigned
wish_least(const struct key *k)
{
	const struct wish *i;

	TAILQ_FOREACH(i, &k->wishes, of_key)
		if (i->mode == RIGHT_SHARED)
			return RIGHT_SHARED;
	return TAILQ_EMPTY(&k->wishes) ? RIGHT_NONE : RIGHT_EXCLUSIVE;
}

bool
wish_above(const struct key *k)
{
	const struct wish *i;

	TAILQ_FOREACH(i, &k->wishes, of_key)
		if (i->above >= k->base)
			return true;
	return false;
}

bool
wish_only_tries(const struct key *k)
{
	const struct wish *i;

	TAILQ_FOREACH(i, &k->wishes, of_key)
		if (!i->want->try)
			return false;
	return true;
}

void
wish_fulfil(struct key *k)
{
	struct wish *i, *next;

	TAILQ_FOREACH_SAFE(i, &k->wishes, of_key, next) {
		struct want *w = i->want;

		if (i->mode > k->right || i->above >= k->base)
			continue;
		forget(i);
		if (w->left > 0)
			continue;
		want_answer(w, FRAME_GRANTED, 0, NULL);
		want_free(w);
	}
}

void
wish_fail(struct key *k, bool tries, uint8_t type, int error, const char *why)
{
	struct wish *i, *next;

	/* a want has a key once, so the next one is another's */
	TAILQ_FOREACH_SAFE(i, &k->wishes, of_key, next) {
		struct want *w = i->want;

		if (tries && !w->try)
			continue;
		want_answer(w, type, error, why);
		want_free(w);
	}
}

/* Who waits locally is let through and asks again, whatever he wants: else who
 * is denied would not be told before the others have it. */
void
wish_deny(struct key *k, unsigned mode, const char *why)
{
	struct wish *i, *next;

	TAILQ_FOREACH_SAFE(i, &k->wishes, of_key, next) {
		struct want *w = i->want;

		if (mode == DENY_NEWER ? i->above < k->base :
		    i->mode < mode && !w->answered)
			continue;
		want_answer(w, FRAME_DENIED, 0, why);
		want_free(w);
	}
}

void
wants_fail(struct shim *s, uint8_t type, int error, const char *why)
{
	struct want *w;

	while ((w = TAILQ_FIRST(&s->wants)) != NULL) {
		want_answer(w, type, error, why);
		want_free(w);
	}
}

void
wants_sweep(struct shim *s)
{
	int64_t now_ns = shim_now_ns();
	struct want *w, *next;

	TAILQ_FOREACH_SAFE(w, &s->wants, all, next) {
		if (w->until_ns > now_ns)
			continue;
		want_answer(w, FRAME_AWAY, 0, "the cluster has not answered "
		    "in time");
		want_free(w);
	}
}
