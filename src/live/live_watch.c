/* SPDX-License-Identifier: MIT */
/*
 * Watches of a live handle: lh_lock_watch() opens one.  Its descriptor is
 * readable (readable.c) exactly while its queue of events (live_events.c) is
 * not empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/handle.h"
#include "live/live_set.h"

int
lh_lock_watch(struct lh_lock *l, uint32_t what, struct lh_watch **out)
{
	int error = l == NULL ? -EINVAL : lhi_live_check_epoch(l->epoch);
	struct lh_watch *w;

	if (l == NULL || out == NULL || (what & ~LH_EVENT_ALL) != 0)
		return lhi_fail(-EINVAL, l == NULL ? "no live handle was given "
		    "(NULL)" : out == NULL ? "nowhere to put the watch (NULL)" :
		    "unknown events");
	if (error != 0)
		return error;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	error = lhi_readable_open(&w->fd, "a watch");
	if (error != 0) {
		free(w);
		return error;
	}
	w->epoch = l->epoch;
	w->what = what == 0 ? LH_EVENT_ALL : what | LH_EVENT_CLOSED;
	lhi_live_lock();
	if (l->closing) {
		lhi_live_unlock();
		lhi_readable_close(&w->fd);
		free(w);
		return lhi_fail(-EINVAL, "another thread closes this handle");
	}
	w->lock = l;
	TAILQ_INSERT_TAIL(&l->watches, w, of_lock);
	if (l->status == LH_LOCK_HELD)
		lhi_live_notify_asked(l);
	lhi_live_unlock();
	*out = w;
	return 0;
}

static int
check_watch(const struct lh_watch *w)
{
	return w == NULL ? lhi_fail(-EINVAL, "no watch was given (NULL)") :
	    lhi_live_check_epoch(w->epoch);
}

int
lh_watch_fd(const struct lh_watch *w)
{
	int error = check_watch(w);

	return error != 0 ? error : w->fd.fd;
}

int
lh_watch_next(struct lh_watch *w, struct lh_event *event)
{
	int error = check_watch(w);
	struct lh_event e;
	size_t size;
	bool any;

	if (error != 0)
		return error;
	if (event == NULL || event->size < sizeof(event->size))
		return lhi_fail(-EINVAL, "event->size is to be set to "
		    "sizeof(struct lh_event)");
	lhi_live_lock();
	any = lhi_live_take_event(&w->events, &e);
	if (any && w->events.n == 0)
		lhi_readable_lower(&w->fd);
	lhi_live_unlock();
	if (!any)
		return lhi_fail(-EAGAIN, "nothing has happened");
	size = event->size < sizeof(e) ? event->size : sizeof(e);
	e.size = event->size;
	memcpy(event, &e, size);
	return 0;
}

int
lh_watch_close(struct lh_watch *w)
{
	int error = check_watch(w);

	if (error != 0)
		return error;
	lhi_live_lock();
	if (w->lock != NULL)
		TAILQ_REMOVE(&w->lock->watches, w, of_lock);
	lhi_live_unlock();
	lhi_readable_close(&w->fd);
	w->epoch = LIVE_CLOSED;
	lhi_handle_free(HANDLE_WATCH, w);
	return 0;
}
