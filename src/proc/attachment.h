/* SPDX-License-Identifier: MIT */
/*
 * What is private to this process: attachments, claim caches, opened keys.
 *
 * Fork.  The child owns nothing.  Claim caches and the anchor of every
 * attachment lie in pages that the kernel zeroes in a child (MADV_WIPEONFORK):
 * there the fast paths find an empty claim cache with no tag, fall into the
 * slow path, and that finds the anchor's tag gone and refuses (C13).  Locks and
 * lists are in fork.c.
 */
#ifndef LHI_ATTACHMENT_H
#define LHI_ATTACHMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <bsd/sys/queue.h>
#include <leasehold.h>
#include "base/clock.h"
#include "shm/key_slot.h"
#include "shm/view.h"
#include "proc/fork.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A function that the compiler leaves as it is written, whatever it knows of
 * its callers.  clang has no noipa: there noinline has to do.
 */
#ifdef __clang__
#define NOIPA __attribute__((noinline))
#else
#define NOIPA __attribute__((noinline, noipa))
#endif

#define DEFAULT_TTL_MS INT64_C(30000)

/* No caller presents it, not even one that presents NULL. */
#define NO_TABLE ((struct lh *)1)

/*
 * A claim as its claim cache remembers it: what the next acquire and a release
 * need, in memory that only this thread writes.
 */
enum lhi_use {
	CACHED_FREE = 0,   /* ours to take; the rest is of its last use */
	CACHED_HELD = 1,   /* a lease that this thread acquired */
	CACHED_OUT = 2,	   /* in use, and nothing is remembered of it: who
			    * presents its lease goes the slow way */
	CACHED_SHARED = 3, /* a reader's lease that this thread acquired */
	CACHED_IDLE = 4,   /* a reader that may be revived, unless it was
			    * revoked */
	CACHED_LENT = 5	   /* as CACHED_HELD, of a cluster key: its free words
			    * are others, so its ways are */
};

struct lhi_cached_claim {
	uint64_t use;		/* enum lhi_use */
	uint64_t left;		/* the word its last release left behind */
	uint64_t slot_ref;	/* where that was; 0: nowhere */
	uint64_t held_low;	/* mode and idx of X(this claim) */
	uint64_t id;		/* as in struct lh_lease */
	uint64_t token;
	uint64_t limit;		/* next tokens below it need no other look: the
				 * ceiling, or where the id's seq would wrap */
	struct shm_slot *slot;
};

/* lh_lease.opaque */
#define LEASE_LIVE 1u
#define LEASE_RELEASED 2u	/* by this struct (G10) */

/* Eight claims that belong to one thread at a time. */
struct lhi_group {
	uint32_t base;
	struct lhi_group *next;
};

/*
 * Two words that are written together.  What stands between two locked swaps is
 * paid for by the store.
 */
typedef uint64_t lhi_pair __attribute__((vector_size(16)));

_Static_assert(sizeof(struct lh_lease) == 56 &&
    offsetof(struct lh_lease, id) == 8 &&
    offsetof(struct lh_lease, expires_ns) ==
    offsetof(struct lh_lease, acquired_ns) + 8, "what lhi_pair_store() fills");

static inline void
lhi_pair_store(void *to, lhi_pair p)
{
	__builtin_memcpy(to, &p, sizeof(p));
}

/* A thread's claims in one attachment.  In WIPEONFORK memory; type-stable. */
struct lhi_claim_cache {
	lhi_pair head;		/* of a lease: mode and notes, session id */
	lhi_pair span;		/* of a lease: begins now_ns, ends then */
	struct lh *usual;	/* lh, while ttl_ms is the default one;
				 * else NO_TABLE */
	struct shm_claim *claims; /* of the group in use */
	uint64_t ceiling;	/* of tokens, seen earlier: it only rises */
	/* the coarse clock at the last look, and what follows from it for a
	 * lease of ttl_ms */
	time_t tick_sec;
	long tick_nsec;
	int64_t ttl_ms;
	uint64_t held;		/* claim state HELD, deadline, seq 0 */
	uint64_t since;		/* span's beginning, as claims have it */
	struct lhi_cached_claim rec[SHM_GROUP];
	uint64_t first;		/* token of the latest range seen; or 0 */
	uint64_t local_home;	/* a key that may be had local at once; or 0 */
	struct lh *lh;		/* NULL: unused, or the attachment is closed */
	uint32_t base;		/* index of claims[0] */
	uint32_t tid;
	uint32_t idle;		/* bits of recs that may be CACHED_IDLE */
	uint32_t recall;	/* whose turn it is to be given up when idle */
	struct lhi_group *group;	/* the one in use here */
	struct lhi_group *parked;	/* others of this thread */
	struct lhi_group *parked_last;
	struct lhi_claim_cache *next;		/* of this thread */
	struct lhi_claim_cache *lh_next;	/* of this attachment */
	uint64_t tag;		/* of an anchor: its attachment's */
	/* not told in the session's counters yet:
	 * lhi_claim_cache_flush_counts() */
	uint64_t shared;
	uint64_t extended;
	bool watched;		/* somebody wants to know of every lease */
	/* of the cluster key that claim 0 had last, this host's right to it, as
	 * it was asked for with this tick: op/cluster_check.c */
	struct {
		uint64_t slot_ref;	/* 0: none */
		uint64_t right;
		uint64_t epoch;
		uint64_t until;
		int64_t ends_ns;	/* that, on the table's clock */
	} lent;
	/* the wait that the thread is in, or that a signal handler of its has
	 * jumped out of: op/acquire_left.c */
	struct {
		void (*undo)(struct lhi_claim_cache *m);	/* NULL: none */
		struct shm_slot *slot;
		uint32_t ci;
		int cancel_state;	/* what it was before */
		bool counted;		/* in lh->waiting */
	} wait;
};

