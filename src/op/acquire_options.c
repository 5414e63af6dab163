/* SPDX-License-Identifier: MIT */
/*
 * The slow path of acquire: applies the rarer options (struct lh_acquire_more),
 * in a fixed order.
 *
 * acquire_wait.c (tries and waits) and acquire_slow.c (takes) know one key and
 * one claim.  Everything else is done around them, each by a function that does
 * its part and calls the next one:
 *
 *	lhi_reentry_acquire()	the holder id, if there is one: op/reentry.c
 *	acquire_by_request()	the request id, if there is one:
 *				op/idempotency.c
 *	acquire_with_value()	sets the key's value, right after the grant
 *				(op/lease_value.c)
 *	acquire_in_session()	hands the granted lease over to a named session
 *	acquire_anywhere()	a cluster key: this host's right to it
 *				(op/cluster_acquire.c)
 *	lhi_acquire_key()	the key, looked up again each time it is gone;
 *				or ask.how, which acquires something else
 *
 * A ticket (live/ticket_options.c) does the same in the same order, but in
 * steps.
 *
 * The thread does not remember a lease of such an acquire (ask.rare), unless it
 * is only strict (ask.strict_alone).  So its release (release_options.c),
 * extension and verification take the slow path, and the fast paths know
 * nothing of these options.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include "base/error.h"
#include "op/cluster_acquire.h"
#include "op/handoff.h"
#include "op/reentry.h"
#include "op/acquire_target.h"
#include "op/idempotency.h"
#include "op/lease_value.h"
#include "shm/damaged.h"

#define GONE_MAX 1000u		/* lives of the key that ended, in a row */

int
lhi_acquire_key(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	uint32_t n = 0;
	int error;

	do {
		error = lhi_acquire_wait(lh, &want->ref, ask, lease);
		if (error != KEY_GONE)
			return error;
		lhi_point("acquire.gone");
		error = lhi_key_name_resolve(lh, want->name,
		    ask->no_create ? LH_NO_CREATE : 0, &want->ref);
		if (error != 0)
			return error;
	} while (LHI_WITHIN(n, GONE_MAX));
	return lhi_damaged_restless(&lh->v, "the slot of a key",
	    lhi_slot_idx(&lh->v, want->ref.slot));
}

/* Acquires the key, wherever its cluster right is. */
static int
acquire_anywhere(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	return lhi_cluster_acquire_is_needed(lh, want->name) ?
	    lhi_cluster_acquire(lh, want, ask, lease, lhi_acquire_key) :
	    lhi_acquire_key(lh, want, ask, lease);
}

static int
acquire_in_session(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	int error = ask->how != NULL ? ask->how(lh, want, ask, lease) :
	    acquire_anywhere(lh, want, ask, lease);

	return ask->more->session == NULL || error != 0 ? error :
	    lhi_handoff_after_acquire(lh, ask, lease);
}

int
lhi_acquire_set_value(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lh_lease *lease)
{
	int error = lhi_lease_value_set_once(lh, ask, lease);
	char detail[512];

	if (error == 0)
		return 0;
	/* the sentence about the failure must survive the release */
	(void)snprintf(detail, sizeof(detail), "%s", lh_error_detail());
	/* guarantee G8: not acquired */
	(void)lh_release(lh, lease);
	return lhi_fail_again(error, detail);
}

static int
acquire_with_value(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	struct lh_lease got = { 0 };
	int error = acquire_in_session(lh, want, ask, &got);

	if (error == 0)
		error = lhi_acquire_set_value(lh, ask, &got);
	if (error == 0)
		*lease = got;
	return error;
}

/* Acquires with a request id, unless the request was answered before. */
static int
acquire_by_request(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	struct lhi_acquire_request ours = *ask;
	struct lhi_request q;
	int cancel, error = lhi_idempotency_begin(lh, want, ask, &q, lease);

	if (error == 0 && ask->callback != NULL)
		ask->callback->told = true;
	if (error != REQUEST_OURS)
		return error != 0 ? error :
		    lhi_idempotency_set_value(lh, ask, &q, lease);
	/* after it has announced that it works on the request, this thread must
	 * not be cancelled */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ours.request = &q;
	error = acquire_with_value(lh, want, &ours, lease);
	lhi_idempotency_finish(lh, ask, &q, error);
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}

int
lhi_acquire_checked(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	int error = lhi_cluster_acquire_check_opts(lh, ask, want->name);

	if (error != 0)
		return error;
	if (ask->more->holder != NULL)
		return lhi_reentry_acquire(lh, want, ask, lease,
		    acquire_with_value);
	return (ask->more->request[0] | ask->more->request[1]) != 0 ?
	    acquire_by_request(lh, want, ask, lease) :
	    acquire_with_value(lh, want, ask, lease);
}

int
lhi_acquire_slow(struct lh *lh, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease)
{
	struct lhi_acquire_request ask;
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_acquire_request_set(&lh->v, &ask, opts);
	if (error == 0)
		error = lhi_acquire_checked(lh, want, &ask, lease);
	return error == 0 || lh == NULL ? error : lhi_damaged_or(&lh->v, error);
}
