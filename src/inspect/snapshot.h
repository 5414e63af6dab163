/* SPDX-License-Identifier: MIT */
/* A key and those around it, as they were at one moment.  See snapshot.c. */
#ifndef LHI_SNAPSHOT_H
#define LHI_SNAPSHOT_H

#include "inspect/describe_claim.h"
#include "proc/attachment.h"

/* Begin with { .lh = lh }; may be taken again and again. */
struct lhi_snapshot {
	struct lh *lh;
	uint32_t mine;		/* the wait whose rank is asked for; 0: the
				 * attachment's first */
	struct shm_slot *slot;
	struct lhi_crowd holders, waiters;
	uint32_t rank;		/* of `mine`; 0: it does not wait */
	bool whole;		/* the last walk met everybody */
	uint64_t sum;		/* of whom was met, in which use and state */
	char key[SHM_KEY_MAX + 1];
	char elsewhere[300];	/* a cluster key: op/cluster_acquire.h */
	struct lh_key_info info;
};

/*
 * Of the key in that slot, whose name is in sn->key, or of that name: into
 * sn->info, which points into the snapshot.  0; -EAGAIN, -ENOMEM, -EUCLEAN with
 * a detail; of a name also -ENOENT, -EINVAL, -ENAMETOOLONG.
 */
int lhi_snapshot_take(struct lhi_snapshot *sn, struct shm_slot *s);
int lhi_snapshot_of(struct lhi_snapshot *sn, const char *key);

void lhi_snapshot_drop(struct lhi_snapshot *sn);

#endif
