/* SPDX-License-Identifier: MIT */
/* Finds deadlocks: waits that wait for each other in a circle.  See
 * waits_for.c; op/deadlock.c calls it. */
#ifndef LHI_WAITS_FOR_H
#define LHI_WAITS_FOR_H

#include "shm/view.h"

#define HOPS_MAX 32u
#define WAYS_MAX 64u
#define SEEN_MAX 256u
#define SOON_MAX 16u
#define ENDS_SOON_NS (100 * NS_PER_MS)	/* a lease that ends this soon is
					 * ignored, unless it is renewed */

/* Leases that will end soon, as a search found them. */
struct lhi_soon_leases {
	uint32_t n;
	struct {
		uint32_t ci;
		uint64_t st;
	} lease[SOON_MAX];
};

/* Why a lease is not released before a wait has ended. */
enum lhi_way_kind {
	WAY_THREAD = 0,		/* its thread waits */
	WAY_JOB,		/* a job of the `run` that holds it waits */
	WAY_SESSION		/* the wait acquires into its named session */
};

/* A blocker: a lease, or, if `hold` is 0, a wait ahead in the queue. */
struct lhi_way {
	uint32_t hold;
	uint64_t hold_st;
	uint64_t owner;		/* session of the lease */
	uint32_t wait;		/* the claim of the wait that follows */
	enum lhi_way_kind kind;
	uint64_t wait_st;
};

/* A wait on the path, as it was read, and its blockers. */
struct lhi_hop {
	uint32_t wait;
	uint64_t st, slot_ref, word;
	uint32_t flags;
	uint32_t at;		/* index of the blocker that the path follows */
	uint32_t n;
	struct lhi_way way[WAYS_MAX];
};

struct lhi_waits_for {
	struct lhi_view *v;
	const struct lhi_soon_leases *soon_before; /* found by the previous
						    * search */
	int64_t now;
	bool victim;		/* follow only waits to which ours gives way */
	bool pruned;		/* other waits were skipped */
	bool all;		/* also follow leases that end soon */
	int64_t soon_ns;	/* when the first lease that ends soon ends */
	struct lhi_soon_leases soon;	/* those that were found */
	int64_t budget;
	uint32_t n_seen, n;
	uint32_t seen[SEEN_MAX];
	struct lhi_hop hop[HOPS_MAX];
};

/* True if there is a circle through wait ci; it is in hop[0..n).  victim: only
 * circles in which ci is the one to give way.  all: also follow leases that end
 * soon. */
bool lhi_waits_for_find(struct lhi_waits_for *q, uint32_t ci, bool victim, bool
    all);

/* True if the circle that was found existed at one moment. */
bool lhi_waits_for_is_proved(struct lhi_waits_for *q);

/* True if wait a, not wait b, must give way. */
bool lhi_waits_for_is_victim(const struct lhi_view *v, uint32_t a, uint32_t b);

/* Returns the record of the session whose thread waits with claim ci, or
 * NULL. */
struct shm_session *lhi_waits_for_session(const struct lhi_view *v, uint32_t
    ci);

#endif
