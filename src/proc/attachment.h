/* SPDX-License-Identifier: MIT */
/*
 * Declares what is private to this process: attachments, claim caches, opened
 * keys.  Every file of src/op, src/live and src/api uses it.
 *
 * Fork.  A child owns nothing.  The claim caches and the anchor of every
 * attachment are in pages that the kernel clears in a child (MADV_WIPEONFORK).
 * In a child the fast paths find an empty claim cache without a tag and take
 * the slow path.  That finds the anchor's tag gone and refuses (amendment C13).
 * Locks and lists: fork.c.
 */
#ifndef LHI_ATTACHMENT_H
#define LHI_ATTACHMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <bsd/sys/queue.h>
#include <leasehold.h>
#include "base/clock.h"
#include "prim/process_end.h"
#include "shm/key_slot.h"
#include "shm/view.h"
#include "proc/fork.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* A function that the compiler must not specialise for its callers.  clang has
 * no noipa, so noinline has to do there. */
#ifdef __clang__
#define NOIPA __attribute__((noinline))
#else
#define NOIPA __attribute__((noinline, noipa))
#endif

#define DEFAULT_TTL_MS INT64_C(30000)

/* A value that no caller passes, not even one that passes NULL. */
#define NO_TABLE ((struct lh *)1)

/* A claim as its claim cache remembers it for the next acquire and release, in
 * memory that only its thread writes. */
enum lhi_use {
	CACHED_FREE = 0,   /* may be taken; the other fields are of its last
			    * use */
	CACHED_HELD = 1,   /* a lease that this thread acquired.  Never stored:
			    * lhi_cached_claim_now() */
	CACHED_OUT = 2,	   /* in use, and nothing is remembered: its lease takes
			    * the slow path */
	CACHED_SHARED = 3, /* a reader's lease that this thread acquired */
	CACHED_IDLE = 4,   /* a reader that can be revived, unless it was
			    * revoked */
	CACHED_LENT = 5	   /* as CACHED_HELD, of a cluster key, which has other
			    * free words and so other paths */
};

/*
 * Claim 0 has the mark of an opened key (struct lh_key) while it may acquire
 * that key on the straight path.  The mark says four things: claim 0 had that
 * key last, in the attachment of the handle; the TTL is the default one; and
 * no lease is to be recorded.  So one compare replaces four.  A change of any
 * of them removes the mark: lhi_cached_claim_set(), lhi_cached_claim_forget(),
 * and lhi_key_holds_unmark().
 *
 * A handle has two marks, one for lh_key_acquire() and an odd one for
 * lh_key_lock().  So a held claim with the odd one is a lock of that handle.
 *
 * A mark is never used for another handle.  No handle has mark 1.  Memory that
 * fork has cleared has mark 0, as a closed handle has, and limit 0, so it
 * grants nothing.
 */
#define NO_MARK UINT64_C(1)

/*
 * Claim 1 has the mark of an opened key while it is in the chain of that key's
 * readers: then the handle may revive it on the readers' straight path.  Its
 * push removes the mark of another key.
 */
#define READER_CLAIM 1

struct lhi_cached_claim {
	uint64_t id;		/* as in struct lh_lease; written with the
				 * token, as a pair */
	uint64_t token;
	uint64_t word;		/* held: X(this claim) of the grant; free: the
				 * word that its last release wrote; a reader
				 * that stays in its chain: the claim's state */
	uint64_t limit;		/* words below this need no other check: of the
				 * last token before the ceiling, or before the
				 * id's seq wraps.  A reader: with an id below
				 * this it stays in its chain when released */
	uint64_t mark;		/* NO_MARK, or that of an opened key */
	uint64_t slot_ref;	/* the slot of `word`; 0: none */
	struct shm_slot *slot;
	uint32_t use;		/* enum lhi_use; HELD is stored as FREE */
	uint32_t held_low;	/* mode and idx of X(this claim) */
};

/* In the mode of a word X, and not in that of a word FREE. */
#define WORD_IS_X ((uint64_t)WORD_X << CLAIM_BITS)

/* Returns the claim's use.  Nothing but id, token and word is written between
 * FREE and HELD; the word tells them apart. */
static inline enum lhi_use
lhi_cached_claim_now(const struct lhi_cached_claim *r)
{
	return r->use == CACHED_FREE && (r->word & WORD_IS_X) ? CACHED_HELD :
	    (enum lhi_use)r->use;
}

/* Sets the claim's use, after its token.  (Readers' claims have no mark, and no
 * word X: they change from one reader's use to another by a store.) */
