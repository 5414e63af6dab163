/* SPDX-License-Identifier: MIT */
/*
 * The users whose processes ask the shim, and the budget of each of them.
 *
 * No user can keep the shim from serving another one, because each has a
 * budget:
 *
 *	frames		turns.c: read in turn, QUANTUM for each user
 *	questions	questions.c: asked in turn, after all requests
 *	calls		LANE_CALLS at a time at the store (recipe.h)
 *	connections	half of max_clients
 *	keys		half of max_keys: known, claimed and wanted
 *
 * A key counts for the user that wanted it first, until the shim forgets it.
 * The limits of one half do not apply to root and the shim's own user, which
 * are trusted.  They can also use the last sixteenth of each budget, which is
 * closed to all others.  Keys left by an earlier shim count for the shim's own
 * user.
 *
 * The sweep frees a user for which nothing counts any more.
 */
#include <stdlib.h>
#include <unistd.h>
#include "shim.h"

struct user *
user_of(struct shim *s, uid_t uid)
{
	struct user *u;

	TAILQ_FOREACH(u, &s->users, all)
		if (u->uid == uid)
			return u;
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->uid = uid;
	u->is_trusted = uid == 0 || uid == geteuid();
	u->lane = s->users_made++ % RECIPE_LANES;
	u->left = USER_QUANTUM;
	TAILQ_INIT(&u->parked);
	TAILQ_INIT(&u->questions);
	TAILQ_INIT(&u->idle);
	TAILQ_INSERT_TAIL(&s->users, u, all);
	return u;
}

/* Returns how much of `most` this user may use. */
static unsigned
share_of(const struct user *u, unsigned most)
{
	return u->is_trusted ? most : most / 2;
}

/* Returns how much of `most` all users together may use if this one wants
 * more. */
static unsigned
total_of(const struct user *u, unsigned most)
{
	return u->is_trusted ? most : most - most / 16;
}

bool
user_may_connect(const struct shim *s, const struct user *u)
{
	return u->n_clients < share_of(u, s->o.max_clients);
}

bool
user_has_sixteenth(const struct shim *s, const struct user *u)
{
	return s->n_clients < total_of(u, s->o.max_clients);
}

/* FRAME_KEYS more than the limit are allowed, because keys are returned only
 * after the frame that brought them. */
bool
user_may_want(const struct shim *s, const struct user *u, unsigned n)
{
	unsigned most = share_of(u, s->o.max_keys) + FRAME_KEYS;

	return u->n_keys + n <= most && u->n_claims + n <= 2 * most &&
	    (u->is_trusted || u->n_wanted + n <= most) &&
	    s->n_keys + n <= total_of(u, s->o.max_keys) + FRAME_KEYS;
}

unsigned
user_surplus(const struct shim *s, const struct user *u)
{
	unsigned most = share_of(u, s->o.max_keys);

	return u->n_keys > most ? u->n_keys - most : 0;
}

struct user *
users_most_keys(struct shim *s)
{
	struct user *u, *most = NULL;

	TAILQ_FOREACH(u, &s->users, all)
		if (!TAILQ_EMPTY(&u->idle) &&
		    (most == NULL || u->n_keys > most->n_keys))
			most = u;
	return most;
}

static void
free_user(struct shim *s, struct user *u)
{
	TAILQ_REMOVE(&s->users, u, all);
	free(u);
}

void
users_sweep(struct shim *s)
{
	struct user *u, *next;

	TAILQ_FOREACH_SAFE(u, &s->users, all, next)
		if (u != s->self && u->n_clients == 0 && u->n_keys == 0 &&
		    u->n_claims == 0 && u->n_questions == 0)
			free_user(s, u);
}

void
users_free(struct shim *s)
{
	struct user *u;

	while ((u = TAILQ_FIRST(&s->users)) != NULL)
		free_user(s, u);
	s->self = NULL;
}
