/* SPDX-License-Identifier: MIT */
/*
 * Handles the frames of clients, which turns.c has read.
 *
 * WANT: each key without a right, or with too weak a right, is added to a
 * request.  The keys are then stepped, so that the shim holds them locally, and
 * the answer is QUEUED.  If all keys can be requested from the cluster now, one
 * transaction does it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold/error.h>
#include "shim.h"

static void
send_answer(struct client *c, uint32_t id, uint8_t type, int error,
    const char *why)
{
	struct lhi_frame f = { .type = type, .id = id, .error = error,
	    .text = why, .text_len = (uint16_t)strnlen(why, SHIM_WHY_MAX) };

	c->s->count.answers[type]++;
	client_send(c, &f);
}

/* Checks the client's table and welcomes it.  Returns false if it is another
 * table. */
static bool
handle_hello(struct client *c, const struct lhi_frame *f)
{
	const struct shm_header *h = c->s->v->hdr;
	struct lhi_frame w = { .type = FRAME_WELCOME, .id = f->id,
	    .max_keys = FRAME_KEYS, .max_wants = SHIM_REQUESTS_MAX,
	    .ttl_ms = c->s->o.ttl_ms };

	w.uuid[0] = sh64_load(&h->uuid[0]);
	w.uuid[1] = sh64_load(&h->uuid[1]);
	if (f->uuid[0] != w.uuid[0] || f->uuid[1] != w.uuid[1])
		return false;
	c->greeted = true;
	client_send(c, &w);
	return true;
}

/* True if the name is a cluster key of this table without a NUL byte. */
static bool
is_cluster_key(const struct shim *s, const struct lhi_frame_key *k)
{
	return k->len > s->prefix_len && memcmp(k->key,
	    s->v->hdr->cluster_prefix, s->prefix_len) == 0 &&
	    memchr(k->key, 0, k->len) == NULL;
}

/* Returns who keeps a try from getting the key at this host, or NULL. */
static const char *
busy_here(struct key *k)
{
	if (k->claim != NULL && !k->claim->granted && !k->claim->try)
		return "another host, or a process of this host that has just "
		    "requested it";
	/* processes of this host must release it first.  (Another error is
	 * answered when the key is stepped.) */
	if (k->right != RIGHT_NONE && local_hold_acquire(k, true) == -EAGAIN)
		return "processes of this host";
	return NULL;
}

/* An immediate negative answer to a WANT, if `why` is set. */
struct refusal {
	uint8_t type;
	const char *why;
	const struct key *key;
};

/* Sets *v if the key is denied, or busy at this host for a try. */
static void
check_refusal(const struct request *w, struct key *k, unsigned mode,
    bool anchor, struct refusal *v)
{
	v->key = k;
	v->type = FRAME_DENIED;
	v->why = key_denial(k, mode);
	if (v->why == NULL && anchor && k->denied == DENY_NEWER)
		v->why = key_denial(k, DENY_NEWER);
	if (v->why == NULL && w->try) {
		v->type = FRAME_BUSY;
		v->why = busy_here(k);
	}
}

/* Adds one key to a request.  Returns false if it needs nothing: its right
 * suffices, or it was named before. */
static bool
add_key(struct request *w, struct key *k, const struct lhi_frame *f,
    unsigned mode, struct refusal *v)
{
	bool anchor = f->flags & FRAME_REANCHOR;
	struct request_key *last = TAILQ_LAST(&k->requests, request_keys);

	key_touch(k);		/* in any case */
	if (last != NULL && last->request == w)
		return false;	/* named twice in the frame */
	if (!anchor && key_has_right(k, mode))
		return false;
	if (v->why == NULL)
		check_refusal(w, k, mode, anchor, v);
	request_add_key(w, k, mode, anchor ? k->base : -1);
	return true;
}

/* Requests the keys of a request, and answers QUEUED if nothing else was
 * answered. */
static void
claim_keys(struct shim *s, struct request *w, struct key *const *k,
    const unsigned *mode, unsigned n)
{
	bool try = w->try;

	s->handling = w;
	if (n > 1)
		(void)keys_request(s, k, mode, n, try);
	for (unsigned i = 0; i < n; i++)
		key_step(k[i]);
	/* not answered and not freed in the meantime */
	if (s->handling != NULL && !try)
		request_answer(w, FRAME_QUEUED, 0, NULL);
	s->handling = NULL;
}

