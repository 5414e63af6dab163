/* SPDX-License-Identifier: MIT */
/*
 * What a frame asks for.
 *
 * A WANT: each of its keys that has no right yet, or too weak a one, is wished
 * for; then those keys are stepped, by which we stand for them locally; then it
 * is told so.  If all of them can be asked for at once, they are, in one
 * transaction.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold/error.h>
#include "shim.h"

static void
answer(struct client *c, uint32_t id, uint8_t type, int error,
    const char *why)
{
	struct lhi_frame f = { .type = type, .id = id, .error = error,
	    .text = why, .text_len = (uint16_t)strnlen(why, SHIM_WHY_MAX) };

	c->s->count.answers[type]++;
	client_send(c, &f);
}

static bool
hear_hello(struct client *c, const struct lhi_frame *f)
{
	const struct shm_header *h = c->s->v->hdr;
	struct lhi_frame w = { .type = FRAME_WELCOME, .id = f->id,
	    .max_keys = FRAME_KEYS, .max_wants = SHIM_WANTS_MAX,
	    .ttl_ms = c->s->o.ttl_ms };

	w.uuid[0] = sh64_load(&h->uuid[0]);
	w.uuid[1] = sh64_load(&h->uuid[1]);
	if (f->uuid[0] != w.uuid[0] || f->uuid[1] != w.uuid[1])
		return false;
	c->greeted = true;
	client_send(c, &w);
	return true;
}

/* A key of the cluster, and no NUL in it? */
static bool
is_ours(const struct shim *s, const struct lhi_frame_key *k)
{
	return k->len > s->prefix_len && memcmp(k->key,
	    s->v->hdr->cluster_prefix, s->prefix_len) == 0 &&
	    memchr(k->key, 0, k->len) == NULL;
}

static const char *
why_away(const struct shim *s)
{
	return s->ending ? "the shim is ending" : s->why[0] != '\0' ? s->why :
	    "there is no session with the cluster yet";
}

/* A try of what others of this host stand for already?  NULL: no. */
static const char *
busy_here(struct key *k)
{
	if (k->part != NULL && !k->part->granted && !k->part->try)
		return "another host, or it is just being asked for by "
		    "another process of this one";
	/* it has to be taken from those who have it here */
	if (k->right != RIGHT_NONE && hold_take(k, true) != 0)
		return "processes of this host";
	return NULL;
}

/* The answer that a want has at once, if `why` is set. */
struct verdict {
	uint8_t type;
	const char *why;
};

static void
judge(const struct want *w, struct key *k, unsigned mode, bool anchor,
    struct verdict *v)
{
	v->type = FRAME_DENIED;
	v->why = key_denied(k, mode);
	if (v->why == NULL && anchor && k->denied == DENY_NEWER)
		v->why = key_denied(k, DENY_NEWER);
	if (v->why == NULL && w->try) {
		v->type = FRAME_BUSY;
		v->why = busy_here(k);
	}
}

/* One key of it.  True: it is wished for. */
static bool
wish(struct want *w, struct key *k, const struct lhi_frame *f, unsigned mode,
    struct verdict *v)
{
	bool anchor = f->flags & FRAME_REANCHOR;
	struct wish *last = TAILQ_LAST(&k->wishes, wishes);

	key_touch(k);		/* whatever becomes of it */
	if (last != NULL && last->want == w)
		return false;	/* it was named twice */
	if (!anchor && key_covers(k, mode))
		return false;
	if (v->why == NULL)
		judge(w, k, mode, anchor, v);
	/* others of its group may have long to wait */
	if (k->part != NULL && k->part->several && !k->part->granted &&
	    !k->part->try)
		part_leave(k);
	want_add(w, k, mode, anchor ? k->base : -1);
	return true;
}

static void
go_for(struct shim *s, struct want *w, struct key *const *k,
    const unsigned *mode, unsigned n)
{
	bool try = w->try;

	s->hearing = w;
	if (n > 1)
		(void)keys_ask(s, k, mode, n, try);
	for (unsigned i = 0; i < n; i++)
		key_step(k[i]);
	/* if it has not come to something by now */
	if (s->hearing != NULL && !try)
		want_answer(w, FRAME_QUEUED, 0, NULL);
	s->hearing = NULL;
}

static void
take_want(struct client *c, const struct lhi_frame *f)
{
	struct key *k[FRAME_KEYS];
	unsigned mode[FRAME_KEYS], n = 0;
	struct want *w = want_new(c, f);
	struct verdict v = { 0, NULL };

	for (unsigned i = 0; i < f->n && w != NULL; i++) {
		k[n] = keys_new(c->s, f->key[i].key, f->key[i].len);
		mode[n] = f->key[i].mode == LH_SHARED ? RIGHT_SHARED :
		    RIGHT_EXCLUSIVE;
		if (k[n] == NULL) {
			want_free(w);
			w = NULL;
		} else if (wish(w, k[n], f, mode[n], &v)) {
			n++;
		}
	}
	if (w == NULL) {
		answer(c, f->id, FRAME_FAILED, ENOMEM, "out of memory");
	} else if (n == 0) {
		want_answer(w, FRAME_GRANTED, 0, NULL);
		want_free(w);
	} else if (v.why != NULL) {
		want_answer(w, v.type, 0, v.why);
		want_free(w);
	} else {
		go_for(c->s, w, k, mode, n);
	}
}

