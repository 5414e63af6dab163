/* SPDX-License-Identifier: MIT */
/* Waits that wait for each other: finding them.  See waits_for.c. */
#ifndef LHI_WAITS_FOR_H
#define LHI_WAITS_FOR_H

#include "shm/view.h"

#define HOPS_MAX 32u
#define WAYS_MAX 64u
#define SEEN_MAX 256u
#define SOON_MAX 16u
#define ENDS_SOON_NS (100 * NS_PER_MS)	/* a lease that ends so soon is no
					 * reason, unless it is renewed */

/* Leases that would end soon, as a look met them. */
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
	WAY_JOB,		/* a job of the `run` that has it does */
	WAY_SESSION		/* who waits acquires into its named session */
};

/* Something in the way: a lease, or (hold 0) a wait before ours. */
struct lhi_way {
	uint32_t hold;
	uint64_t hold_st;
	uint64_t owner;		/* session of the lease */
	uint32_t wait;		/* what is waited with */
	enum lhi_way_kind kind;
	uint64_t wait_st;
};

/* A wait on the way, as it was seen, and what is in its way. */
struct lhi_hop {
	uint32_t wait;
	uint64_t st, slot_ref, word;
	uint32_t flags;
	uint32_t at;		/* way[at] is gone along */
	uint32_t n;
	struct lhi_way way[WAYS_MAX];
};

struct lhi_waits_for {
	struct lhi_view *v;
	const struct lhi_soon_leases *soon_before; /* by the look before */
	int64_t now;
	bool victim;		/* only along waits that ours gives way to */
	bool pruned;		/* there were others */
	bool all;		/* along leases that end soon, too */
	int64_t soon_ns;	/* when the first of those ends */
	struct lhi_soon_leases soon;	/* those that were met */
	int64_t budget;
	uint32_t n_seen, n;
	uint32_t seen[SEEN_MAX];
	struct lhi_hop hop[HOPS_MAX];
};

/*
 * Is there a circle through wait ci?  victim: of which it would be the one to
 * give way.  all: also over leases that end soon.  True: it is hop[0..n).
 */
bool lhi_waits_for_find(struct lhi_waits_for *q, uint32_t ci, bool victim, bool
    all);

/* It was found: did all of it stand at one moment? */
bool lhi_waits_for_is_proved(struct lhi_waits_for *q);

/* True if wait a, rather than wait b, is to give way. */
bool lhi_waits_for_is_victim(const struct lhi_view *v, uint32_t a, uint32_t b);

/* The record of the session whose thread waits with claim ci; or NULL. */
struct shm_session *lhi_waits_for_session(const struct lhi_view *v, uint32_t
    ci);

#endif
