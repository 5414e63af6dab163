/* SPDX-License-Identifier: MIT */
/*
 * A mapped table as one attachment sees it: pointers to the arrays and counts
 * that were checked once and are private from then on.  Every index from shared
 * memory is compared with these counts before it is used (G12).
 */
#ifndef LHI_VIEW_H
#define LHI_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/bits.h"
#include "base/clock.h"
#include "shm/layout.h"
#include "fence/range.h"

/* The facts that identify a file (table_place.c): 0 is not known. */
struct lhi_place {
	uint64_t device, inode;
	uint64_t born;		/* its birth time in ns */
	uint64_t handle;	/* its handle's hash */
};

struct lhi_view {
	struct shm_header *hdr;
	struct shm_session *sessions;
	struct shm_chunk *chunks;
	struct shm_claim *claims;
	shm_u64 *buckets;
	struct shm_slot *slots;
	struct shm_long *longs;
	struct shm_ring *rings;
	struct shm_request *requests;
	struct shm_value *values;
	struct shm_claim_note *asides;
	struct shm_right *rights;
	struct shm_session *me;	/* the viewer's session; NULL: it has none */
	struct shm_ring *ring;	/* where it writes events; NULL: nowhere */
	struct lhi_geometry geo;
	int64_t t0_ns;
	uint32_t order;
	clockid_t clock;	/* the table's */
	bool foreign_clock;	/* a copy, whose clock may not be the one that
				 * lhi_now_ns() reads */

	dev_t dev;		/* which object this is */
	ino_t ino;
	_Atomic int object_fd;	/* never takes a lock: see view.c */
	_Atomic uint64_t fresh_ns; /* when lhi_view_fresh() last asked for the
				    * time namespace; 0: never */

	struct lhi_place live;	/* which file is its live file */
	uid_t live_uid;		/* its owner, who is the table's */
	bool others_write;	/* than that one (session_limit.c) */
	int64_t live_mark;	/* the position of what it asks through */
	_Atomic int probe_fd;	/* that descriptor: see live_probe.c */
	_Atomic bool reclaiming; /* a thread uses it to lock a record */
	_Atomic int blind;	/* why the last question had no answer; 0 */
	char path[160];		/* of the object */

	uint64_t uuid[2];
	uint64_t id_key;	/* lhi_view_session_id() */
	char ranges[RANGE_PATH_MAX];	/* their directory; "": it has none */
	_Atomic bool ranges_lost;	/* op/token_ceiling.h */
	_Atomic bool ranges_replaced;	/* the same */
	bool all_local;		/* opened with LH_ALL_LOCAL */
	bool records;		/* opened with LH_RECORD */
};

/*
 * Session ids outside and inside.  Inside, and in shared memory, a session id
 * is a record and its incarnation (base/bits.h), which repeat in the next table
 * of the name.  Outside the library, in leases, descriptions and the log, it is
 * that number with the table's random uuid folded over it.  So an id names its
 * table as well, and the boot, because a table lasts no longer.
 *
 * Only these two functions convert.  An id of another table becomes a record or
 * an incarnation that this table never had, except for one id in 2^40 or more
 * (lhi_view_had_session()).
 */
#define ID_KEY_BIT (UINT64_C(1) << 62)	/* an incarnation never has it, so that
					 * no id is 0; without bit 63, ids are
					 * numbers for signed JSON, too */

static inline void
lhi_view_set_uuid(struct lhi_view *v, const uint64_t uuid[2])
{
	v->uuid[0] = uuid[0];
	v->uuid[1] = uuid[1];
	v->id_key = ((uuid[0] ^ uuid[1]) & (ID_KEY_BIT - 1)) | ID_KEY_BIT;
}

/* Returns the id of session sid outside; 0, none, stays 0. */
static inline uint64_t
lhi_view_session_id(const struct lhi_view *v, uint64_t sid)
{
	return sid == 0 ? 0 : sid ^ v->id_key;
}