/* The first half of its leases' ids; 0 in a forked child. */
static inline uint64_t
lhi_claim_cache_session_id(const struct lhi_claim_cache *m)
{
	return m->head[1];
}

static inline int64_t
lhi_claim_cache_now_ns(const struct lhi_claim_cache *m)
{
	return (int64_t)m->span[0];
}

/* r has taken a key by the longer way: how often may it come by the short? */
static inline void
lhi_cached_claim_limit(const struct lhi_claim_cache *m, struct lhi_cached_claim
    *r)
{
	/* where the range ends that it is in */
	uint64_t end = lhi_range_first(r->token + 1) + lhi_range_width();

	r->limit = r->token + MASK(SEQ_BITS) - lid_seq(r->id) + 1;
	if (r->limit > end)
		r->limit = end;
	if (r->limit > m->ceiling)
		r->limit = m->ceiling;
}

/*
 * What does a claim cache remember of a grant of that key?  Nothing of a
 * reader's of a cluster key, or where tokens rise over all keys: one that is
 * revived would have its old token.
 */
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
	struct lhi_view v;	/* first: the slow paths want little else */
	uint64_t tag;		/* random, odd; 0: closed */
	uint64_t sid;
	struct lhi_claim_cache
	    *anchor; /* its tag is ours, unless we are a child */
	void *pin;
	int live_fd;		/* with LH_LIVENESS_FD, else -1 */
	ino_t live_ino;		/* which file that is */
	struct lhi_map *map;
	struct lhi_claim_cache *mags;
	struct lhi_claim_cache *no_threads; /* lhi_claim_cache_of_no_thread() */
	struct lhi_group *pool;	/* groups of no thread */
	_Atomic uint32_t waiting; /* threads inside a wait */
	_Atomic uint32_t spun_in_vain; /* how often in a row: a hint */
	struct lhi_opened_keys *keys;
	struct lhi_finals *finals; /* of requests, or NULL: op/idempotency.c */
	struct lhi_holds *holds; /* of holder ids, or NULL: op/reentry.c */
	struct lhi_shim_clients
	    *shims; /* connections to the shim: proc/shim_client.c */
	bool catches_sigbus;	/* prim/sigbus.h */
	bool serves;		/* it is the shim: op/cluster_check.h */
	char name[72];
	LIST_ENTRY(lh) listening;	/* under lhi_live_lock(), these */
	uint32_t bell_uses;	/* who is to be told by our doorbell */
	uint32_t bell_seen;
	struct lh *next;	/* of this process's attachments */
};

/* How far tokens may go by the fast path: see op/token_ceiling.c; nowhere
 * where they rise over all keys (op/token_next.c). */
static inline void
lhi_claim_cache_bounds(struct lhi_claim_cache *m)
{
	const struct lhi_view *v = &m->lh->v;
	bool sealed;
	uint64_t end = 0;

	m->ceiling = lhi_view_global(v) ? 0 : sh64_load(&v->hdr->ceiling);
	m->first = 0;
	if (!lhi_durable(v))
		return;
	/* the flag first: an end from before it may be too low */
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

/* The table of handles that were closed; closed itself: its tag is 0. */
extern struct lh lhi_closed_lh;

struct lh_key {
	struct lh *lh;
	uint64_t slot_ref;	/* atomic: found anew when evicted */
	struct lh_key *next;	/* proc/opened_keys.c */
	uint64_t hash;
	uint32_t refs;
	char name[];
};

/*
 * This thread's claim cache of the attachment it used last; never NULL: at
 * first one of no attachment.
 */
extern __thread struct lhi_claim_cache *lhi_claim_cache_current
    __attribute__((tls_model("initial-exec")));

/* What has to be there before the first attachment.  0; -ENOMEM. */
int lhi_proc_begin(void);

/*
 * Checks that the handle is this process's own: 0; -EINVAL (NULL, or closed);
 * -EPERM (inherited).  lhi_own_to_look() also checks that its table is one
 * still: -EUCLEAN.  lhi_own() checks as well that it has a session (LH_LOOK has
 * none): -EOPNOTSUPP.  A call that closes something uses the first.
 */
int lhi_own_handle(const struct lh *lh);
int lhi_own_to_look(struct lh *lh);
int lhi_own(struct lh *lh);

#endif
