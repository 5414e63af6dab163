/* SPDX-License-Identifier: MIT */
/*
 * How the words in shared memory are packed: which bits mean what.  Every file
 * of src/shm, src/op and src/inspect includes it.  These are pure functions
 * without memory access.  The words are fields in shm/layout.h; their states
 * and transitions are in doc/protocol.md.
 *
 *	lock word   63 ................. 24 | 23 22 | 21 ........ 0
 *	            ver (40)                | mode  | idx (22)
 *	claim state 63 ...... 42 | 41 .. 38 | 37 ................ 0
 *	            seq (22)     | st (4)   | deadline (38)
 *	claim link  63 ................. 23 | 22 ........ 1 | 0
 *	            tag (41)                | idx (22)      | mark
 *	slot link   63     | 62 ....... 36 | 35 ................. 0
 *	            mark   | idx (27)      | tag (36)
 *	value link  63 ................. 24 | 23 ................. 0
 *	            tag (40)                | record (24)
 *	value owner 63 ...... 40 | 39 ................... 2 | 1 .. 0
 *	            count (24)   | session or slot (38)     | kind (2)
 *	session     63..56 | 55..48 | 47 ........................ 0
 *	            st (8) | flags  | inc (48)
 *	session id  inc (48) << 16 | session index (16)
 *	request     63 ...... 54 | 53 .. 50 | 49 .. 38 | 37 ........... 0
 *	            seq (10)     | st (4)   | who (12) | time (38)
 *	right       63 ...... 34 | 33 .......... 2 | 1 .. 0
 *	            epoch (30)   | generation (32) | mode
 *	lease id    claim (22) << 42 | epoch (20) << 22 | seq (22)
 *
 * Counters (ver, seq, tag) are in the top bits, where they wrap without
 * changing their neighbours.  The bits that the fast path tests are in the low
 * 32 bits.
 *
 * Index 0 always means "none".  A zero lock word is an unused slot, a zero
 * claim state a free claim, and a zero session word an unused session.  So
 * zeroed memory is a valid, empty table.
 */
#ifndef LHI_BITS_H
#define LHI_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define MASK(n) ((UINT64_C(1) << (n)) - 1)

/* lock word */
enum lhi_word_mode {
	WORD_NONE = 0,		/* no lock: idx is NONE_... */
	WORD_FREE = 1,		/* free: idx is a cause, maybe FREE_CLUSTER */
	WORD_X = 2,		/* claim idx holds it */
	WORD_S = 3		/* idx is the head of a chain of readers */
};

/* why a FREE word was freed; reported to the next holder */
enum lhi_cause {
	CAUSE_RELEASED = 0,
	CAUSE_DIED = 1,
	CAUSE_EXPIRED = 2,
	CAUSE_BROKEN = 3
};

/* Set in the idx of a cluster key's FREE word, so that it never equals a word
 * of another kind of key that had the slot (shm/key_token.c). */
#define FREE_CLUSTER 4u

/* idx of a WORD_NONE, or the claim that has reserved the slot */
#define NONE_UNUSED	0u
#define NONE_DYING	0x3fffffu	/* being evicted; may come back */
#define NONE_COMMITTED	0x3ffffeu	/* evicted, perhaps still linked */

#define VER_BITS 40
#define CLAIM_BITS 22
#define CLAIMS_MAX (0x3fff00u)

#define VER_SHIFT 24
#define WORD_LOW MASK(VER_SHIFT)	/* mode and idx */

static inline uint64_t
word_make(unsigned mode, uint32_t idx, uint64_t ver)
{
	return ver << VER_SHIFT | (uint64_t)mode << CLAIM_BITS | idx;
}

static inline unsigned
word_mode(uint64_t w)
{
	return (unsigned)(w >> CLAIM_BITS) & 3;
}

static inline uint64_t word_ver(uint64_t w) { return w >> VER_SHIFT; }
static inline uint32_t word_idx(uint64_t w) { return w & MASK(CLAIM_BITS); }

/* Returns the cause in a FREE word. */
static inline enum lhi_cause
word_cause(uint64_t w)
{
	return (enum lhi_cause)(w & 3);
}

/* Returns the token of version `ver`.  The hint may lag or lead the true token
 * by less than 2^39.  The difference is signed, so an older version does not
 * yield a token 2^40 ahead (amendment C6). */
static inline uint64_t
token_of(uint64_t hint, uint64_t ver)
{
	return hint + (uint64_t)((int64_t)((ver - hint) << VER_SHIFT) >>
	    VER_SHIFT);
}

#define TOKEN_MAX INT64_MAX

