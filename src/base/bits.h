/* SPDX-License-Identifier: MIT */
/*
 * How the protocol's words are packed.  Answers one question: which bits mean
 * what.  Pure functions, no memory access; the words live in shm/layout.h and
 * their contracts (states, transitions, who may make them) in doc/protocol.md.
 *
 *  lock word   63 ................. 24 | 23 22 | 21 ........ 0
 *              ver (40)                | mode  | idx (22)
 *  claim state 63 ...... 42 | 41 .. 38 | 37 ................ 0
 *              seq (22)     | st (4)   | deadline (38)
 *  claim link  63 ................. 23 | 22 ........ 1 | 0
 *              tag (41)                | idx (22)      | mark
 *  slot link   63     | 62 ....... 36 | 35 ................. 0
 *              mark   | idx (27)      | tag (36)
 *  value link  63 ................. 24 | 23 ................. 0
 *              tag (40)                | record (24)
 *  value owner 63 ...... 40 | 39 ................... 2 | 1 .. 0
 *              count (24)   | session or slot (38)     | kind (2)
 *  session     63..56 | 55..48 | 47 ........................ 0
 *              st (8) | flags  | inc (48)
 *  session id  inc (48) << 16 | session index (16)
 *  request     63 ...... 54 | 53 .. 50 | 49 .. 38 | 37 ........... 0
 *              seq (10)     | st (4)   | who (12) | time (38)
 *  right       63 ...... 34 | 33 .......... 2 | 1 .. 0
 *              epoch (30)   | generation (32) | mode
 *  lease id    claim (22) << 42 | epoch (20) << 22 | seq (22)
 *
 * What counts up (ver, seq, tag) is on top, where it wraps without touching its
 * neighbours; what the fast path tests is in the low 32 bits.
 *
 * Index 0 is nobody, everywhere.  A zero lock word is an unused slot, a zero
 * claim state a free claim, a zero session word an unused session: zeroed
 * memory is a valid, empty table.
 */
#ifndef LHI_BITS_H
#define LHI_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define MASK(n) ((UINT64_C(1) << (n)) - 1)

/* lock word */
enum lhi_word_mode {
	WORD_NONE = 0,		/* not a lock now: idx is an lhi_none */
	WORD_FREE = 1,		/* nobody holds it: idx is an lhi_cause, and
				 * FREE_CLUSTER */
	WORD_X = 2,		/* claim idx holds it */
	WORD_S = 3		/* idx is the head of a chain of readers */
};

/* why a FREE word was freed: what the next holder is told */
enum lhi_cause {
	CAUSE_RELEASED = 0,
	CAUSE_DIED = 1,
	CAUSE_EXPIRED = 2,
	CAUSE_BROKEN = 3
};

/* idx of a FREE word of a cluster key has this bit, too: so that none is ever
 * the word of another kind of key which had the slot (shm/key_token.c) */
#define FREE_CLUSTER 4u

/* idx of a WORD_NONE; any other value there: reserved by that claim */
#define NONE_UNUSED	0u
#define NONE_DYING	0x3fffffu	/* being evicted: may still come back */
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

/* Of a FREE word. */
static inline enum lhi_cause
word_cause(uint64_t w)
{
	return (enum lhi_cause)(w & 3);
}

/*
 * The token of version `ver`, from a hint that lags or leads the true token by
 * less than 2^39 (C6: the difference is signed, so that an observer with an
 * older version than the hint does not end up 2^40 ahead).
 */
static inline uint64_t
token_of(uint64_t hint, uint64_t ver)
{
	return hint + (uint64_t)((int64_t)((ver - hint) << VER_SHIFT) >>
	    VER_SHIFT);
}

#define TOKEN_MAX INT64_MAX

