/* SPDX-License-Identifier: MIT */
/*
 * Acquires a key by its name, and calls a function of the caller's while it
 * waits.  The wait keeps its place in the queue meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "op/acquire_target.h"
#include "op/acquire.h"
#include "op/cluster_acquire.h"
#include "proc/fork.h"
#include "shm/damaged.h"

#define WATCH_NS (20 * NS_PER_MS)

struct watched {
	struct lhi_wait_callback
	    callback; /* first, because the wait passes its address */
	struct lh *lh;
	const char *key;
	int (*watch)(void *arg);
	void *arg;
};

static int
call_watch(struct lhi_wait_callback *callback)
{
	struct watched *w = (struct watched *)callback;
	uint32_t forks = lhi_forks();
	int stop = w->watch(w->arg);

	/* in a child: the place in the queue is its parent's */
	if (lhi_forks() != forks)
		abort();
	if (stop != 0)
		return lhi_fail(-ECANCELED, "the caller has ended its wait for "
		    "'%.64s'", w->key);
	callback->at_ns = lhi_now_ns(&w->lh->v) + WATCH_NS;
	return 0;
}

int
lh_acquire_watched(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, int (*watch)(void *arg), void *arg,
    struct lh_lease *lease)
{
	struct watched w = { .callback.run = call_watch, .lh = lh, .key = key,
	    .watch = watch, .arg = arg };
	struct lhi_acquire_request ask;
	struct lhi_key_name name;
	struct lhi_acquire_target want = { .name = &name };
	int error;

	if (lease == NULL || watch == NULL)
		return lhi_fail(-EINVAL, "no %s was given (NULL)",
		    lease == NULL ? "lease to fill" : "function to call");
	error = lhi_key_name_check(lh, key, 0, &name);
	if (error == 0)
		error = lhi_acquire_request_set(&lh->v, &ask, opts);
	if (error == 0)
		error = lhi_cluster_acquire_check_opts(lh, &ask, &name);
	if (error == 0)
		error = lhi_key_name_resolve(lh, &name,
		    opts == NULL ? 0 : opts->flags, &want.ref);
	if (error != 0)
		return error;
	w.callback.at_ns = lhi_now_ns(&lh->v) + WATCH_NS;
	ask.callback = &w.callback;
	error = lhi_acquire_checked(lh, &want, &ask, lease);
	return error == 0 ? 0 : lhi_damaged_or(&lh->v, error);
}