/* claim state */
enum lhi_claim_st {
	ST_FREE = 0,		/* unused; its claim cache's owner takes it */
	ST_WAIT = 1,		/* in a wait queue, or entering it */
	ST_EXPIRED = 2,		/* terminal: the deadline was enforced */
	ST_BROKEN = 3,		/* terminal: ended by an operator */
	ST_INSERT = 4,		/* making a key: its slot is reserved */
	ST_IDLE = 5,		/* released, still in the chain: its owner may
				 * revive it, any process revoke it */
	ST_REVOKED = 6,		/* terminal: a reader that is to leave */
	ST_HELD = 8,		/* announced or holding, until the deadline */
	ST_READ = 9,		/* the same, in shared mode */
	ST_HELD_LIVE = 10,	/* policy live: whoever sees the holder run may
				 * extend the deadline */
	ST_READ_LIVE = 11	/* only the last four have ST_HELD's bit */
};

#define SEQ_BITS 22
#define DEADLINE_BITS 38
#define DEADLINE_MAX MASK(DEADLINE_BITS)
#define TICK_SHIFT 20		/* one deadline unit: 2^20 ns */

#define ST_SHIFT DEADLINE_BITS
#define SEQ_SHIFT (DEADLINE_BITS + 4)

static inline uint64_t
state_make(unsigned st, uint64_t seq, uint64_t deadline)
{
	return seq << SEQ_SHIFT | (uint64_t)st << ST_SHIFT |
	    (deadline & DEADLINE_MAX);
}

static inline unsigned
state_st(uint64_t s)
{
	return (unsigned)(s >> ST_SHIFT) & 15;
}

/* True if the claim is in one of the four held states. */
static inline bool
state_held(uint64_t s)
{
	return s & (uint64_t)ST_HELD << ST_SHIFT;
}

/* Returns ST_HELD or ST_READ for any policy; other states unchanged. */
static inline unsigned
state_kind(uint64_t s)
{
	return state_st(s) & ~(state_held(s) ? ST_HELD_LIVE ^ ST_HELD : 0u);
}

/* True if the lease has policy live. */
static inline bool
state_live(uint64_t s)
{
	return state_held(s) && (state_st(s) & (ST_HELD_LIVE ^ ST_HELD));
}

/*
 * A conversion counts as a use, but adds this large odd step, so that no later
 * use has a number that some process still remembers.  The number may wrap
 * without the epoch: only the claim's owner counts that, and ids are compared
 * together with tokens.
 */
#define CONVERT_STEP ((UINT64_C(1) << 20) + 1)

static inline uint64_t state_deadline(uint64_t s) { return s & DEADLINE_MAX; }
static inline uint64_t state_seq(uint64_t s) { return s >> SEQ_SHIFT; }

/* True if the lease has policy strict: no other lease has this deadline. */
static inline bool
state_strict(uint64_t s)
{
	return state_held(s) && state_deadline(s) == DEADLINE_MAX;
}

/* claim link: in a wait queue or a chain of readers */
#define LINK_TAG_BITS 41
#define LINK_TAG_SHIFT (CLAIM_BITS + 1)
#define LINK_MARK UINT64_C(1)

static inline uint64_t
link_make(bool mark, uint32_t idx, uint64_t tag)
{
	return tag << LINK_TAG_SHIFT | (uint64_t)idx << 1 |
	    (mark ? LINK_MARK : 0);
}

#define LINK_OUT ((uint32_t)MASK(CLAIM_BITS))	/* marked, to it: unlinked */

static inline bool link_marked(uint64_t l) { return l & LINK_MARK; }
static inline uint64_t link_tag(uint64_t l) { return l >> LINK_TAG_SHIFT; }

static inline uint32_t
link_idx(uint64_t l)
{
	return (uint32_t)(l >> 1 & MASK(CLAIM_BITS));
}

/* slot link: in the list of keys (shm/key_index.c) */
#define SLOT_BITS 27
#define SLOT_TAG_BITS 36
#define SLINK_MARK (UINT64_C(1) << 63)	/* slot: deleted; bucket: not yet
					 * linked */
#define SLINK_BUCKET (1u << 26)		/* idx is a bucket, not a slot */

static inline uint64_t
slink_make(uint32_t idx, uint64_t tag)
{
	return (uint64_t)idx << SLOT_TAG_BITS | (tag & MASK(SLOT_TAG_BITS));
}

static inline uint32_t
slink_idx(uint64_t l)
{
	return (uint32_t)(l >> SLOT_TAG_BITS & MASK(SLOT_BITS));
}

static inline bool slink_marked(uint64_t l) { return l & SLINK_MARK; }

/* Returns the link that replaces `l` in the same place: to idx, unmarked, with
 * the next tag.  The tag is never 0, so no written link is all zero. */
