/* SPDX-License-Identifier: MIT */
/*
 * A ticket for a cluster key: finds out if this host has the right to it, so
 * that it may queue.
 *
 * It is what op/cluster_acquire.c does around an acquire, but nothing here
 * waits.  The question is sent, and the ticket checked again, at first soon,
 * then every 64 ms, until it is answered.  Then it queues like any.  A question
 * that is sent because the right was lost again begins anew, but not as soon.
 * The question stays open meanwhile, so that the shim notices if this process
 * ends.
 *
 *	T_ASKS_SHIM	no right is seen: the shim is asked for it
 *	T_HAS	granted in the table: the right is checked.  If it is missing,
 *		the lease is released, and T_ASKS_SHIM follows after a while
 */
#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "live/ticket.h"
#include "op/cluster_acquire.h"

#define SOON_NS NS_PER_MS
#define SLOW 6			/* the last step: 64 ms */
#define LOSS 4			/* a lost right counts as so many looks, */
#define LOSSES_MAX 12		/* but all of them as 8 ms at most */

int64_t
lhi_ticket_cluster_retry_ns(const struct lh_ticket *t)
{
	return SOON_NS << (t->shim_looks < SLOW * 4 ? t->shim_looks / 4 : SLOW);
}

void
lhi_ticket_cluster_end(struct lh_ticket *t)
{
	if (t->shim_request != NULL)
		lhi_shim_request_end(t->shim_request);
	free(t->shim_request);
	t->shim_request = NULL;
}

static int
begin_request(struct lh_ticket *t)
{
	const struct lhi_cluster_acquire_item item = { t->key, t->ask.shared };

	t->shim_looks = t->shim_losses;
	t->shim_request = calloc(1, sizeof(*t->shim_request));
	return t->shim_request == NULL
		   ? lhi_fail(-ENOMEM, "out of memory")
		   : lhi_cluster_acquire_send_request(t->lh, t->shim_request,
			 &item, 1, &t->ask, t->bad_place ? FRAME_REANCHOR : 0);
}

static int
read_answer(struct lh_ticket *t)
{
	int error = lhi_shim_request_look(t->shim_request);

	if (error == 0)
		error = lhi_cluster_acquire_read_answer(t->shim_request);
	else if (error == SHIM_REQUEST_OPEN)
		error = lhi_now_ns(&t->lh->v) < t->ask.until_ns ? WAITING :
		    lhi_cluster_acquire_fail_late(t->shim_request, &t->ask);
	return error == 0 ? TICKET_QUEUE : error;
}

int
lhi_ticket_cluster_advance(struct lh_ticket *t)
{
	int error = 0;

	if (!lhi_cluster_acquire_is_needed(t->lh, &t->name))
		return TICKET_QUEUE;
	if (t->shim_request == NULL && !t->bad_place &&
	    lhi_right_is_valid(&t->lh->v, &t->ref, t->ask.shared, NULL))
		return TICKET_QUEUE;
	if (t->shim_request == NULL)
		error = begin_request(t);
	if (error == 0)
		error = read_answer(t);
	if (error == WAITING) {
		t->shim_looks++;
	} else if (error != TICKET_QUEUE) {
		lhi_ticket_cluster_end(t);
		lhi_cluster_acquire_count_error(t->lh, error);
	}
	return error;
}

int
lhi_ticket_cluster_confirm(struct lh_ticket *t)
{
	int error;

	if (!lhi_cluster_acquire_is_needed(t->lh, &t->name))
		return 0;
	error = lhi_cluster_acquire_confirm(t->lh, &t->lease);
	lhi_ticket_cluster_end(t);
	if (error == 0)
		return 0;
	t->bad_place = error == CLUSTER_ABOVE;
	/* not at once, and each time later */
	if (t->shim_losses < LOSSES_MAX)
		t->shim_losses += LOSS;
	t->shim_looks = t->shim_losses;
	t->phase = T_ASKS_SHIM;
	return lhi_now_ns(&t->lh->v) < t->ask.until_ns ? WAITING :
	    lhi_fail(-ETIMEDOUT, "timed out waiting for the cluster to "
	    "grant this host '%.64s'", t->key);
}
