/* SPDX-License-Identifier: MIT */
/*
 * What the library tells of leases that are held: that somebody asks for one,
 * or has broken it, at once, where run_guard.c by itself looks twice a second.
 *
 * A live handle over each lease, which is not to renew it (run_guard.c does,
 * and the handle follows its deadline), and a watch on it.  The library's
 * thread, which listens to the doorbell, comes with them: when the command
 * runs.  Where there is no such thread, or descriptor, to be had, nothing is
 * heard, and run_guard.c's own looks remain.
 */
#include <poll.h>
#include "verb_run.h"

void
ear_open(struct ear *ear, struct run *r)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;

	o.renew_ms = 0;
	for (ear->n = 0; ear->n < r->n; ear->n++) {
		if (lh_lock_adopt(r->lh, &r->leases[ear->n], r->ttl_ms, &o,
		    &ear->lock[ear->n]) != 0)
			return;
		if (lh_lock_watch(ear->lock[ear->n], LH_EVENT_ASKED |
		    LH_EVENT_LOST, &ear->watch[ear->n]) != 0) {
			(void)lh_lock_close(ear->lock[ear->n]);
			return;
		}
	}
}

void
ear_close(struct ear *ear)
{
	while (ear->n > 0) {
		(void)lh_watch_close(ear->watch[--ear->n]);
		(void)lh_lock_close(ear->lock[ear->n]);
	}
}

void
ear_fds(const struct ear *ear, struct pollfd *fds)
{
	for (size_t i = 0; i < ear->n; i++)
		fds[i] = (struct pollfd){ .fd = lh_watch_fd(ear->watch[i]),
		    .events = POLLIN };
}

uint32_t
ear_heard(struct ear *ear)
{
	struct lh_event e = LH_EVENT_INIT;
	uint32_t what = 0;

	for (size_t i = 0; i < ear->n; i++)
		while (lh_watch_next(ear->watch[i], &e) == 0)
			what |= e.what;
	return what;
}