static bool
hear_want(struct client *c, const struct lhi_frame *f)
{
	struct shim *s = c->s;

	for (unsigned i = 0; i < f->n; i++) {
		if (is_ours(s, &f->key[i]))
			continue;
		answer(c, f->id, FRAME_FAILED, EINVAL, "that is no cluster "
		    "key of this table");
		return true;
	}
	if (!host_reaches(s)) {
		answer(c, f->id, FRAME_AWAY, 0, why_away(s));
	} else if (c->n_wants >= SHIM_WANTS_MAX) {
		answer(c, f->id, FRAME_FAILED, ENOSPC, "too much is wanted at "
		    "a time on one connection");
	} else if (s->n_keys + f->n > s->o.max_keys + FRAME_KEYS) {
		answer(c, f->id, FRAME_FAILED, ENOSPC, "the shim has its most "
		    "keys in use (key 'max_keys' of its configuration)");
	} else {
		take_want(c, f);
	}
	if (s->n_keys > s->o.max_keys)
		keys_shrink(s);
	return true;
}

static void
hear_drop(struct client *c, const struct lhi_frame *f)
{
	struct want *w, *next;

	TAILQ_FOREACH_SAFE(w, &c->wants, of_client, next)
		if (w->id == f->id)
			want_free(w);
}

static void
tell_holders(int error, const char *why, const struct recipe_holder *h,
    size_t n, void *arg)
{
	char name[FRAME_PARTIES][FRAME_NAME_MAX + 1];
	struct asker *a = arg;
	struct client *c = a->client;
	struct lhi_frame f = { .type = FRAME_HOLDERS, .id = a->id };

	asker_free(a);
	if (c == NULL)
		return;
	if (error != 0) {
		if (error == EHOSTUNREACH || error == EACCES)
			answer(c, f.id, error == EACCES ? FRAME_DENIED :
			    FRAME_AWAY, 0, why);
		else
			answer(c, f.id, FRAME_FAILED, error, why);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct lhi_frame_party *p = &f.party[f.n];

		f.holders += h[i].holds;
		f.waiting += !h[i].holds;
		if (f.n == FRAME_PARTIES)
			continue;
		p->what = h[i].holds ? FRAME_HOLDS : FRAME_WAITS;
		p->mode = h[i].mode == CLAIM_SHARED ? LH_SHARED : LH_EXCLUSIVE;
		p->revision = (uint64_t)h[i].since;
		p->len = (uint8_t)snprintf(name[f.n], sizeof(name[0]),
		    "%.*s session %016llx%s", h[i].host.len > 128 ? 128 :
		    (int)h[i].host.len, (const char *)h[i].host.p,
		    (unsigned long long)h[i].session,
		    h[i].ours ? " (this host)" : "");
		p->name = name[f.n++];
	}
	c->s->count.answers[FRAME_HOLDERS]++;
	client_send(c, &f);
}

static bool
hear_status(struct client *c, const struct lhi_frame *f)
{
	const struct lhi_frame_key *k = &f->key[0];
	struct kv_bytes key;
	struct asker *a;
	int e;

	if (!is_ours(c->s, k)) {
		answer(c, f->id, FRAME_FAILED, EINVAL, "that is no cluster "
		    "key of this table");
		return true;
	}
	a = asker_new(c, f->id);
	if (a == NULL) {
		answer(c, f->id, FRAME_FAILED, ENOSPC, "too many questions at "
		    "a time on one connection");
		return true;
	}
	key.p = (const uint8_t *)k->key + c->s->prefix_len;
	key.len = k->len - c->s->prefix_len;
	e = recipe_look(c->s->recipe, key, tell_holders, a);
	if (e == 0)
		return true;
	asker_free(a);
	if (e == -EHOSTUNREACH)
		answer(c, f->id, FRAME_AWAY, 0, why_away(c->s));
	else
		answer(c, f->id, FRAME_FAILED, -e, lh_strerror(e));
	return true;
}

static bool
hear_stats(struct client *c, const struct lhi_frame *f)
{
	struct lhi_frame t = { .type = FRAME_TEXT, .id = f->id };
	size_t len = 0;
	char *text = NULL;
	FILE *m = open_memstream(&text, &len);

	if (m == NULL) {
		answer(c, f->id, FRAME_FAILED, ENOMEM, "out of memory");
		return true;
	}
	count_write(c->s, m);
	if (fclose(m) == 0 && len <= FRAME_TEXT_MAX) {
		t.text = text;
		t.text_len = (uint16_t)len;
		c->s->count.answers[FRAME_TEXT]++;
		client_send(c, &t);
	} else {
		answer(c, f->id, FRAME_FAILED, ENOMEM, "out of memory");
	}
	free(text);
	return true;
}

/* Half of the tokens under its base are used up. */
static void
hear_anchor(struct client *c, const struct lhi_frame *f)
{
	struct key *k = keys_find(c->s, f->key[0].key, f->key[0].len);

	if (k != NULL && k->part != NULL && k->part->granted &&
	    k->part->revision <= k->base)
		(void)part_anchor(k);	/* or by who asks next */
}

bool
talk_hear(struct client *c, const struct lhi_frame *f)
{
	if (c->s->over)
		return false;
	switch (f->type) {
	case FRAME_HELLO:
		return hear_hello(c, f);
	case FRAME_WANT:
		return hear_want(c, f);
	case FRAME_DROP:
		hear_drop(c, f);
		return true;
	case FRAME_STATUS:
		return hear_status(c, f);
	case FRAME_STATS:
		return hear_stats(c, f);
	case FRAME_ANCHOR:
		hear_anchor(c, f);
		return true;
	default:
		return false;
	}
}
