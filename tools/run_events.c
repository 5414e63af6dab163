/* SPDX-License-Identifier: MIT */
/*
 * Receives events about held leases from the library at once: a request to
 * release, or a break.  Without them run_guard.c only checks twice a second.
 *
 * Each lease gets a live handle and a watch.  The handle does not renew the
 * lease, because run_guard.c does, but it follows the deadline.  With the
 * handle comes the library's thread, which listens to the doorbell.  It is
 * started when the command runs.  If the thread or a descriptor cannot be
 * created, no event arrives, and the checks of run_guard.c remain.
 */
#include <poll.h>
#include <stdint.h>
#include <leasehold.h>
#include "run.h"
#include "run_events.h"

void
run_events_open(struct run_events *events, struct run *r)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;

	o.renew_ms = 0;
	for (events->n = 0; events->n < r->n; events->n++) {
		if (lh_lock_adopt(r->lh, &r->leases[events->n], r->ttl_ms, &o,
		    &events->lock[events->n]) != 0)
			return;
		if (lh_lock_watch(events->lock[events->n], LH_EVENT_ASKED |
		    LH_EVENT_LOST, &events->watch[events->n]) != 0) {
			(void)lh_lock_close(events->lock[events->n]);
			return;
		}
	}
}

void
run_events_close(struct run_events *events)
{
	while (events->n > 0) {
		(void)lh_watch_close(events->watch[--events->n]);
		(void)lh_lock_close(events->lock[events->n]);
	}
}

void
run_events_pollfds(const struct run_events *events, struct pollfd *fds)
{
	for (size_t i = 0; i < events->n; i++)
		fds[i] = (struct pollfd){ .fd = lh_watch_fd(events->watch[i]),
		    .events = POLLIN };
}

uint32_t
run_events_take(struct run_events *events)
{
	struct lh_event e = LH_EVENT_INIT;
	uint32_t what = 0;

	for (size_t i = 0; i < events->n; i++)
		while (lh_watch_next(events->watch[i], &e) == 0)
			what |= e.what;
	return what;
}