static void
start_request(struct client *c, const struct lhi_frame *f)
{
	struct key *k[FRAME_KEYS];
	unsigned mode[FRAME_KEYS], n = 0;
	struct request *w = request_new(c, f);
	struct refusal v = { 0, NULL, NULL };

	for (unsigned i = 0; i < f->n && w != NULL; i++) {
		k[n] = keys_new(c->s, f->key[i].key, f->key[i].len, c->user);
		mode[n] = f->key[i].mode == LH_SHARED ? RIGHT_SHARED :
		    RIGHT_EXCLUSIVE;
		if (k[n] == NULL) {
			request_free(w);
			w = NULL;
		} else if (add_key(w, k[n], f, mode[n], &v)) {
			n++;
		}
	}
	if (w == NULL) {
		send_answer(c, f->id, FRAME_FAILED, ENOMEM, "out of memory");
	} else if (n == 0) {
		request_answer(w, FRAME_GRANTED, 0, NULL);
		request_free(w);
	} else if (v.why != NULL) {
		request_refuse(w, v.key, v.type, 0, v.why);
		request_free(w);
	} else {
		claim_keys(c->s, w, k, mode, n);
	}
}

static bool
handle_want(struct client *c, const struct lhi_frame *f)
{
	struct shim *s = c->s;

	for (unsigned i = 0; i < f->n; i++) {
		if (is_cluster_key(s, &f->key[i]))
			continue;
		send_answer(c, f->id, FRAME_FAILED, EINVAL,
		    "the name is no cluster key of this table");
		return true;
	}
	if (!host_can_grant(s)) {
		send_answer(c, f->id, FRAME_AWAY, 0, shim_why_away(s));
	} else if (c->n_requests >= SHIM_REQUESTS_MAX) {
		send_answer(c, f->id, FRAME_FAILED, ENOSPC,
		    "too many requests are open on one connection");
	} else if (!user_may_want(s, c->user, f->n)) {
		send_answer(c, f->id, FRAME_FAILED, ENOSPC,
		    "this user, or all users together, use the largest number "
		    "of keys (key 'max_keys' of the shim's configuration)");
	} else {
		start_request(c, f);
	}
	keys_make_room(s, c->user);
	return true;
}

static void
handle_drop(struct client *c, const struct lhi_frame *f)
{
	struct request *w, *next;

	TAILQ_FOREACH_SAFE(w, &c->requests, of_client, next)
		if (w->id == f->id)
			request_free(w);
}

static void
add_question(struct client *c, uint32_t id, const char *key, size_t len)
{
	if (!question_add(c, id, key, len))
		send_answer(c, id, FRAME_FAILED, ENOSPC, "too many questions "
		    "are open on one connection, or of one user");
}

static void
handle_status(struct client *c, const struct lhi_frame *f)
{
	const struct lhi_frame_key *k = &f->key[0];

	if (is_cluster_key(c->s, k))
		add_question(c, f->id, k->key, k->len);
	else
		send_answer(c, f->id, FRAME_FAILED, EINVAL,
		    "the name is no cluster key of this table");
}

/* Handles ANCHOR: half of the tokens under the key's base are used up. */
static void
handle_anchor(struct client *c, const struct lhi_frame *f)
{
	struct key *k = keys_find(c->s, f->key[0].key, f->key[0].len);

	if (k != NULL && k->claim != NULL && k->claim->granted &&
	    k->claim->revision <= k->base)
		(void)cluster_claim_anchor(k);	/* if it fails, the next request
						 * does it */
}

bool
dispatch_frame(struct client *c, const struct lhi_frame *f)
{
	if (c->s->over)
		return false;
	switch (f->type) {
	case FRAME_HELLO:
		return handle_hello(c, f);
	case FRAME_WANT:
		return handle_want(c, f);
	case FRAME_DROP:
		handle_drop(c, f);
		return true;
	case FRAME_STATUS:
		handle_status(c, f);
		return true;
	case FRAME_STATS:
		add_question(c, f->id, "", 0);
		return true;
	case FRAME_ANCHOR:
		handle_anchor(c, f);
		return true;
	default:
		return false;
	}
}
