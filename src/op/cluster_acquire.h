/* SPDX-License-Identifier: MIT */
/* Acquiring cluster keys.  See cluster_acquire.c. */
#ifndef LHI_CLUSTER_ACQUIRE_H
#define LHI_CLUSTER_ACQUIRE_H

#include "inspect/snapshot.h"
#include "op/shim_request.h"
#include "op/cluster_check.h"

/* Checks that the requested scope suits that key, and that no value is set with
 * a cluster key. Returns 0; -EOPNOTSUPP. */
int lhi_cluster_acquire_check_opts(struct lh *lh,
    const struct lhi_acquire_request *ask, const struct lhi_key_name *n);

/* True if that is a cluster key, and this attachment does not serve the
 * cluster. */
static inline bool
lhi_cluster_acquire_is_needed(const struct lh *lh, const struct lhi_key_name *n)
{
	return lhi_right_wanted(&lh->v, n) && !lh->serves;
}

/* The function that acquires a key in the table: as lhi_acquire_checked(). */
typedef int lhi_local_fn(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Acquires a cluster key, in the table by fn.  Errors as fn, -EHOSTUNREACH,
 * -EACCES, and other reasons why the shim cannot get it. */
int lhi_cluster_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_local_fn *fn);

/*
 * Asks for the rights to n keys, all or none, in these modes.  Returns 0: wait
 * for them in the table now; or an error as above, also -EAGAIN (only if
 * try_only). The request must be ended when that wait has, whatever this
 * returns.
 */
struct lhi_cluster_acquire_item {
	const char *key;
	bool shared;
};

int lhi_cluster_acquire_ask_shim(struct lh *lh, struct lhi_shim_request *p,
    const struct lhi_cluster_acquire_item *w, uint32_t n,
    const struct lhi_acquire_request *ask, unsigned flags);

/* The same, without waiting for the answer: lhi_shim_request_look() finds it
 * later, and lhi_cluster_acquire_read_answer() returns as above. */
int lhi_cluster_acquire_send_request(struct lh *lh, struct lhi_shim_request *p,
    const struct lhi_cluster_acquire_item *w, uint32_t n,
    const struct lhi_acquire_request *ask, unsigned flags);
int lhi_cluster_acquire_read_answer(const struct lhi_shim_request *p);

/* Counts the outcome of a question in the table's counters. */
void lhi_cluster_acquire_count_error(struct lh *lh, int error);

/* Returns the error when the time was over during a question: -EHOSTUNREACH or
 * -ETIMEDOUT. */
int lhi_cluster_acquire_fail_late(const struct lhi_shim_request *p, const struct
    lhi_acquire_request *ask);

/*
 * Checks a lease that was just granted in the table.  Returns 0, and its end is
 * that of its right, if that is sooner; CLUSTER_NOT: it was given back, because
 * there is no right; CLUSTER_ABOVE: because its token is not valid.
 */
enum { CLUSTER_NOT = 1, CLUSTER_ABOVE = 2 };

int lhi_cluster_acquire_confirm(struct lh *lh, struct lh_lease *lease);

#endif