static inline void
lhi_cached_claim_set(struct lhi_cached_claim *r, enum lhi_use use)
{
	if (!lhi_mutant_on(mark_after_use))
		r->mark = NO_MARK;
	r->use = use == CACHED_HELD ? CACHED_FREE : use;
	if (use == CACHED_HELD)
		r->word = r->token << VER_SHIFT | r->held_low;
	else if (!lhi_mutant_on(lent_stays))
		r->word = word_make(WORD_FREE, CAUSE_DIED, 0); /* no grant's */
}

/* Forgets which key the claim had. */
static inline void
lhi_cached_claim_forget(struct lhi_cached_claim *r)
{
	r->slot_ref = 0;
	if (!lhi_mutant_on(mark_after_key))
		r->mark = NO_MARK;
}

/* Lets the fast path grant tokens below `limit`, the next ones of the claim. */
static inline void
lhi_cached_claim_bound(struct lhi_cached_claim *r, uint64_t limit)
{
	uint64_t last = limit == 0 ? 0 : limit - 1;

	if (last <= r->token)
		last = 0;
	else if (last >> VER_BITS != r->token >> VER_BITS)
		last = MASK(VER_BITS);	/* the version wraps: look there */
	r->limit = last << VER_SHIFT;
}

/*
 * The first word of a lease: the key's slot_ref, without the upper bits of the
 * number of its life; then the lease's state, in the upper bits of
 * lh_lease.opaque; notes; mode.
 */
#define LEASE_REF_BITS 46
#define LEASE_STATE_SHIFT 14
#define LEASE_LIVE (1u << LEASE_STATE_SHIFT)
/* through this struct (G10); all of opaque, so that noise is not that */
#define LEASE_RELEASED (2u << LEASE_STATE_SHIFT | 0x1d5eu)
#define LEASE_NOTES (UINT64_C(0xff) << 48)

static inline bool
lhi_lease_is_live(const struct lh_lease *l)
{
	return l->opaque >> LEASE_STATE_SHIFT == 1;
}

/* Returns the first word of a lease, for compares. */
static inline uint64_t
lhi_lease_head(const struct lh_lease *l)
{
	uint64_t head;

	__builtin_memcpy(&head, l, sizeof(head));
	return head;
}

/* Returns such a word of a live lease without notes. */
static inline uint64_t
lhi_lease_head_of(uint64_t slot_ref, enum lh_mode mode)
{
	return (slot_ref & MASK(LEASE_REF_BITS)) |
	    (uint64_t)LEASE_LIVE << 32 | (uint64_t)mode << 56;
}

/* Names the key of a lease that is made, and says that it is live. */
static inline void
lhi_lease_set_key(struct lh_lease *l, uint64_t slot_ref)
{
	l->key = (uint32_t)slot_ref;
	l->opaque = LEASE_LIVE | (slot_ref >> 32 & MASK(LEASE_STATE_SHIFT));
}

/* True if it is live, and that is its key. */
static inline bool
lhi_lease_has_key(const struct lh_lease *l, uint64_t slot_ref)
{
	return ((lhi_lease_head(l) ^ slot_ref) & MASK(LEASE_REF_BITS)) == 0 &&
	    lhi_lease_is_live(l);
}

/* Eight claims that belong to one thread at a time. */
struct lhi_group {
	uint32_t base;
	struct lhi_group *next;
};

/* Two words that one store writes.  Each store between two locked instructions
 * costs time. */
typedef uint64_t lhi_pair __attribute__((vector_size(16)));

_Static_assert(sizeof(struct lh_lease) == 40 &&
    offsetof(struct lh_lease, opaque) * 8 + LEASE_STATE_SHIFT ==
    LEASE_REF_BITS && offsetof(struct lh_lease, notes) == 6 &&
    offsetof(struct lh_lease, mode) == 7 &&
    offsetof(struct lh_lease, id) == 8 &&
    offsetof(struct lh_lease, token) ==
    offsetof(struct lh_lease, id) + 16, "what lhi_pair_store() fills");

static inline void
lhi_pair_store(void *to, lhi_pair p)
{
	__builtin_memcpy(to, &p, sizeof(p));
}

/* A lease that a thread holds by lh_key_lock() (op/key_lock.c). */
struct lhi_key_hold {
	uint64_t mark;		/* the handle's lock_mark */
	struct lh_lease lease;
	struct lhi_key_hold *next;
};

/* A thread's claims in one attachment.  In memory that fork clears; never used
 * for anything else. */