/* claim state */
enum lhi_claim_st {
	ST_FREE = 0,		/* nobody's; its claim cache's owner takes it */
	ST_WAIT = 1,		/* in, or on its way into, a wait queue */
	ST_EXPIRED = 2,		/* terminal: the deadline was enforced */
	ST_BROKEN = 3,		/* terminal: ended by an operator */
	ST_INSERT = 4,		/* making a key: slot names the one reserved */
	ST_IDLE = 5,		/* released, still in the chain of readers: its
				 * owner may revive it, anyone revoke it */
	ST_REVOKED = 6,		/* terminal: a reader that is to leave the
				 * chain */
	ST_HELD = 8,		/* announced or holding, until the deadline */
	ST_READ = 9,		/* the same in shared mode */
	ST_HELD_LIVE = 10,	/* under policy live: who sees its holder run
				 * may move the deadline on */
	ST_READ_LIVE = 11	/* only these four have the bit of HELD */
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

static inline bool
state_held(uint64_t s)
{
	return s & (uint64_t)ST_HELD << ST_SHIFT;
}

/* HELD or READ, whatever the lease's policy; other states as they are. */
static inline unsigned
state_kind(uint64_t s)
{
	return state_st(s) & ~(state_held(s) ? ST_HELD_LIVE ^ ST_HELD : 0u);
}

/* Is it under policy live? */
static inline bool
state_live(uint64_t s)
{
	return state_held(s) && (state_st(s) & (ST_HELD_LIVE ^ ST_HELD));
}

/*
 * A conversion counts as a use, but by a large odd step, so that neither a
 * chain of conversions nor the uses that follow come back to a number that
 * somebody may still have in mind.  It may wrap without the epoch: only the
 * claim's owner counts that, and ids are compared together with tokens.
 */
#define CONVERT_STEP ((UINT64_C(1) << 20) + 1)

static inline uint64_t state_deadline(uint64_t s) { return s & DEADLINE_MAX; }
static inline uint64_t state_seq(uint64_t s) { return s >> SEQ_SHIFT; }

/* Under policy strict: a deadline that no lease of another one has. */
static inline bool
state_strict(uint64_t s)
{
	return state_held(s) && state_deadline(s) == DEADLINE_MAX;
}

/* claim link: wait queue, chain of readers */
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

/* slot link: the list of keys (shm/key_index.c) */
#define SLOT_BITS 27
#define SLOT_TAG_BITS 36
#define SLINK_MARK (UINT64_C(1) << 63)	/* of a slot: deleted; of a bucket:
					 * not yet known to be linked */
#define SLINK_BUCKET (1u << 26)		/* idx: a bucket and not a slot */

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

/* What follows `l` in the same place: to idx, unmarked, with the next tag,
 * which is never 0, so that no link that was ever written is all zero. */
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
	SESS_CLOSING = 3,	/* as ALIVE, provable; leases going */
	SESS_DEAD = 4,		/* sticky until recycled */
	SESS_NAMED = 5		/* lives by TTL, no byte: shm/session_named.c */
};

/* all bits or none, so that no one bit decides: sess_marked() */
#define SESS_NOPROOF 0xffu	/* ALIVE, CLOSING: its death cannot be proved */
#define SESS_PENDING 0xffu	/* NAMED: not yet; anyone may withdraw it */
#define SESS_WAS_NAMED 0xffu	/* DEAD: and was NAMED */
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

/* Is it so?  Most bits say it, should one of them be damaged. */
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

/* request: what became of it; see shm/request_record.c */
enum lhi_request_st {
	REQ_FREE = 0,
	REQ_TAKEN = 1,		/* who writes down which request it is */
	REQ_ASKED = 2,		/* ... has, and looks for rivals */
	REQ_PENDING = 3,	/* who tries or waits */
	REQ_GRANTED = 4,	/* who: 1: the value is set that came with it */
	REQ_RELEASED = 5,	/* its lease was, or is just being, released */
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

/* right: what the host may do with a cluster key (shm/cluster_right.c) */
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

/*
 * Tokens of cluster keys are 2^62 | revision (42) << 20 | count (20), all
 * others below 2^62: so neither comes in the other's way.
 */
#define CLUSTER_FIRST (UINT64_C(1) << 62)
#define CLUSTER_SEQ_BITS 20
#define CLUSTER_REVISION_BITS 42
#define CLUSTER_SPARE 4096u	/* of these, at the end, are not used */
#define CLUSTER_REVISION_MAX (MASK(CLUSTER_REVISION_BITS) - 1)

/* The base of what is granted under that revision: tokens are above it. */
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

/* the words beside: claim.since, claim.grant, slot.idle, session.until */
#define TID_BITS 24		/* since: thread, below the time */
#define GRANT_SHIFT 24		/* grant: version, above the use's number */
#define UPGRADE_SHIFT 24	/* grant: claim, above the use's number */
#define IDLE_MS_BITS 32
#define IDLE_CLAIM_BITS 22
#define IDLE_VER_BITS 9
#define UNTIL_INC_BITS 26	/* until: incarnation, above the deadline */
#define UNTIL_FIRST 8u		/* a deadline, from here on */

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
