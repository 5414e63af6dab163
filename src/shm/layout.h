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
#include "base/bits.h"
#include "fence/range.h"
#include "prim/shared.h"

#define SHM_MAGIC	UINT64_C(0x646c6f6865736165)	/* "easehold" */
#define SHM_FORMAT	9u

#define SHM_CHUNK	64u	/* claims a chunk: what a session gets */
#define SHM_GROUP	8u	/* claims a group: what a thread gets */
#define SHM_KEY_INLINE	32u	/* key bytes beside the slot */
#define SHM_KEY_MAX	255u
#define SHM_SHARDS	64u	/* of the eviction floors */
#define SHM_VALUE_MAX	256u	/* bytes of a key's value */
#define SHM_INFO_MAX	96u	/* of a requester's words, with the NUL */
#define SHM_STATS	46u	/* counters a session */
#define SHM_EVENTS	126u	/* a ring */
#define SHM_RING_READY	1u	/* any other value: not */
#define SHM_HOLD_TIMES	20u	/* classes of a histogram */
#define SHM_PREFIX	32u	/* bytes, with the NUL */
#define SHM_SOCKET	112u	/* of a path, with the NUL */

/* header flags (any) */
#define SHM_DAMAGED	0x1u	/* an inconsistency was confirmed; sticky */
#define SHM_RETIRED	0x2u	/* removed: shm/table_remove.c; sticky */
#define SHM_REPAIRING 0x4u /* being repaired, or left so: offline/repair.c */
#define SHM_LOG_GRANTS	0x8u	/* grants and releases are events, too */
#define SHM_SEALED	0x10u	/* its first range was the highest there was,
				 * when it had its name: I4 of
				 * op/token_ceiling.c */
#define SHM_WANTED	0x20u	/* reapers are to leave it alone */

/* The notes that RETIRED and REPAIRING need in addition to the flag, so that no
 * single bit leads to an irreversible step: lhi_noted() */
#define SHM_REMOVAL_NOTE UINT64_C(0x9d3a5c7162e84fb3)
#define SHM_REPAIR_NOTE	UINT64_C(0x6a95e3184bd7f02c)

/* header options (once) */
#define SHM_OPT_HOLD_TIMES 0x1u	/* count how long leases are held */
#define SHM_OPT_GLOBAL	0x2u	/* tokens rise over all keys: op/token_next.c */

/* park */
#define PARK_AWAKE	0u
#define PARK_ASLEEP	1u	/* a wake-up wakes it */
#define PARK_QUIET	2u	/* after a lost race; only cancel wakes it */
#define PARK_ASKED	0x80000000u	/* | seq: the holder in that use is
					 * asked to release it: op/break.c */

/* wflags, low bits */
#define WAITER_BITS 12
#define WAITER_SUSPECT	0x1u	/* did not take a free key when it was first:
				 * passed over until its owner clears it
				 * (amendment C5) */
#define WAITER_STARVING	0x2u	/* has been first for 1 ms: no more
				 * overtaking */
#define WAITER_SHARED	0x4u	/* wants shared mode */
#define WAITER_BELL	0x8u	/* sleeps on its session's doorbell and not
				 * on park: shm/doorbell.c */
#define WAITER_UPGRADE	0x10u	/* a reader that waits for an upgrade:
				 * op/upgrade.c; before all others */
#define WAITER_LOOK	0x20u	/* any: it is in a circle: op/deadlock.c */
#define WAITER_NO_DEADLOCK	0x40u	/* ignores deadlocks */
#define CLAIM_MOVING	0x80u	/* presenter: a named session's, which never
				 * waits: it is being handed over, converted
				 * or released, or a process was killed in
				 * that: shm/session_named_end.c */
#define MOVING_USE_SHIFT 8	/* next to it: low bits of the use's seq */
#define MOVING_USE_BITS	4	/* that moves; other uses ignore it */
#define MOVING_MASK \
	(CLAIM_MOVING | (uint32_t)MASK(MOVING_USE_BITS) << MOVING_USE_SHIFT)