struct lhi_claim_cache {
	/* the first two words of a lease: the second is the session's id */
	lhi_pair head_0;	/* in exclusive mode, with the key of claim 0 */
	lhi_pair head_1;	/* in shared mode, with the key of claim 1 */
	int64_t now_ns;		/* the table's clock at the last tick */
	int64_t expires_ns;	/* when a lease of that tick ends */
	struct lh *lh;		/* NULL: unused, or the attachment is closed */
	struct lh *usual;	/* lh while ttl_ms is the default, else
				 * NO_TABLE */
	struct shm_claim *claims; /* of the group in use */
	uint64_t ceiling;	/* of tokens, as read earlier; it only rises */
	/* the coarse clock as read last, and what follows from it for a lease
	 * of ttl_ms */
	time_t tick_sec;
	long tick_nsec;
	int64_t ttl_ms;
	uint64_t held;		/* claim state HELD, deadline, seq 0 */
	uint64_t since;		/* now_ns, in the form of claim.since */
	uint64_t announce;	/* `held`, one use on */
	/* each in a line of its own */
	struct lhi_cached_claim rec[SHM_GROUP] __attribute__((aligned(64)));
	uint64_t first;		/* first token of the latest range seen, or 0 */
	uint64_t over_all;	/* where tokens rise over all keys and need no
				 * range: the last one below the ceiling, as
				 * read earlier; else 0 (op/acquire_over_all.c)
				 */
	uint64_t local_home;	/* a key that can be acquired with scope local
				 * at once, or 0 */
	uint32_t base;		/* index of claims[0] */
	uint32_t tid;
	uint32_t idle;		/* bit i: rec[i] may be CACHED_IDLE */
	uint32_t recall;	/* index at which the search for an idle reader
				 * to give up starts */
	struct lhi_group *group;	/* the group in use */
	struct lhi_group *parked;	/* other groups of this thread */
	struct lhi_group *parked_last;
	struct lhi_claim_cache *next;		/* of this thread */
	struct lhi_claim_cache *lh_next;	/* of this attachment */
	uint64_t tag;		/* in an anchor: the attachment's tag */
	/* not added to the session's counters yet
	 * (lhi_claim_cache_flush_counts()) */
	uint64_t shared;
	uint64_t extended;
	/* how many readers' leases in a row were the only ones on their key,
	 * and the token of the last one (op/release_shared.c) */
	uint64_t alone;
	uint64_t alone_token;
	struct lh_key *marked;	/* the handle whose mark rec[0] has, or had */
	struct lhi_key_hold *holds;	/* leases by lh_key_lock(), except that
					 * of a marked claim 0 */
	struct lhi_key_hold *spare;	/* for that one: not NULL while claim 0
					 * has an odd mark */
	bool watched;		/* every lease is to be recorded */
	/* this host's right to the cluster key that claim 0 had last, as read
	 * in this tick (op/cluster_check.c) */
	struct {
		uint64_t slot_ref;	/* 0: none */
		uint64_t right;
		uint64_t epoch;
		uint64_t until;
		int64_t ends_ns;	/* `until` in the table's clock */
	} lent;
	/* the wait that the thread is in, or that a signal handler has left
	 * with longjmp (op/acquire_left.c) */
	struct {
		void (*undo)(struct lhi_claim_cache *m);	/* NULL: none */
		struct shm_slot *slot;
		uint32_t ci;
		int cancel_state;	/* cancel state before the wait */
		bool counted;		/* counted in lh->waiting */
		struct lhi_process_watch watch;	/* of the holder's process */
	} wait;
};

/* Returns the first half of its leases' ids; 0 in a forked child. */
static inline uint64_t
lhi_claim_cache_session_id(const struct lhi_claim_cache *m)
{
	return m->head_0[1];
}

static inline int64_t
lhi_claim_cache_now_ns(const struct lhi_claim_cache *m)
{
	return m->now_ns;
}

/* Sets how many more grants r may make on the fast path, after it took a key on
 * the slow one. */
static inline void
lhi_cached_claim_limit(const struct lhi_claim_cache *m, struct lhi_cached_claim
    *r)
{
	/* end of the token's range */
	uint64_t end = lhi_range_first(r->token + 1) + lhi_range_width();
	uint64_t limit = r->token + MASK(SEQ_BITS) - lid_seq(r->id) + 1;

	if (r->use == CACHED_SHARED) {
		r->limit = 0;
		return;
	}
	if (limit > end)
		limit = end;
	if (limit > m->ceiling)
		limit = m->ceiling;
	lhi_cached_claim_bound(r, limit);
}

/* Returns what a claim cache remembers of a grant of that key.  It remembers
 * nothing of a reader of a cluster key, or where tokens rise over all keys: a
 * revived reader would have its old token. */
static inline enum lhi_use
lhi_cached_claim_use(const struct lhi_view *v, const struct shm_slot *s, bool
    shared)
{
	if (sh32_load(&s->key_info) & KEY_CLUSTER)
		return shared ? CACHED_OUT : CACHED_LENT;
	if (shared)
		return lhi_view_global(v) ? CACHED_OUT : CACHED_SHARED;
	return CACHED_HELD;
}

