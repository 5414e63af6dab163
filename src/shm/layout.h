/* SPDX-License-Identifier: MIT */
/*
 * The shared layout: every byte that processes share is declared here.
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
 * Guard notes on fields:
 *	once	written before the object has a name, constant after
 *	owner	stored only by the session that owns the record, read by any
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

struct shm_header {
	/* line 0: identity (once) */
	shm_u64 magic;
	shm_u32 format;
	shm_u32 header_len;
	shm_u64 fingerprint;	/* of sizes, offsets and build-time constants */
	shm_u64 object_len;
	shm_u64 uuid[2];
	shm_u64 timens_ino;	/* time namespace of its clock */
	shm_u64 t0_ns;		/* the clock at creation: deadline 0 */
	/* line 1: geometry (once) */
	shm_u32 max_sessions;
	shm_u32 n_chunks;
	shm_u32 n_buckets;
	shm_u32 n_slots;
	shm_u32 n_long;
	shm_u32 order;		/* enum lh_order */
	shm_u32 clock_id;	/* CLOCK_MONOTONIC, CLOCK_BOOTTIME */
	shm_u32 creator_pid;	/* diagnostics */
	shm_u32 options;	/* SHM_OPT_... */
	shm_u32 reserved1;
	shm_u64 created_epoch_ms; /* diagnostics */
	shm_u64 token_base;	/* tokens of this table are above it */
	shm_u64 header_sum;	/* of every field marked once, but this */
	/* line 2: flags, and how much is backed by memory (any; rare, and the
	 * counts only rise) */
	shm_u32 flags;
	shm_u32 ready_slots;
	shm_u32 ready_chunks;
	shm_u32 ready_longs;
	shm_u32 bucket_level;	/* 2^level buckets are in use */
	shm_u32 ready_requests;	/* 0, or all of them */
	shm_u32 ready_values;
	shm_u32 reserved2[9];
	/* line 3: token ceiling (any): every token is below it; only rises */
	shm_u64 ceiling;
	shm_u64 durable_ceiling; /* any: end of the latest range of tokens that
				 * is this table's on disk; only rises,
				 * but for shm/table_remove.c.  0: it has
				 * no fence file */
	shm_u64 local_shards;	/* any: bits of shards, only set: keys that were
				 * evicted there had been granted local */
	shm_u64 raised_ms;	/* any, hint: when it was last tried to */
	shm_u64 token_seen;	/* any, hint: about the highest token */
	shm_u64 cluster_floor;	/* any: no base of a right, and no token of an
				 * evicted cluster key, is above it; only rises;
				 * 0: there was none */
	shm_u64 reserved3[2];
	/* line 4: where to look first (any; hints, any value is safe) */
	shm_u32 slot_next;	/* slots below it were in use at some time */
	shm_u32 chunk_next;
	shm_u32 long_next;
	shm_u32 session_next;
	shm_u32 slot_freed;	/* about how many of those are not, now */
	shm_u32 slot_hand;	/* where to go on looking for them */
	shm_u32 value_next;
	shm_u32 reserved4[9];
	/* line 5: the reaper (any; diagnostics) */
	shm_u32 reaper_pid;
	shm_u32 reaper_ms;	/* when it last came by */
	shm_u64 reserved5[7];
	/* line 6: this host's session with the cluster (who has the shim's
	 * byte; shm/cluster_right.c) */
	shm_u64 cluster_until;	/* CLOCK_BOOTTIME, ns; 0: there is none */
	shm_u64 cluster_epoch;	/* only rises; rights of older ones are void */
	shm_u64 cluster_session[2]; /* its name; 0, 0: none to be adopted */
	shm_u64 cluster_created; /* revision of its key's creation */
	shm_u64 cluster_id;	/* which cluster */
	shm_u32 shim_pid;	/* diagnostics */
	shm_u32 shim_seq;	/* odd: shim_socket is being written */
	shm_u64 shim_session;	/* its session here: leases of that need no
				 * right; 0: there was none */
	/* line 7: with SHM_OPT_GLOBAL: the highest token drawn (any; only
	 * rises, and is below the ceiling) */
	shm_u64 last_token;
	shm_u64 reserved7[7];
	/* lines 8..15: no token of an evicted key is above its floor (any; only
	 * rise) */
	shm_u64 floor[SHM_SHARDS];
	/* lines 16..19: where its fence file is (once); "": it has none */
	char fence_dir[FENCE_DIR_MAX];
	/* lines 20..25: sums of the sessions that have ended (any) */
	shm_u64 gone[SHM_STATS];
	/* line 26: statistics of the table (any; shm/counters.c) */
	shm_u64 acquired;	/* as many have been told of; only rises */
	shm_u64 hold_us;	/* with SHM_OPT_HOLD_TIMES: all together */
	shm_u64 reserved8[6];
	/* lines 27.. */
	shm_u64 hold[SHM_HOLD_TIMES];
	/* keys that begin so are cluster keys (once); "": there are none */
	char cluster_prefix[SHM_PREFIX];
	/* line 30: where the shim listens (who has the shim's byte); the first
	 * byte is the lowest, NUL-terminated by readers; "": nowhere yet */
	shm_u64 shim_socket[SHM_SOCKET / 8];
	shm_u64 reserved9[258];
};

