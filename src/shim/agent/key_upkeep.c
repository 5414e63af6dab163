/* SPDX-License-Identifier: MIT */
/*
 * Steps the keys that were touched, and checks all keys regularly.  The loop
 * calls it.
 *
 * Every SWEEP_NS it does the following:
 *
 * - checks that the table still exists;
 * - renews the leases that the shim holds locally;
 * - touches the busy keys whose lease was lost or that nobody waits for any
 *   more; and
 * - returns keys: those of users with too many, and unused ones.
 *
 * Idle keys cost only memory.
 */
#include <errno.h>
#include <malloc.h>
#include "shim.h"

#define SWEEP_NS (250 * NS_PER_MS)
#define SHRINK_TRIES 8
#define IDLE_LOOKS 256		/* idle keys checked in a sweep, of a user */
#define TRIM_KEYS 1024

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	struct shim *s = arg;
	struct key *k;

	/* includes keys that are touched in the meantime */
	/* ends: the list is the shim's own; each key leaves it */
	while ((k = TAILQ_FIRST(&s->touched)) != NULL) {
		TAILQ_REMOVE(&s->touched, k, touched);
		k->is_touched = false;
		key_step(k);
	}
}

/* Starts to return a key that nobody uses.  Returns false if a process uses
 * it. */
static bool
return_key(struct key *k)
{
	if (local_hold_acquire(k, true) != 0) {
		local_hold_release(k);
		return false;
	}
	k->must_return = true;
	key_relist(k);
	key_touch(k);
	return true;
}

/* Moves a key behind the user's other idle keys. */
static void
put_last(struct key *k, int64_t now_ns)
{
	k->looked_ns = now_ns;
	TAILQ_REMOVE(&k->user->idle, k, of);
	TAILQ_INSERT_TAIL(&k->user->idle, k, of);
}

/* Returns the user's longest unchecked idle key that nobody uses. */
static void
return_oldest(struct user *u)
{
	struct key *k;

	for (int i = 0; i < SHRINK_TRIES; i++) {
		k = TAILQ_FIRST(&u->idle);
		if (k == NULL || return_key(k))
			return;
		put_last(k, shim_now_ns());
	}
}

void
keys_make_room(struct shim *s, struct user *u)
{
	if (user_surplus(s, u) == 0)
		u = s->n_keys > s->o.max_keys - s->o.max_keys / 16 ?
		    users_most_keys(s) : NULL;
	if (u != NULL)
		return_oldest(u);
}

/*
 * Returns the keys that no process has used for idle_ms, or up to half as long
 * again.
 *
 * A process that acquires the key relies on the right in the table and does not
 * tell the shim.  But it changes the key's lock word to a value that it never
 * had before, unless it is a reader.  A key that is returned too early costs
 * its next user one round trip.
 */
static void
return_idle(struct shim *s, struct user *u, int64_t now_ns)
{
	int64_t half_ns = s->o.idle_ms * NS_PER_MS / 2;
	struct key *k;

	for (int i = 0; i < IDLE_LOOKS && s->o.idle_ms > 0; i++) {
		uint64_t word;

		k = TAILQ_FIRST(&u->idle);
		if (k == NULL || now_ns - k->looked_ns < half_ns)
			return;
		word = k->ref.slot == NULL ? 0 : sh64_load(&k->ref.slot->word);
		if (word != 0 && word == k->looked && return_key(k))
			continue;
		k->looked = word;
		put_last(k, now_ns);
	}
}

static void
sweep_users(struct shim *s, int64_t now_ns)
{
	struct user *u;

	TAILQ_FOREACH(u, &s->users, all) {
		/* ends: n falls */
		for (unsigned n = user_surplus(s, u); n > 0; n--)
			return_oldest(u);
		return_idle(s, u, now_ns);
	}
	/* ends: n falls */
	for (unsigned n = s->n_keys; n > s->o.max_keys; n--) {
		u = users_most_keys(s);
		if (u == NULL)
			break;
		return_oldest(u);
	}
	users_sweep(s);
	/* returns the memory of thousands of keys to the system */
	if (s->n_keys > s->most_keys)
		s->most_keys = s->n_keys;
	if (s->n_keys + TRIM_KEYS < s->most_keys / 2) {
		s->most_keys = s->n_keys;
		(void)malloc_trim(0);
	}
}

/* The periodic work (see the head of this file). */
static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct timeval tv = { 0, SWEEP_NS / 1000 };
	struct shim *s = arg;
	int64_t now_ns = shim_now_ns();
	bool renew = now_ns - s->renewed_ns >= s->o.ttl_ms * NS_PER_MS / 3;
	struct key *k;

	if (!s->over && shim_table_is_gone(s)) {
		s->over = true;
		s->o.over("the table was removed", s->o.arg);
	}
	if (s->over)
		return;
	if (renew)
		s->renewed_ns = now_ns;
	TAILQ_FOREACH(k, &s->busy, of) {
		if (renew && k->hold.state == LOCAL_HOLD_HELD &&
		    !local_hold_renew(k))
			key_touch(k);
		if (k->waiters_mode != RIGHT_NONE &&
		    TAILQ_EMPTY(&k->requests)) {
			k->waiters_mode = shim_table_waiters_mode(k);
			if (k->waiters_mode == RIGHT_NONE)
				key_touch(k);
		}
	}
	sweep_users(s, now_ns);
	requests_expire(s);
	(void)evtimer_add(s->sweep, &tv);
}

int
keys_open(struct shim *s)
{
	RB_INIT(&s->keys);
	TAILQ_INIT(&s->busy);
	TAILQ_INIT(&s->touched);
	TAILQ_INIT(&s->requests);
	s->step = event_new(s->o.base, -1, 0, on_step, s);
	s->sweep = evtimer_new(s->o.base, on_sweep, s);
	if (s->step == NULL || s->sweep == NULL)
		return -ENOMEM;
	s->renewed_ns = shim_now_ns();
	event_active(s->sweep, EV_TIMEOUT, 0);
	return 0;
}