struct lh {
	struct lhi_view v;	/* first member: the slow paths need little
				 * else */
	uint64_t tag;		/* random, odd; 0: closed */
	uint64_t sid;
	struct lhi_claim_cache
	    *anchor; /* its tag equals `tag`, except in a forked child */
	void *pin;
	int live_fd;		/* with LH_LIVENESS_FD, else -1 */
	ino_t live_ino;		/* inode of live_fd's file */
	struct lhi_map *map;
	struct lhi_claim_cache *mags;
	struct lhi_claim_cache *no_threads; /* lhi_claim_cache_of_no_thread() */
	struct lhi_group *pool;	/* groups that belong to no thread */
	_Atomic uint32_t waiting; /* threads inside a wait */
	_Atomic uint32_t spun_in_vain; /* spins in a row without success: a
				        * hint */
	struct lhi_opened_keys *keys;
	struct lhi_finals *finals; /* outcomes of requests, or NULL
				    * (op/idempotency.c) */
	struct lhi_holds *holds; /* holds by holder id, or NULL
				  * (op/reentry.c) */
	struct lhi_shim_clients
	    *shims; /* connections to the shim (proc/shim_client.c) */
	bool catches_sigbus;	/* prim/sigbus.h */
	bool serves;		/* this process is the shim
				 * (op/cluster_check.h) */
	char name[72];
	LIST_ENTRY(lh) listening;	/* this and the next two: under
					 * lhi_live_lock() */
	uint32_t bell_uses;	/* users of our doorbell */
	uint32_t bell_seen;
	struct lh *next;	/* next attachment of this process */
	struct lhi_robust *death; /* entry in a robust list, or NULL; under
				   * lhi_proc_lock() (proc/death_word.c) */
};

/* Reads how far tokens may rise on the fast path (op/token_ceiling.c).  Where
 * they rise over all keys, it has another one (op/acquire_over_all.c). */
static inline void
lhi_claim_cache_bounds(struct lhi_claim_cache *m)
{
	const struct lhi_view *v = &m->lh->v;
	bool sealed;
	uint64_t end = 0;

	m->ceiling = sh64_load(&v->hdr->ceiling);
	m->first = m->over_all = 0;
	if (lhi_view_global(v)) {
		m->over_all = lhi_durable(v) || m->ceiling == 0 ? 0 :
		    m->ceiling - 1;
		m->ceiling = 0;
	}
	if (!lhi_durable(v))
		return;
	/* read the flag first: an end read before it may be too low */
	sealed = sh32_load(&v->hdr->flags) & SHM_SEALED;
	if (lhi_mutant_on(seal_late))
		end = sh64_load(&v->hdr->durable_ceiling);
	lhi_point("mag.bounds");
	if (!lhi_mutant_on(seal_late))
		end = sh64_load(&v->hdr->durable_ceiling);
	m->first = lhi_range_first(end);
	if (m->ceiling > end)
		m->ceiling = end;
	if (lhi_mutant_on(seal_late))
		sealed = sh32_load(&v->hdr->flags) & SHM_SEALED;
	if (!sealed && !lhi_mutant_on(unsealed))
		m->ceiling = 0;		/* op/token_ceiling.c, I4 */
}

/* The table of closed handles; it is itself closed: its tag is 0. */
extern struct lh lhi_closed_lh;

struct lh_key {
	struct lh *lh;
	uint64_t slot_ref;	/* atomic; looked up again after an eviction */
	/* atomic; no other handle has ever had them; 0: closed.  See NO_MARK */
	uint64_t mark;
	uint64_t lock_mark;
	struct lh_key *next;	/* proc/opened_keys.c */
	uint64_t hash;
	uint32_t refs;
	char name[];
};

/* The thread's claim cache of the attachment that it used last.  Never NULL: at
 * first it is a cache of no attachment. */
extern __thread struct lhi_claim_cache *lhi_claim_cache_current
    __attribute__((tls_model("initial-exec")));

/* Sets up what the first attachment needs.  Returns 0 or -ENOMEM. */
int lhi_proc_begin(void);

/*
 * Check that the handle belongs to this process.  Return 0; -EINVAL (NULL, or
 * closed); -EPERM (inherited).  lhi_own_to_look() also returns -EUCLEAN if the
 * table is damaged.  lhi_own() also returns -EOPNOTSUPP if the handle has no
 * session (LH_LOOK).  A call that closes something uses lhi_own_handle().
 */
int lhi_own_handle(const struct lh *lh);
int lhi_own_to_look(struct lh *lh);
int lhi_own(struct lh *lh);

#endif