/* Returns the session that an id from outside names. */
static inline uint64_t
lhi_view_session_of(const struct lhi_view *v, uint64_t id)
{
	return id == 0 ? 0 : id ^ v->id_key;
}

/* True if the table has, or had, that session: others are another table's. */
static inline bool
lhi_view_had_session(const struct lhi_view *v, uint64_t sid)
{
	return sid_idx(sid) < v->geo.max_sessions && sid_inc(sid) != 0 &&
	    sid_inc(sid) <= sess_inc(sh64_load(
	    &v->sessions[sid_idx(sid)].state));
}

/* True if the table has a fence file. */
static inline bool
lhi_durable(const struct lhi_view *v)
{
	return v->ranges[0] != '\0';
}

/* Returns how much of an array is ready: no access beyond it.  The counts only
 * rise, so an index that was below one stays so. */
static inline uint32_t
lhi_ready(const shm_u32 *count, uint32_t max)
{
	uint32_t n = sh32_load(count);

	if (n == 0)
		return 1;	/* a caller that divides by it must not crash
				 * (G12) */
	return n < max ? n : max;
}

static inline uint32_t
lhi_slots_ready(const struct lhi_view *v)
{
	return lhi_ready(&v->hdr->ready_slots, v->geo.n_slots);
}

static inline uint32_t
lhi_chunks_ready(const struct lhi_view *v)
{
	return lhi_ready(&v->hdr->ready_chunks, v->geo.n_chunks);
}

static inline uint32_t
lhi_longs_ready(const struct lhi_view *v)
{
	return lhi_ready(&v->hdr->ready_longs, v->geo.n_long);
}

/* Buckets in use: a power of two. */
static inline uint32_t
lhi_buckets_ready(const struct lhi_view *v)
{
	uint32_t level = sh32_load(&v->hdr->bucket_level);

	return level < 32 && 1u << level < v->geo.n_buckets ? 1u << level :
	    v->geo.n_buckets;
}

/* A walk longer than this is not a walk over a sound list of claims. */
static inline uint32_t
lhi_hop_limit(const struct lhi_view *v)
{
	return lhi_chunks_ready(v) * SHM_CHUNK + 1;
}

static inline struct shm_claim *
lhi_claim(const struct lhi_view *v, uint32_t idx)
{
	return idx >= SHM_CHUNK && idx < lhi_chunks_ready(v) * SHM_CHUNK ?
	    &v->claims[idx] : NULL;
}

static inline struct shm_slot *
lhi_slot(const struct lhi_view *v, uint32_t idx)
{
	return idx > 0 && idx < lhi_slots_ready(v) ? &v->slots[idx] : NULL;
}

static inline uint32_t
lhi_slot_idx(const struct lhi_view *v, const struct shm_slot *s)
{
	return (uint32_t)(s - v->slots);
}

/* Returns the flags beside the cause in the word of slot s when it is free. */
static inline uint32_t
lhi_free_flags(const struct shm_slot *s)
{
	return sh32_load(&s->key_info) & KEY_CLUSTER ? FREE_CLUSTER : 0;
}

/* Returns the word of slot s when it is free. */
static inline uint64_t
lhi_free_word(const struct shm_slot *s, enum lhi_cause cause, uint64_t ver)
{
	/* an unclean end is for the slow paths: consistency.c */
	if (cause == CAUSE_RELEASED && sh32_load(&s->consistency) != 0 &&
	    !lhi_mutant_on(note_is_fast))
		cause = CAUSE_DIED;
	return word_make(WORD_FREE, cause | lhi_free_flags(s), ver);
}

/* The slot, and its life, that a claim was last announced for. */
static inline uint64_t
lhi_slot_ref(uint32_t slot_idx, uint32_t gen)
{
	return (uint64_t)gen << 32 | slot_idx;
}

static inline uint32_t
lhi_claim_slot(const struct shm_claim *c)
{
	return (uint32_t)sh64_load(&c->slot_ref);
}

/* How often the claim's seq has wrapped. */
static inline uint32_t
lhi_claim_epoch(const struct shm_claim *c)
{
	return sh32_load_rlx(&c->wflags) >> WAITER_BITS;
}

