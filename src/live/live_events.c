/* SPDX-License-Identifier: MIT */
/*
 * Events: changes of a live handle that a receiver has not yet seen.
 *
 * Every watch, and a handle's own callback, has a queue of its own, so that a
 * slow receiver costs no other one an event.  A queue is an array.  Nothing is
 * allocated when an event happens, and nothing is dropped: in a full queue the
 * two oldest events are merged into one.
 *
 * The handles with events for their callback are in a list, in the order of
 * arrival; the live thread (live_set.c) takes them from there.
 *
 * All with lhi_live_lock() held.
 */
#include "base/clock.h"
#include "live/live_set.h"

TAILQ_HEAD(calls, lh_lock);

static struct calls calls = TAILQ_HEAD_INITIALIZER(calls);

static void
put_event(struct lhi_live_events *ev, const struct lh_event *e)
{
	if (ev->n == LIVE_EVENTS) {
		struct lh_event *old = &ev->ring[ev->first];
		struct lh_event *next =
		    &ev->ring[(ev->first + 1) % LIVE_EVENTS];

		next->what |= old->what;
		next->count += old->count;
		ev->first = (ev->first + 1) % LIVE_EVENTS;
		ev->n--;
	}
	ev->ring[(ev->first + ev->n++) % LIVE_EVENTS] = *e;
}

bool
lhi_live_take_event(struct lhi_live_events *ev, struct lh_event *out)
{
	if (ev->n == 0)
		return false;
	*out = ev->ring[ev->first];
	ev->first = (ev->first + 1) % LIVE_EVENTS;
	ev->n--;
	return true;
}

bool
lhi_live_is_watched(const struct lh_lock *l, uint32_t what)
{
	const struct lh_watch *w;

	TAILQ_FOREACH(w, &l->watches, of_lock) {
		if (w->what & what)
			return true;
	}
	return l->event != NULL;
}

void
lhi_live_notify(struct lh_lock *l, uint32_t what)
{
	struct lh_event e = {
		.size = sizeof(e), .seq = ++l->seq, .count = 1, .what = what,
		.status = l->status, .loss = l->loss, .error = l->error,
		.which = l->which, .token = l->leases[l->which].token,
		.expires_ns = l->leases[l->which].expires_ns,
		.at_ns = lhi_clock_ns(l->clock)
	};
	struct lh_watch *w;

	TAILQ_FOREACH(w, &l->watches, of_lock) {
		if (!(w->what & what))
			continue;
		put_event(&w->events, &e);
		if (w->events.n == 1)
			lhi_readable_raise(&w->fd);
	}
	if (l->event != NULL && what != LH_EVENT_CLOSED) {
		if (l->calls.n == 0) {
			TAILQ_INSERT_TAIL(&calls, l, call);
			lhi_wakeup_wake();
		}
		put_event(&l->calls, &e);
	}
}

void
lhi_live_drop_watches(struct lh_lock *l)
{
	struct lh_watch *w;

	lhi_live_notify(l, LH_EVENT_CLOSED);
	while ((w = TAILQ_FIRST(&l->watches)) != NULL) {
		TAILQ_REMOVE(&l->watches, w, of_lock);
		w->lock = NULL;
	}
}

bool
lhi_live_has_call(void)
{
	return !TAILQ_EMPTY(&calls);
}

struct lh_lock *
lhi_live_take_call(struct lh_event *e)
{
	struct lh_lock *l = TAILQ_FIRST(&calls);

	(void)lhi_live_take_event(&l->calls, e);
	TAILQ_REMOVE(&calls, l, call);
	if (l->calls.n != 0)
		TAILQ_INSERT_TAIL(&calls, l, call);
	return l;
}

void
lhi_live_drop_calls(struct lh_lock *l)
{
	if (l->calls.n != 0)
		TAILQ_REMOVE(&calls, l, call);
	l->calls.n = 0;
}

void
lhi_live_forget_calls(void)
{
	TAILQ_INIT(&calls);
}
