/* SPDX-License-Identifier: MIT */
/*
 * A ticket for a cluster key: answers "has this host the right to it, so that
 * it may queue?".
 *
 * It is what op/cluster_acquire.c does around an acquire, but nothing here
 * waits: the question is sent, and the ticket looked at again, at first soon,
 * then every 64 ms, until it is answered.  Then it queues like any; the
 * question stays open meanwhile, so that the shim hears if this process ends.
 *
 *	T_PLEADS	no right is seen: the shim is asked for it
 *	T_HAS	granted in the table: the right is looked for; none is there:
 *		given back, and T_PLEADS again, after a while
 */
#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "live/ticket.h"
#include "op/cluster_acquire.h"

#define SOON_NS NS_PER_MS
#define SLOW 6			/* the last step: 64 ms */

int64_t
lhi_ticket_cluster_ns(const struct lh_ticket *t)
{
	return SOON_NS << (t->pleads < SLOW * 4 ? t->pleads / 4 : SLOW);
}

void
lhi_ticket_cluster_end(struct lh_ticket *t)
{
	if (t->plea != NULL)
		lhi_shim_request_end(t->plea);
	free(t->plea);
	t->plea = NULL;
}

static int
begin_request(struct lh_ticket *t)
{
	const struct lhi_cluster_acquire_wish wish = { t->key, t->ask.shared };

	t->plea = calloc(1, sizeof(*t->plea));
	return t->plea == NULL ? lhi_fail(-ENOMEM, "out of memory") :
	    lhi_cluster_acquire_request(t->lh, t->plea, &wish, 1, &t->ask,
	    t->bad_place ? FRAME_REANCHOR : 0);
}

static int
read_answer(struct lh_ticket *t)
{
	int error = lhi_shim_request_look(t->plea);

	if (error == 0)
		error = lhi_cluster_acquire_answer(t->plea);
	else if (error == PLEA_OPEN)
		error = lhi_now_ns(&t->lh->v) < t->ask.until_ns ? WAITING :
		    lhi_cluster_acquire_late(t->plea, &t->ask);
	return error == 0 ? WISH_GO : error;
}

int
lhi_ticket_cluster_look(struct lh_ticket *t)
{
	int error = 0;

	if (!lhi_cluster_key(t->lh, &t->name))
		return WISH_GO;
	if (t->plea == NULL && !t->bad_place &&
	    lhi_right_is_valid(&t->lh->v, &t->ref, t->ask.shared, NULL))
		return WISH_GO;
	if (t->plea == NULL)
		error = begin_request(t);
	if (error == 0)
		error = read_answer(t);
	if (error == WAITING) {
		t->pleads++;
	} else if (error != WISH_GO) {
		lhi_ticket_cluster_end(t);
		lhi_cluster_acquire_count(t->lh, error);
	}
	return error;
}

int
lhi_ticket_cluster_confirm(struct lh_ticket *t)
{
	int error;

	if (!lhi_cluster_key(t->lh, &t->name))
		return 0;
	error = lhi_cluster_acquire_confirm(t->lh, &t->lease);
	lhi_ticket_cluster_end(t);
	if (error == 0)
		return 0;
	t->bad_place = error == CLUSTER_ABOVE;
	t->pleads += 4;			/* not at once */
	t->phase = T_PLEADS;
	return lhi_now_ns(&t->lh->v) < t->ask.until_ns ? WAITING :
	    lhi_fail(-ETIMEDOUT, "waited in vain: this host was not granted "
	    "'%.64s' by the cluster in time", t->key);
}
