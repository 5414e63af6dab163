/* SPDX-License-Identifier: MIT */
/*
 * Keys: those that somebody here wants, or that we have a right to; in a tree
 * by name, and in one of two lists: idle, those of whose right nothing is to
 * be done, the one that was set first first; and busy, all others.  What is to
 * be done about a key: key_step.c.
 *
 * Once in SWEEP_NS the table is looked at, whether it is there still; the busy
 * keys are looked through, and what we hold locally is renewed.  Idle ones cost
 * nothing but their memory; when there are too many, the oldest that nobody has
 * is given back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "op/cluster_check.h"
#include "shim.h"

#define SWEEP_NS (250 * NS_PER_MS)
#define SHRINK_TRIES 8

static int
by_name(const struct key *a, const struct key *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int c = memcmp(a->name, b->name, n);

	return c != 0 ? c : a->len < b->len ? -1 : a->len > b->len;
}

RB_GENERATE_INTERNAL(keys, key, by_name, by_name,
    static __attribute__((unused)))

struct key *
keys_find(struct shim *s, const char *name, size_t len)
{
	union {
		struct key k;
		char room[sizeof(struct key) + SHM_KEY_MAX + 1];
	} of;

	of.k.len = len;
	memcpy(of.k.name, name, len);
	return RB_FIND(keys, &s->keys, &of.k);
}

struct key *
keys_new(struct shim *s, const char *name, size_t len)
{
	struct key *k = keys_find(s, name, len);

	if (k != NULL)
		return k;
	k = calloc(1, sizeof(*k) + len + 1);
	if (k == NULL)
		return NULL;
	k->s = s;
	k->base = -1;
	TAILQ_INIT(&k->wishes);
	k->len = len;
	memcpy(k->name, name, len);
	(void)RB_INSERT(keys, &s->keys, k);
	TAILQ_INSERT_TAIL(&s->busy, k, of);
	s->n_keys++;
	return k;
}

void
key_file(struct key *k)
{
	struct shim *s = k->s;
	bool idle = k->right != RIGHT_NONE && k->hold.state == HOLD_NONE;

	if (k->is_idle == idle)
		return;
	TAILQ_REMOVE(k->is_idle ? &s->idle : &s->busy, k, of);
	TAILQ_INSERT_TAIL(idle ? &s->idle : &s->busy, k, of);
	k->is_idle = idle;
}

void
key_set_right(struct key *k, unsigned mode)
{
	k->s->n_rights += (mode != RIGHT_NONE) - (k->right != RIGHT_NONE);
	k->right = mode;
	k->since_ns = shim_now_ns();
	k->back = false;
	k->asked_ns = 0;
}

void
key_free(struct key *k)
{
	struct shim *s = k->s;

	hold_let_go(k);
	key_set_right(k, RIGHT_NONE);
	TAILQ_REMOVE(k->is_idle ? &s->idle : &s->busy, k, of);
	if (k->is_touched)
		TAILQ_REMOVE(&s->touched, k, touched);
	if (k->timer != NULL)
		event_free(k->timer);
	free(k->who);
	(void)RB_REMOVE(keys, &s->keys, k);
	s->n_keys--;
	free(k);
}

void
key_touch(struct key *k)
{
	if (!k->is_touched)
		TAILQ_INSERT_TAIL(&k->s->touched, k, touched);
	k->is_touched = true;
	event_active(k->s->step, EV_TIMEOUT, 0);
}

void
keys_touch(struct shim *s)
{
	struct key *k;

	RB_FOREACH(k, keys, &s->keys)
		key_touch(k);
}

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	struct key *k;

	/* those that are touched meanwhile as well */
	while ((k = TAILQ_FIRST(&s->touched)) != NULL) {
		TAILQ_REMOVE(&s->touched, k, touched);
		k->is_touched = false;
		key_step(k);
	}
}

void
keys_adopt(struct key *k, unsigned mode)
{
	key_set_right(k, mode);
	k->base = (int64_t)cluster_revision(lhi_right_base(k->s->v,
	    k->ref.slot));
	key_file(k);
}

void
key_void(struct key *k)
{
	if (k->right == RIGHT_NONE)
		return;
	table_clear(k);
	key_set_right(k, RIGHT_NONE);
	table_break(k->s, k->name);
	key_file(k);
	key_touch(k);
}

void
keys_void(struct shim *s)
{
	struct key *k;

	RB_FOREACH(k, keys, &s->keys)
		key_void(k);
}

void
keys_shrink(struct shim *s)
{
	struct key *k;

	for (int i = 0; i < SHRINK_TRIES; i++) {
		k = TAILQ_FIRST(&s->idle);
		if (k == NULL)
			return;
		if (hold_take(k, true) == 0) {
			k->back = true;
			key_file(k);
			key_touch(k);
			return;
		}
		/* somebody uses it */
		hold_let_go(k);
		TAILQ_REMOVE(&s->idle, k, of);
		TAILQ_INSERT_TAIL(&s->idle, k, of);
	}
}

/* Renew what is held; what has run out, or is not wanted any more, is stepped.
 * Keys that are idle cost nothing. */
static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct timeval tv = { 0, SWEEP_NS / 1000 };
	struct shim *s = arg;
	int64_t now_ns = shim_now_ns();
	bool renew = now_ns - s->renewed_ns >= s->o.ttl_ms * NS_PER_MS / 3;
	struct key *k;

	if (!s->over && table_gone(s)) {
		s->over = true;
		s->o.over("the table was removed", s->o.arg);
	}
	if (s->over)
		return;
	if (renew)
		s->renewed_ns = now_ns;
	TAILQ_FOREACH(k, &s->busy, of) {
		if (renew && k->hold.state == HOLD_HELD && !hold_renew(k))
			key_touch(k);
		if (k->crowd != RIGHT_NONE && TAILQ_EMPTY(&k->wishes)) {
			k->crowd = table_crowd(k);
			if (k->crowd == RIGHT_NONE)
				key_touch(k);
		}
	}
	for (unsigned n = s->n_keys; n > s->o.max_keys; n--)
		keys_shrink(s);
	wants_sweep(s);
	(void)evtimer_add(s->sweep, &tv);
}

int
keys_begin(struct shim *s)
{
	RB_INIT(&s->keys);
	TAILQ_INIT(&s->idle);
	TAILQ_INIT(&s->busy);
	TAILQ_INIT(&s->touched);
	TAILQ_INIT(&s->wants);
	s->step = event_new(s->o.base, -1, 0, on_step, s);
	s->sweep = evtimer_new(s->o.base, on_sweep, s);
	if (s->step == NULL || s->sweep == NULL)
		return -ENOMEM;
	s->renewed_ns = shim_now_ns();
	event_active(s->sweep, EV_TIMEOUT, 0);
	return 0;
}

void
keys_end(struct shim *s)
{
	struct key *k;

	while ((k = RB_ROOT(&s->keys)) != NULL)
		key_free(k);
	if (s->step != NULL)
		event_free(s->step);
	if (s->sweep != NULL)
		event_free(s->sweep);
	s->step = s->sweep = NULL;
}