/* The beginning of the claim's use, and its thread: for inspection. */
static inline uint64_t
lhi_since(const struct lhi_view *v, int64_t ns, uint32_t tid)
{
	int64_t rel = ns > v->t0_ns ? ns - v->t0_ns : 0;

	return (uint64_t)(rel >> TICK_SHIFT) << TID_BITS |
	    (tid & MASK(TID_BITS));
}

static inline int64_t
lhi_claim_since_ns(const struct lhi_view *v, const struct shm_claim *c)
{
	return v->t0_ns + (int64_t)(sh64_load_rlx(&c->since) >> TID_BITS <<
	    TICK_SHIFT);
}

static inline uint32_t
lhi_claim_tid(const struct shm_claim *c)
{
	return (uint32_t)(sh64_load_rlx(&c->since) & MASK(TID_BITS));
}

/* Returns the session id that owns a claim: 0 if its chunk has no owner. */
static inline uint64_t
lhi_claim_owner(const struct lhi_view *v, uint32_t idx)
{
	return sh64_load(&v->chunks[idx / SHM_CHUNK].owner);
}

/* Deadline units <-> the table's clock.  Rounded up: by less than 1.05 ms. */
static inline uint64_t
lhi_deadline(const struct lhi_view *v, int64_t ns)
{
	int64_t rel = ns - v->t0_ns + (INT64_C(1) << TICK_SHIFT) - 1;

	if (rel < 0)
		return 0;
	rel >>= TICK_SHIFT;
	/* DEADLINE_MAX is "never", also after | 1: shm/table_age.c, I1 */
	return (uint64_t)rel > DEADLINE_MAX - 3 ? DEADLINE_MAX - 3 :
	    (uint64_t)rel;
}

/*
 * The same for a reading of the coarse clock, which may lag by two ticks (of 4
 * ms), for the holder's own deadlines: even (op/extend.c, I2). Between 0.15 ms
 * before ns and 1.95 after: no lease ends more than 8 ms sooner than requested.
 */
static inline uint64_t
lhi_deadline_coarse(const struct lhi_view *v, int64_t ns)
{
	return lhi_deadline(v, ns + 900 * INT64_C(1000)) & ~UINT64_C(1);
}

static inline int64_t
lhi_deadline_ns(const struct lhi_view *v, uint64_t deadline)
{
	return deadline == DEADLINE_MAX && !lhi_mutant_on(never_is_a_time) ?
	    INT64_MAX : v->t0_ns + (int64_t)(deadline << TICK_SHIFT);
}

/* True if now_ns is not before it.  As a comparison with the above, but a
 * deadline in the future needs no check for "never". */
static inline bool
lhi_deadline_passed(const struct lhi_view *v, uint64_t deadline, int64_t now_ns)
{
	return now_ns >= v->t0_ns + (int64_t)(deadline << TICK_SHIFT) &&
	    (deadline != DEADLINE_MAX || lhi_mutant_on(never_is_a_time));
}

/* Returns when a lease in that state ends by itself; INT64_MAX: never. */
static inline int64_t
lhi_ends_ns(const struct lhi_view *v, uint64_t st)
{
	return state_strict(st) ? INT64_MAX :
	    lhi_deadline_ns(v, state_deadline(st));
}

/* The table's clock, precisely. */
static inline int64_t
lhi_now_ns(const struct lhi_view *v)
{
	return lhi_clock_ns(v->clock);
}

/*
 * Returns by how much, at least, it is ahead of CLOCK_MONOTONIC: CLOCK_BOOTTIME
 * goes on while the machine is suspended.  (Less, if we are stopped in here:
 * good enough for others' deadlines, not for one's own.)
 */
static inline int64_t
lhi_clock_lead_ns(const struct lhi_view *v)
{
	int64_t now;

	if (v->clock == CLOCK_MONOTONIC)
		return 0;
	now = lhi_now_ns(v);
	return now - lhi_clock_ns(CLOCK_MONOTONIC);
}

