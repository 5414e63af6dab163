/* SPDX-License-Identifier: MIT */
/*
 * The shared layout: every byte that processes share is declared here, the
 * fields of the structures in shm/layout.def.
 *
 * The object is a header page and eleven arrays, in this order, each beginning
 * on a page; the same map byte for byte, with offsets, is in doc/format.md:
 *
 *	header    4096	 1
 *	sessions   512	 max_sessions		[0] is used
 *	chunks	    32	 max_leases / 64 + 1	[0] is nobody's
 *	claims	    64	 64 x chunks		claim i is in chunk i / 64
 *	buckets	     8	 power of two >= max_keys
 *	slots	   128	 max_keys + 1		[0] is nobody's
 *	long keys  232	 max_keys / 4 + 16
 *	rings     4096	 max_sessions		[i] is of session i
 *	requests    64	 power of two >= claims / 8, and >= 4,096
 *	values	   288	 slots / 4 + 64		[0] is nobody's
 *	asides	   128	 claims			[i] is of claim i
 *	rights	    32	 max_keys + 1		[i] is of slot i
 *
 * There are indexes and never pointers.  The arrays that grow (claims, buckets,
 * slots, long keys) do so in place: where each one lies follows from the
 * header's maxima, and its `ready` count says how much of it is backed by
 * memory and may be touched (shm/backing_grow.c).  From the rings on, memory
 * comes with the first use.  The object is as long as the maxima make it from
 * the beginning, and sparse.
 *
 * Guard notes on constants:
 *	once	written before the object has a name, constant after
 *	any	atomic, by any process, by the rules of doc/protocol.md
 */
#ifndef LHI_LAYOUT_H
#define LHI_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include "fence/range.h"
#include "prim/shared.h"

#define SHM_MAGIC	UINT64_C(0x646c6f6865736165)	/* "easehold" */
#define SHM_FORMAT	8u

#define SHM_CHUNK	64u	/* claims a chunk: what a session gets */
#define SHM_GROUP	8u	/* claims a group: what a thread gets */
#define SHM_KEY_INLINE	32u	/* key bytes beside the slot */
#define SHM_KEY_MAX	255u
#define SHM_SHARDS	64u	/* of the eviction floors */
#define SHM_VALUE_MAX	256u	/* bytes of a key's value */
#define SHM_INFO_MAX	96u	/* of a requester's words, with the NUL */
#define SHM_STATS	48u	/* counters a session */
#define SHM_EVENTS	127u	/* a ring */
#define SHM_RING_READY	1u	/* any other value: not */
#define SHM_HOLD_TIMES	20u	/* classes of a histogram */
#define SHM_PREFIX	32u	/* bytes, with the NUL */
#define SHM_SOCKET	112u	/* of a path, with the NUL */

/* header flags (any) */
#define SHM_DAMAGED	0x1u	/* a confirmed inconsistency was met; sticky */
#define SHM_RETIRED	0x2u	/* removed: shm/table_remove.c; sticky */
#define SHM_REPAIRING 0x4u /* being repaired, or left so: offline/repair.c */
#define SHM_LOG_GRANTS	0x8u	/* grants and releases are events, too */
#define SHM_SEALED	0x10u	/* its first range was the highest there was,
				 * when it had its name: I4 of
				 * op/token_ceiling.c */
#define SHM_WANTED	0x20u	/* reapers are to leave it alone */

/* header options (once) */
#define SHM_OPT_HOLD_TIMES 0x1u	/* how long leases are held is told */
#define SHM_OPT_GLOBAL	0x2u	/* tokens rise over all keys: op/token_next.c */

/* park */
#define PARK_AWAKE	0u
#define PARK_ASLEEP	1u	/* a kick wakes it */
#define PARK_QUIET	2u	/* after a lost race; only cancel wakes it */
#define PARK_ASKED	0x80000000u	/* | seq: whoever holds it in that use
				 * is asked to release it: op/break.c */

/* wflags, low bits */
#define WAITER_BITS 12
#define WAITER_SUSPECT	0x1u	/* did not take a free lock when it was first:
				 * passed over until its owner clears it (C5) */
#define WAITER_STARVING	0x2u	/* has been first for 1 ms: no more barging */
#define WAITER_SHARED	0x4u	/* wants shared mode */
#define WAITER_BELL	0x8u	/* sleeps on its session's doorbell and not
				 * on park: shm/doorbell.c */
#define WAITER_UPGRADE	0x10u	/* a reader that wants the key for itself: op/
				 * upgrade.c; stands before all others */
#define WAITER_LOOK	0x20u	/* any: it is in a circle: op/deadlock.c */
#define WAITER_NO_DEADLOCK	0x40u	/* never told of a deadlock */
#define CLAIM_MOVING	0x80u	/* presenter: a named session's, who waits for
				 * nothing: somebody hands it over, converts
				 * or releases it, or was killed in that: shm/
				 * session_named_end.c */
#define MOVING_USE_SHIFT 8	/* beside it: low bits of the seq of the use */
#define MOVING_USE_BITS	4	/* that moves: of others it says nothing */

/* key_info */
#define KEY_LEN		0xffu
#define KEY_KEPT	0x100u	/* never evicted to make room */
#define KEY_LOCAL	0x200u	/* granted, or to be granted, in scope local:
				 * no token at or above the durable ceiling */
#define KEY_CLUSTER	0x400u	/* its name has the cluster's prefix: it has a
				 * right; set by the reserver */
#define KEY_LIFE(gen)	((gen) << 11)	/* whose flags these are */
#define KEY_SAID	(KEY_LIFE(1u) - 1) /* all of it that is not that */

static_assert(CLAIM_MOVING < 1u << MOVING_USE_SHIFT &&
    MOVING_USE_SHIFT + MOVING_USE_BITS <= WAITER_BITS, "wflags");

#define LAYOUT "shm/layout.def"
#include "base/declare_layout.h"
#undef LAYOUT

/* Counts, from the header once and then private: never re-read (G12). */
struct lhi_geometry {
	uint32_t max_sessions;
	uint32_t n_chunks;
	uint32_t n_claims;	/* 64 x n_chunks */
	uint32_t n_buckets;
	uint32_t n_slots;
	uint32_t n_long;	/* all of them maxima: see lhi_slots_ready() */
	uint32_t n_requests;	/* this and the next follow from the others */
	uint32_t n_values;
	uint64_t sessions_off, chunks_off, claims_off, buckets_off, slots_off,
	    long_off, rings_off, requests_off, values_off, asides_off,
	    rights_off, object_len;
};

/* Fill in the offsets, and what else follows from the counts; -EINVAL if those
 * are not within the limits of the format. */
int lhi_geometry_place(struct lhi_geometry *g);

/*
 * Returns what a build must agree on with a table: a hash over every field of
 * shm/layout.def and fence/range_file.def (name, type, offset, number of
 * elements) and every constant of shm/constants.def (name, value).
 */
uint64_t lhi_geometry_fingerprint(void);

#endif