/* One attachment: who is alive or dead behind its claims. */
struct shm_session {
	/* line 0 */
	shm_u64 state;		/* any: st | flags | incarnation */
	shm_u32 pid;		/* owner: diagnostics, from here down */
	shm_u32 uid;
	shm_u64 pidns_ino;
	shm_u64 start_ticks;	/* of /proc/<pid>/stat */
	shm_u64 attached_ns;
	shm_u64 ring;		/* SHM_RING_READY: its ring has memory; stays */
	shm_u32 doorbell;	/* any: futex; rises when there may be news for
				 * the session: shm/doorbell.h */
	shm_u32 reserved3;
	shm_u64 reserved0;
	/* line 1 */
	char application[32];	/* owner; NUL-terminated by readers; a named
				 * session's name */
	/* of a named session: */
	shm_u64 until;		/* any: its end, in deadline units; see
				 * shm/session_named.c */
	shm_u64 maker;		/* owner: session that it ends with, or 0 */
	shm_u32 ttl_ms;		/* owner */
	shm_u32 lock_delay_ms;	/* owner */
	shm_u32 on_end;		/* owner: what becomes of its keys */
	shm_u32 reserved1;
	/* lines 2..7: statistics (its threads; shm/counters.c) */
	shm_u64 stat[SHM_STATS];
};

/* Which session 64 claims belong to. */
struct shm_chunk {
	shm_u64 owner;		/* any: 0 free, else the session id */
	shm_u64 period;		/* any, hint: the shortest ttl of its leases,
				 * in deadline units; 0: nothing said; see
				 * reaper/expiry_scan.c */
	shm_u64 keeper;		/* any: of a named session's chunk: the session
				 * that may take claims from it; 0: nobody */
	shm_u64 aside;		/* any: 1: its claims' asides have memory */
};

/* One hold or one wait. */
struct shm_claim {
	shm_u64 state;		/* any: st | seq | deadline */
	shm_u64 rnext;		/* any: chain of readers */
	shm_u64 wnext;		/* any: wait queue */
	shm_u64 slot_ref;	/* owner: gen << 32 | slot it is for */
	shm_u64 since;		/* owner: acquired, or began to wait: in
				 * deadline units (40) | thread (24); 0: no
				 * thread's in particular */
	shm_u64 grant;		/* presenter: a reader's ver (40) | seq (24);
				 * owner: of who waits to upgrade, the lease's
				 * claim (40) | seq (24) */
	shm_u32 ticket;		/* owner: place in the queue, with priority */
	shm_u32 priority;	/* owner */
	shm_u32 park;		/* any: futex of the waiter */
	shm_u32 wflags;		/* any: how often seq has wrapped (20) |
				 * WAITER_... (12) */
};

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

/* One key.  Type-stable: a slot is a slot for ever. */
struct shm_slot {
	/* hot line */
	shm_u64 word;		/* any: mode | idx | ver */
	shm_u64 waitq;		/* any: head link of the wait queue */
	shm_u64 hint;		/* any: a recent token; only rises */
	shm_u64 hash;		/* reserver */
	shm_u64 next;		/* any: list of keys */
	shm_u64 tail;		/* any, hint: who was queued last, its link */
	shm_u32 gen;		/* reserver only: which life of the slot */
	shm_u32 ticket;		/* any: next place in the queue */
	shm_u32 pause_ms;	/* any, hint: readers were revoked then */
	shm_u32 maker;		/* reserver only: claim that made this life */
	/* cold line */
	shm_u64 idle;		/* any, hint: who does not take it, since */
	shm_u32 probe_ms;	/* any: when a failing try last probed (C16) */
	/* reserver, constant while linked; but two flags: any */
	shm_u32 long_idx;	/* 0: the key is inline */
	shm_u32 key_info;	/* KEY_... */
	shm_u32 delay_ms;	/* any, hint: not to be had before that, if it
				 * was freed uncleanly; 0: nothing */
	shm_u64 value;		/* any: tag (40) | value record (24) */
	shm_u64 key[SHM_KEY_INLINE / 8]; /* byte 0 lowest; zero-padded */
};

/* key_info */
#define KEY_LEN		0xffu
#define KEY_KEPT	0x100u	/* never evicted to make room */
#define KEY_LOCAL	0x200u	/* granted, or to be granted, in scope local:
				 * no token at or above the durable ceiling */
#define KEY_CLUSTER	0x400u	/* its name has the cluster's prefix: it has a
				 * right; set by the reserver */