/* key_info */
#define KEY_LEN		0xffu
#define KEY_KEPT	0x100u	/* never evicted to make room */
#define KEY_LOCAL	0x200u	/* granted, or to be granted, in scope local:
				 * no token at or above the durable ceiling */
#define KEY_CLUSTER	0x400u	/* its name has the cluster's prefix: it has a
				 * right; set by the reserver */
#define KEY_LIFE(gen)	((gen) << 11)	/* whose flags these are */
#define KEY_SAID	(KEY_LIFE(1u) - 1) /* all of it that is not that */

/* session: named ones */
#define NAMED_DELETE	1u	/* keys that it holds at its end are evicted */

/* session, until, instead of a deadline: how a named session ended */
enum lhi_named_end {
	NAMED_LIVES = 0,
	NAMED_DESTROYED = 1,
	NAMED_TTL = 2,
	NAMED_MAKER = 3,
	NAMED_PROCESS = 4	/* the process that it was bound to has */
};

/* shm_session.doorbell: two counters that only rise, each of its own; a carry
 * from the lower one is a needless check */
#define BELL_LISTENS	0x1u	/* a thread may sleep on the word */
#define BELL_TURN	0x2u	/* one more: a waiter without a thread */
#define BELL_LEASE	0x10000u /* one more: a lease has ended, or is
				  * requested */

/* The words of shm_session.stat, and of shm_header.gone: shm/counters.h. */
enum lhi_counter {
	/* what acquisitions are computed from */
	STAT_SPENT = 0,		/* uses of claims that were not acquisitions */
	STAT_BASE = 1,		/* uses of its claims before it had them */
	STAT_CHUNKS = 2,	/* how many chunks are in STAT_BASE */
	/* as struct lh_counters has them */
	STAT_SHARED = 3,
	STAT_WAITS = 4,
	STAT_TIMEOUTS = 5,
	STAT_BUSY = 6,
	STAT_CANCELLED = 7,
	STAT_DEADLOCKS = 8,
	STAT_EXPIRED_OWN = 9,
	STAT_EXPIRED_OTHERS = 10,
	STAT_DIED = 11,
	STAT_BROKEN = 12,
	STAT_RETIRED = 13,
	STAT_TOLD_LOST = 14,
	STAT_DEATHS = 15,
	STAT_BARGES = 16,
	STAT_COMPLETIONS = 17,
	STAT_EXTENDS = 18,
	STAT_CONVERTS = 19,
	STAT_KEYS_MADE = 20,
	STAT_EVICTIONS = 21,
	STAT_WAIT_US = 22,
	STAT_AWAY = 23,
	STAT_WAIT = 24,		/* SHM_HOLD_TIMES of them */
	STAT_BLIND = STAT_WAIT + SHM_HOLD_TIMES,
	STAT_END = STAT_BLIND + 1
};

/* event: what */
#define EVENT_KIND_BITS 6
#define EVENT_MODE_SHIFT 6
#define EVENT_VISITOR_SHIFT 7
#define EVENT_CAUSE_SHIFT 8
#define EVENT_OTHER_SHIFT 11
#define EVENT_OTHER_BITS 13
#define EVENT_CLAIM_SHIFT 24
#define EVENT_CHECK_SHIFT 46
#define EVENT_NAME 63u	/* a kind, in the ring only: the first bytes of the
			 * name of the session that began */
#define EVENT_NAME_LEN 16u

/* request: notes */
#define REQUEST_SEVERAL 0x8u	/* on one of several keys: its hash says which
				 * several, and not which key the lease is on */

static_assert(STAT_END <= SHM_STATS, "counters of a session");
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

/* Computes the offsets and other values from the counts; -EINVAL if those are
 * not within the limits of the format. */
int lhi_geometry_place(struct lhi_geometry *g);

/*
 * Returns the fingerprint on which a build must agree with a table.  It is a
 * hash over every field of shm/layout.def and fence/range_file.def (name, type,
 * offset, number of elements), every constant of shm/constants.def (name,
 * value), and the places where the packing functions of base/bits.h put their
 * arguments.
 */
uint64_t lhi_geometry_fingerprint(void);

#endif