static inline uint64_t
slink_after(uint64_t l, uint32_t idx)
{
	uint64_t tag = (l + 1) & MASK(SLOT_TAG_BITS);

	return slink_make(idx, tag + (tag == 0));
}

/* values: slot.value, and a record's owner word (shm/value_record.c) */
#define VALUE_IDX_BITS 24
#define VALUE_WHOSE_BITS 38
#define VALUE_LEN_BITS 16
#define VALUE_KIND_BITS 2
#define VALUES_MAX (1u << VALUE_IDX_BITS)

static inline uint64_t
vlink_make(uint32_t idx, uint64_t tag)
{
	return tag << VALUE_IDX_BITS | idx;
}

static inline uint64_t vlink_tag(uint64_t l) { return l >> VALUE_IDX_BITS; }

static inline uint32_t
vlink_idx(uint64_t l)
{
	return (uint32_t)(l & MASK(VALUE_IDX_BITS));
}

enum lhi_value_kind {
	VALUE_FREE = 0,
	VALUE_HELD = 1,		/* by a session: the low bits of its id */
	VALUE_OWNED = 2		/* by a slot */
};

static inline uint64_t
vown_make(unsigned kind, uint64_t whose, uint64_t count)
{
	return count << (VALUE_WHOSE_BITS + VALUE_KIND_BITS) |
	    (whose & MASK(VALUE_WHOSE_BITS)) << VALUE_KIND_BITS | kind;
}

static inline unsigned
vown_kind(uint64_t o)
{
	return (unsigned)(o & MASK(VALUE_KIND_BITS));
}

static inline uint64_t
vown_whose(uint64_t o)
{
	return o >> VALUE_KIND_BITS & MASK(VALUE_WHOSE_BITS);
}

static inline uint64_t
vown_count(uint64_t o)
{
	return o >> (VALUE_WHOSE_BITS + VALUE_KIND_BITS);
}

/* session word and ids */
enum lhi_sess_st {
	SESS_UNUSED = 0,
	SESS_RESERVED = 1,	/* being set up by the owner of its bytes */
	SESS_ALIVE = 2,
	SESS_CLOSING = 3,	/* as ALIVE; its leases are released */
	SESS_DEAD = 4,		/* until it is recycled */
	SESS_NAMED = 5		/* by TTL, no byte: shm/session_named.c */
};

/* Flags: all bits are set or none, so that no single bit decides
 * (sess_marked()). */
#define SESS_NOPROOF 0xffu	/* ALIVE, CLOSING: its death cannot be proved */
#define SESS_PENDING 0xffu	/* NAMED: incomplete, may be withdrawn */
#define SESS_WAS_NAMED 0xffu	/* DEAD: was NAMED before */
#define INC_BITS 48
#define SESS_FLAG_BITS 8
#define SESS_ST_SHIFT (INC_BITS + SESS_FLAG_BITS)
#define SID_IDX_BITS 16

static inline uint64_t
sess_make(unsigned st, unsigned flags, uint64_t inc)
{
	return (uint64_t)st << SESS_ST_SHIFT |
	    (flags & MASK(SESS_FLAG_BITS)) << INC_BITS |
	    (inc & MASK(INC_BITS));
}

static inline unsigned
sess_st(uint64_t s)
{
	return (unsigned)(s >> SESS_ST_SHIFT);
}

static inline uint64_t sess_inc(uint64_t s) { return s & MASK(INC_BITS); }

static inline unsigned
sess_flags(uint64_t s)
{
	return (unsigned)(s >> INC_BITS & MASK(SESS_FLAG_BITS));
}

/* True if the flag is set.  The majority of the bits decides, in case one is
 * damaged. */
static inline bool
sess_marked(uint64_t s)
{
	return __builtin_popcount(sess_flags(s)) > SESS_FLAG_BITS / 2;
}

static inline uint64_t
sid_make(uint64_t inc, uint32_t idx)
{
	return inc << SID_IDX_BITS | (idx & MASK(SID_IDX_BITS));
}

static inline uint32_t
sid_idx(uint64_t sid)
{
	return sid & MASK(SID_IDX_BITS);
}

static inline uint64_t sid_inc(uint64_t sid) { return sid >> SID_IDX_BITS; }

/* request: its state; see shm/request_record.c */
enum lhi_request_st {
	REQ_FREE = 0,
	REQ_TAKEN = 1,		/* `who` writes which request it is */
	REQ_ASKED = 2,		/* ... has, and looks for rivals */
	REQ_PENDING = 3,	/* `who` tries or waits */
	REQ_GRANTED = 4,	/* who = 1: its value is set */
	REQ_RELEASED = 5,	/* its lease is or was released */
	REQ_LOST = 6,		/* its lease has ended otherwise */
	REQ_FAILED = 7		/* who: the positive error code */
};

