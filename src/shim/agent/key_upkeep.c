/* SPDX-License-Identifier: MIT */
/*
 * Steps the keys that were touched, and looks after all keys regularly.
 *
 * Each SWEEP_NS: checks that the table is still there; renews the leases that
 * the shim holds locally; touches the busy keys whose lease ran out or that
 * nobody waits for any more.  Idle keys cost only their memory.  When there are
 * too many keys, the oldest idle ones that nobody holds are given back.
 */
#include <errno.h>
#include "shim.h"

#define SWEEP_NS (250 * NS_PER_MS)
#define SHRINK_TRIES 8

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
keys_return_oldest(struct shim *s)
{
	struct key *k;

	for (int i = 0; i < SHRINK_TRIES; i++) {
		k = TAILQ_FIRST(&s->idle);
		if (k == NULL)
			return;
		if (local_hold_acquire(k, true) == 0) {
			k->must_return = true;
			key_relist(k);
			key_touch(k);
			return;
		}
		/* somebody uses it */
		local_hold_release(k);
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
	for (unsigned n = s->n_keys; n > s->o.max_keys; n--)
		keys_return_oldest(s);
	requests_expire(s);
	(void)evtimer_add(s->sweep, &tv);
}

int
keys_open(struct shim *s)
{
	RB_INIT(&s->keys);
	TAILQ_INIT(&s->idle);
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
