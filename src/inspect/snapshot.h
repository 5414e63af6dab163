/* SPDX-License-Identifier: MIT */
/* A consistent snapshot of a key with its holders and waiters: see
 * snapshot.c. */
#ifndef LHI_SNAPSHOT_H
#define LHI_SNAPSHOT_H

#include "inspect/describe_claim.h"
#include "proc/attachment.h"

/* Initialise with { .lh = lh }.  A snapshot may be taken again. */
struct lhi_snapshot {
	struct lh *lh;
	uint32_t mine;		/* the wait whose rank is wanted; 0: the
				 * attachment's first wait */
	struct shm_slot *slot;
	struct lhi_crowd holders, waiters;
	uint32_t rank;		/* rank of `mine`; 0: it does not wait */
	bool whole;		/* the last walk was complete */
	uint64_t sum;		/* sum over the claims that were read, with use
				 * and state */
	char key[SHM_KEY_MAX + 1];
	char elsewhere[300];	/* a cluster key: op/cluster_holders.c */
	struct lh_key_info info;
};

/*
 * Take a snapshot of the key in slot s, whose name is in sn->key, or of the key
 * with that name.  The result is in sn->info, which points into the snapshot.
 * Return 0; or -EAGAIN, -ENOMEM or -EUCLEAN with a detail; by name also
 * -ENOENT, -EINVAL or -ENAMETOOLONG.
 */
int lhi_snapshot_take(struct lhi_snapshot *sn, struct shm_slot *s);
int lhi_snapshot_of(struct lhi_snapshot *sn, const char *key);

void lhi_snapshot_drop(struct lhi_snapshot *sn);

#endif