#define REQ_WHO_BITS 12
#define REQ_ST_BITS 4
#define REQ_ST_SHIFT (DEADLINE_BITS + REQ_WHO_BITS)
#define REQ_SEQ_SHIFT (REQ_ST_SHIFT + REQ_ST_BITS)

static inline uint64_t
req_make(unsigned st, uint64_t seq, uint32_t who, uint64_t time)
{
	return seq << REQ_SEQ_SHIFT | (uint64_t)st << REQ_ST_SHIFT |
	    (who & MASK(REQ_WHO_BITS)) << DEADLINE_BITS |
	    (time & DEADLINE_MAX);
}

static inline unsigned
req_st(uint64_t r)
{
	return (unsigned)(r >> REQ_ST_SHIFT & MASK(REQ_ST_BITS));
}

static inline uint64_t req_seq(uint64_t r) { return r >> REQ_SEQ_SHIFT; }
static inline uint64_t req_time(uint64_t r) { return r & DEADLINE_MAX; }

static inline uint32_t
req_who(uint64_t r)
{
	return (uint32_t)(r >> DEADLINE_BITS & MASK(REQ_WHO_BITS));
}

/* right: this host's right to a cluster key (shm/cluster_right.c) */
enum lhi_right_mode {
	RIGHT_NONE = 0,
	RIGHT_SHARED = 1,
	RIGHT_EXCLUSIVE = 2
};

#define RIGHT_EPOCH_BITS 30
#define RIGHT_MODE_BITS 2
#define RIGHT_EPOCH_SHIFT (64 - RIGHT_EPOCH_BITS)

static inline uint64_t
right_make(unsigned mode, uint32_t gen, uint64_t epoch)
{
	return epoch << RIGHT_EPOCH_SHIFT | (uint64_t)gen << RIGHT_MODE_BITS |
	    mode;
}

static inline unsigned
right_mode(uint64_t r)
{
	return (unsigned)(r & MASK(RIGHT_MODE_BITS));
}

static inline uint32_t
right_gen(uint64_t r)
{
	return (uint32_t)(r >> RIGHT_MODE_BITS);
}

static inline uint64_t
right_epoch(uint64_t r)
{
	return r >> RIGHT_EPOCH_SHIFT;
}

/* Tokens of cluster keys are 2^62 | revision (42) << 20 | count (20).  All
 * other tokens are below 2^62, so the two ranges are disjoint. */
#define CLUSTER_FIRST (UINT64_C(1) << 62)
#define CLUSTER_SEQ_BITS 20
#define CLUSTER_REVISION_BITS 42
#define CLUSTER_SPARE 4096u	/* the last counts, left unused */
#define CLUSTER_REVISION_MAX (MASK(CLUSTER_REVISION_BITS) - 1)

/* Returns the base of a revision: the tokens of grants under it are above the
 * base. */
static inline uint64_t
cluster_base(uint64_t revision)
{
	return CLUSTER_FIRST | revision << CLUSTER_SEQ_BITS;
}

static inline uint64_t
cluster_revision(uint64_t token)
{
	return (token & (CLUSTER_FIRST - 1)) >> CLUSTER_SEQ_BITS;
}

static inline bool
token_cluster(uint64_t token)
{
	return token >= CLUSTER_FIRST;
}

/* other words: claim.since, claim.grant, slot.idle, session.until */
#define TID_BITS 24		/* since: the thread, below the time */
#define GRANT_SHIFT 24		/* grant: version, above the use's number */
#define UPGRADE_SHIFT 24	/* grant: claim, above the use's number */
#define IDLE_MS_BITS 32
#define IDLE_CLAIM_BITS 22
#define IDLE_VER_BITS 9
#define UNTIL_INC_BITS 26	/* until: the incarnation, above the deadline */
#define UNTIL_FIRST 8u		/* until: values from here on are deadlines */

/* lease id, second half */
#define EPOCH_BITS 20

static inline uint64_t
lid_make(uint32_t claim, uint32_t epoch, uint64_t seq)
{
	return (uint64_t)claim << (EPOCH_BITS + SEQ_BITS) |
	    ((uint64_t)epoch & MASK(EPOCH_BITS)) << SEQ_BITS |
	    (seq & MASK(SEQ_BITS));
}

static inline uint32_t
lid_claim(uint64_t id)
{
	return (uint32_t)(id >> (EPOCH_BITS + SEQ_BITS));
}

static inline uint64_t lid_seq(uint64_t id) { return id & MASK(SEQ_BITS); }

static inline uint32_t
lid_epoch(uint64_t id)
{
	return (uint32_t)(id >> SEQ_BITS & MASK(EPOCH_BITS));
}

#endif
