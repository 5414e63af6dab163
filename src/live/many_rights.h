/* SPDX-License-Identifier: MIT */
/* This host's rights to the cluster keys of a set.  See many_rights.c. */
#ifndef LHI_MANY_RIGHTS_H
#define LHI_MANY_RIGHTS_H

#include <leasehold/many.h>
#include "op/cluster_acquire.h"

struct lhi_many_rights {
	struct lh *lh;
	const struct lh_item *items;
	const uint8_t *order;	/* of the items; cluster keys first */
	uint32_t n;		/* order[0 .. n - 1] are cluster keys */
	bool given_up;		/* lhi_many_rights_missing() */
	int64_t patience_ns;
	int64_t look_ns;	/* look then, by the table's clock */
	struct lhi_shim_request request;
};

/* Asks the shim for the missing rights, all together. Errors as
 * lhi_cluster_acquire_ask_shim(). */
int lhi_many_rights_ask(struct lhi_many_rights *r,
    const struct lhi_acquire_request *ask);

/* Sets look_ns for a wait for order[k], while order[0 .. k - 1] are held. */
void lhi_many_rights_begin_wait(struct lhi_many_rights *r, uint32_t k);

/* True if it is time to look, and the right to order[k] is missing: the keys
 * that are held must be released (invariant I6). */
bool lhi_many_rights_missing(struct lhi_many_rights *r, uint32_t k);

/* Ends the round's question.  After a round that was given up it stays open, so
 * that this host keeps its place in the cluster's queues. */
void lhi_many_rights_end_round(struct lhi_many_rights *r);

#endif
