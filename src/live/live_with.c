/* SPDX-License-Identifier: MIT */
/*
 * lh_with(): runs a function under a lease.
 *
 * It uses a live handle, of which only the loss is watched, for as long as the
 * function runs.  The release says whether the key was held all the time,
 * because a lost lease is never acquired again by itself.
 */
#include <errno.h>
#include "base/error.h"
#include "live/live_set.h"

static const struct lh_acquire_opts usual = LH_ACQUIRE_OPTS_INIT;

/* The handle, held and watched. */
static int
acquire_watched(struct lh_lock *lock, const struct lh_acquire_opts *opts,
    struct lh_watch **loss)
{
	int error = lh_lock_watch(lock, LH_EVENT_LOST, loss);

	if (error != 0)
		return error;
	error = lh_lock_acquire(lock, opts);
	if (error != 0)
		(void)lh_watch_close(*loss);
	return error;
}

int
lh_with(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    lh_with_fn *fn, void *arg, int *result)
{
	struct lh_acquire_opts o = opts != NULL ? *opts : usual;
	struct lh_held held = { .size = sizeof(held) };
	struct lh_lock_state state = { .size = sizeof(state) };
	struct lh_watch *loss;
	int error, value;

	if (fn == NULL)
		return lhi_fail(-EINVAL, "no function to run (NULL)");
	o.max_wait_ms = 0;
	o.deadline_ns = 0;
	error = lh_lock_open(lh, key, NULL, &held.lock);
	if (error != 0)
		return error;
	error = acquire_watched(held.lock, &o, &loss);
	if (error == 0) {
		(void)lh_lock_state(held.lock, &state);
		held.lease = state.lease;
		held.loss_fd = lh_watch_fd(loss);
		value = fn(&held, arg);
		if (result != NULL)
			*result = value;
		error = lh_lock_release(held.lock);
		(void)lh_watch_close(loss);
	}
	(void)lh_lock_close(held.lock);
	return error;
}