/* True if the note says that, should one of its bits be damaged. */
static inline bool
lhi_noted(const shm_u64 *note, uint64_t what)
{
	uint64_t differ = sh64_load(note) ^ what;

	return (differ & (differ - 1)) == 0;
}

/* True while the table is repaired, when no process is attached. */
static inline bool
lhi_header_is_repairing(const struct shm_header *h)
{
	return (sh32_load(&h->flags) & SHM_REPAIRING) &&
	    (lhi_noted(&h->repair, SHM_REPAIR_NOTE) ||
	    lhi_mutant_on(repairing_by_flag));
}

static inline bool
lhi_view_is_repairing(const struct lhi_view *v)
{
	return lhi_header_is_repairing(v->hdr);
}

/* True if the table's removal has begun. */
static inline bool
lhi_header_is_retired(const struct shm_header *h)
{
	return (sh32_load(&h->flags) & SHM_RETIRED) &&
	    (lhi_noted(&h->removal, SHM_REMOVAL_NOTE) ||
	    lhi_mutant_on(retired_by_flag));
}

/*
 * True if the header is a table's.  It is not when the object was punched or
 * overwritten, or truncated, which leaves zeros (prim/sigbus.c): nothing that
 * is read or written there means anything.
 */
static inline bool
lhi_view_sound(const struct lhi_view *v)
{
	return sh64_load(&v->hdr->magic) == SHM_MAGIC;
}

/* True if the table was retired. The flag stays. */
static inline bool
lhi_view_retired(const struct lhi_view *v)
{
	return lhi_header_is_retired(v->hdr);
}

/* True if the viewer's grants and releases are events: by lh_log_grants(), or
 * because it was opened with LH_RECORD. */
static inline bool
lhi_view_records(const struct lhi_view *v)
{
	return v->records ||
	    (sh32_load_rlx(&v->hdr->flags) & SHM_LOG_GRANTS) != 0;
}

/* True if the viewer has to record something at every grant and release. */
static inline bool
lhi_view_watched(const struct lhi_view *v)
{
	return (sh32_load_rlx(&v->hdr->options) & SHM_OPT_HOLD_TIMES) != 0 ||
	    lhi_view_records(v);
}

/* True if its tokens rise over all keys (op/token_next.c). */
static inline bool
lhi_view_global(const struct lhi_view *v)
{
	return sh32_load_rlx(&v->hdr->options) & SHM_OPT_GLOBAL;
}

/* The rest is in view.c.  Sets the pointers to the arrays of a mapping. */
void lhi_view_point(struct lhi_view *v, char *base,
    const struct lhi_geometry *g);

/*
 * True if this process still counts time as the table does: it may have entered
 * another time namespace.  Costs a system call, so it is asked before a lease
 * is expired and not more often.
 */
bool lhi_view_same_time(const struct lhi_view *v);

/*
 * Checks that the object still has its name, and that this process is in the
 * table's time namespace.  0; -ESTALE: the name was removed or given to another
 * object; -EXDEV.
 */
int lhi_view_fresh(struct lhi_view *v);

/* True if the table was retired, or its object has no name any more. */
bool lhi_view_gone(struct lhi_view *v);

/* True if its object has no name any more, or its owner has marked it as being
 * removed; its words are not asked. */
bool lhi_view_removed(struct lhi_view *v);

/* True if that descriptor is the table's object. */
bool lhi_view_is(const struct lhi_view *v, int fd);

/*
 * Returns a descriptor of the object, through which no lock is ever taken.  The
 * application may have closed ours (closefrom), and its number may be another
 * file by now; then the object is opened again by name, if the name still is
 * this object.  Returns -1: not possible, errno says why.
 */
int lhi_view_fd(struct lhi_view *v);

/*
 * Makes the error of a caller that got none, and needed it to do `what`:
 * -EMFILE, -ENFILE, -EACCES, ...; -ESTALE: the name is gone, or another
 * object's.
 */
int lhi_view_no_fd(const struct lhi_view *v, int error, const char *what);

#endif
