/* SPDX-License-Identifier: MIT */
/*
 * The keys that a local process wants or that this host has a right to.
 *
 * They are in a tree by name, and in one of two lists.  A key with a right that
 * needs no action is in its user's idle list; every other key is in the busy
 * list.  key_step.c acts on one key, key_upkeep.c on all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "op/cluster_check.h"
#include "shim.h"

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
keys_new(struct shim *s, const char *name, size_t len, struct user *u)
{
	struct key *k = keys_find(s, name, len);

	if (k != NULL)
		return k;
	k = calloc(1, sizeof(*k) + len + 1);
	if (k == NULL)
		return NULL;
	k->s = s;
	k->user = u;
	u->n_keys++;
	k->base = -1;
	TAILQ_INIT(&k->requests);
	k->len = len;
	memcpy(k->name, name, len);
	(void)RB_INSERT(keys, &s->keys, k);
	TAILQ_INSERT_TAIL(&s->busy, k, of);
	s->n_keys++;
	return k;
}

static void
unlist_key(struct key *k)
{
	if (k->is_idle)
		TAILQ_REMOVE(&k->user->idle, k, of);
	else
		TAILQ_REMOVE(&k->s->busy, k, of);
}

void
key_relist(struct key *k)
{
	bool idle = k->right != RIGHT_NONE && k->hold.state == LOCAL_HOLD_NONE;

	if (k->is_idle == idle)
		return;
	unlist_key(k);
	k->is_idle = idle;
	k->looked = 0;
	k->looked_ns = shim_now_ns();
	if (idle)
		TAILQ_INSERT_TAIL(&k->user->idle, k, of);
	else
		TAILQ_INSERT_TAIL(&k->s->busy, k, of);
}

void
key_set_right(struct key *k, unsigned mode)
{
	k->s->n_rights += (mode != RIGHT_NONE) - (k->right != RIGHT_NONE);
	k->right = mode;
	k->since_ns = shim_now_ns();
	k->must_return = false;
	k->return_since_ns = 0;
}

void
key_free(struct key *k)
{
	struct shim *s = k->s;

	local_hold_release(k);
	key_set_right(k, RIGHT_NONE);
	unlist_key(k);
	if (k->is_touched)
		TAILQ_REMOVE(&s->touched, k, touched);
	if (k->timer != NULL)
		event_free(k->timer);
	free(k->reason);
	free(k->busy_by);
	(void)RB_REMOVE(keys, &s->keys, k);
	s->n_keys--;
	k->user->n_keys--;
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

void
keys_adopt(struct key *k, unsigned mode)
{
	key_set_right(k, mode);
	k->base = (int64_t)cluster_revision(lhi_right_base(k->s->v,
	    k->ref.slot));
	key_relist(k);
}

void
key_void_right(struct key *k)
{
	if (k->right == RIGHT_NONE)
		return;
	shim_table_clear_right(k);
	key_set_right(k, RIGHT_NONE);
	shim_table_break_leases(k->s, k->name);
	key_relist(k);
	key_touch(k);
}

void
keys_void_rights(struct shim *s)
{
	struct key *k;

	RB_FOREACH(k, keys, &s->keys)
		key_void_right(k);
}

void
keys_close(struct shim *s)
{
	struct key *k;

	/* ends: the tree is the shim's own; each key leaves it */
	while ((k = RB_ROOT(&s->keys)) != NULL)
		key_free(k);
	if (s->step != NULL)
		event_free(s->step);
	if (s->sweep != NULL)
		event_free(s->sweep);
	s->step = s->sweep = NULL;
}