#define KEY_LIFE(gen)	((gen) << 11)	/* whose flags these are */
#define KEY_SAID	(KEY_LIFE(1u) - 1) /* all of it that is not that */

/* The rest of a key longer than SHM_KEY_INLINE. */
struct shm_long {
	shm_u64 owner;		/* any: 0 free, else gen << 32 | slot */
	shm_u64 key[28];	/* reserver: from byte SHM_KEY_INLINE on */
};

/* What happened, for whoever asks afterwards: shm/events.c. */
struct shm_event {
	shm_u64 time;
	shm_u64 hash;		/* of the key */
	shm_u64 token;
	shm_u64 what;
};

/* The last events of one session record, also after it has ended.  Backed by
 * memory from the record's first use on. */
struct shm_ring {
	shm_u64 next;		/* session: how many there have been */
	shm_u64 reserved[3];
	struct shm_event event[SHM_EVENTS];
};

/* What became of a request that has an id (G10): shm/request_record.c. */
struct shm_request {
	shm_u64 state;		/* any: seq | st | who | time */
	/* by who has TAKEN it: */
	shm_u64 session;	/* whose request */
	shm_u64 id[2];
	shm_u64 key;		/* hash of the key's name */
	/* by who works at it, before each swap of the lock word: */
	shm_u64 lease;		/* lease id, second half; 0: none yet */
	shm_u64 token;
	shm_u64 notes;		/* LH_NOTE_... of the grant; or with
				 * REQUEST_SEVERAL */
};

/* A key's value, or none. */
struct shm_value {
	shm_u64 owner;		/* any: count | whose | kind */
	/* who holds it, until a slot leads to it */
	shm_u64 token;		/* of the lease under which it was set */
	shm_u64 size;		/* sum of all (48) | bytes (16) */
	shm_u64 byte[SHM_VALUE_MAX / 8]; /* the first is the lowest */
	shm_u64 slot;		/* whose value it is to be */
};

/* What is seldom said about a claim. */
struct shm_claim_note {
	shm_u64 use;		/* owner: which use of the claim it is about */
	shm_u64 request[2];	/* owner */
	shm_u64 reserved;
	shm_u64 info[SHM_INFO_MAX / 8];	/* owner: who asks, in words */
};

/* What a host may do with a cluster key.  Backed by memory, with that of the
 * page around it, before its slot is such a key. */
struct shm_right {
	shm_u64 right;		/* who has the shim's byte, and the key for
				 * itself: epoch | gen | mode */
	shm_u64 base;		/* the same: tokens of grants are above it; only
				 * rises */
	shm_u64 was;		/* reserver: how far the slot's tokens had got
				 * when it was no cluster key; only rises */
	shm_u64 reserved;
};

#define AT(type, field, off) \
	static_assert(offsetof(struct type, field) == (off), #type "." #field)

static_assert(sizeof(struct shm_header) == 4096, "header");
static_assert(sizeof(struct shm_session) == 512, "session");
static_assert(sizeof(struct shm_chunk) == 32, "chunk");
static_assert(sizeof(struct shm_claim) == 64, "claim");
static_assert(CLAIM_MOVING < 1u << MOVING_USE_SHIFT &&
    MOVING_USE_SHIFT + MOVING_USE_BITS <= WAITER_BITS, "wflags");
static_assert(sizeof(struct shm_slot) == 128, "slot");
static_assert(sizeof(struct shm_long) == 232, "long key");
static_assert(sizeof(struct shm_ring) == 4096, "ring");
static_assert(sizeof(struct shm_request) == 64, "request");
static_assert(sizeof(struct shm_value) == 288, "value");
static_assert(sizeof(struct shm_claim_note) == 128, "aside");
static_assert(sizeof(struct shm_right) == 32, "right");
AT(shm_header, max_sessions, 64);
AT(shm_header, flags, 128);
AT(shm_header, ceiling, 192);
AT(shm_header, slot_next, 256);
AT(shm_header, cluster_until, 384);
AT(shm_header, last_token, 448);
AT(shm_header, floor, 512);
AT(shm_header, fence_dir, 1024);
AT(shm_header, gone, 1280);
AT(shm_header, acquired, 1664);
AT(shm_header, cluster_prefix, 1888);
AT(shm_header, shim_socket, 1920);
AT(shm_session, application, 64);
AT(shm_session, until, 96);
AT(shm_session, stat, 128);
AT(shm_claim, slot_ref, 24);
AT(shm_claim, park, 56);
AT(shm_slot, gen, 48);
AT(shm_slot, idle, 64);
AT(shm_slot, key_info, 80);
AT(shm_slot, value, 88);
AT(shm_slot, key, 96);

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

/* What a build must agree on with a table: a hash over sizes and offsets. */
uint64_t lhi_geometry_fingerprint(void);

#endif
