/* SPDX-License-Identifier: MIT */
/* Acquiring.  acquire.c is the fast path; acquire_options.c, acquire_wait.c and
 * acquire_slow.c are the slow path. */
#ifndef LHI_ACQUIRE_H
#define LHI_ACQUIRE_H

#include "proc/attachment.h"

struct lhi_request;

#define FAST_TTL_MIN_MS 100	/* shorter ones need the precise clock */

/*
 * Work that a thread must do in time even while it waits.  (If the wait were
 * cut into pieces, it would lose its place each time.)  The waiting thread
 * calls run() when at_ns has come; run() sets the next at_ns.  If it does not
 * return 0, the wait ends with that result.
 */
struct lhi_wait_callback {
	int64_t at_ns;		/* the table's clock */
	int (*run)(struct lhi_wait_callback *callback);
	bool told;		/* a repeated request was answered with the
				 * lease that another call was granted */
	bool others;		/* it failed while another call does it */
};

struct lhi_acquire_request;
struct lhi_acquire_target;

typedef int lhi_acquire_fn(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* The request of an acquire: checked, and in the units of the protocol. */
struct lhi_acquire_request {
	int64_t ttl_ns;
	int64_t until_ns;	/* the table's clock; INT64_MAX: no end */
	bool try_only;
	bool shared;
	bool no_create;
	bool explain;		/* explain a failure (inspect/explain.c) */
	bool local;		/* scope */
	bool quorum;		/* scope */
	bool shareable;		/* any thread may release the lease */
	bool robust;		/* shm/consistency.c */
	bool no_deadlock;		/* never fails with -EDEADLK */
	uint32_t priority;
	struct lh_cancel *cancel;
	const struct lh_acquire_more *more;	/* never NULL */
	struct lhi_wait_callback *callback;	/* or NULL */
	bool rare; /* `more` is set (op/acquire_options.c) */
	bool strict_alone;	/* it says nothing but policy strict, so the
				 * lease may be remembered */
	bool aside;		/* info or request id go beside the claim */
	struct lhi_request *request; /* the place of its request id, or NULL */
	lhi_acquire_fn *how;	/* acquires instead of lhi_acquire_key()
				 * (live/semaphore.c); or NULL */
	void *of;		/* argument of `how` */
};

/* Checks the options and converts them.  Returns 0; -EINVAL or -EOPNOTSUPP with
 * a detail. */
int lhi_acquire_request_set(const struct lhi_view *v,
    struct lhi_acquire_request *ask, const struct lh_acquire_opts *opts);

/* The key that is wanted: a life of a slot, and the name by which another slot
 * is found when that life has ended (the key was evicted). */
struct lhi_acquire_target {
	struct lhi_ref ref;
	const struct lhi_key_name *name;
};

/* Internal: the slot does not belong to that key any more. */
#define KEY_GONE (-EIDRM)

/* Internal: a callback has failed and ended the wait. */
#define CALLBACK_FAILED (-EOWNERDEAD)

/* Tries or waits for that slot.  Returns what lh_acquire() returns, or
 * KEY_GONE. */
int lhi_acquire_wait(struct lh *lh, const struct lhi_ref *ref,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* The slow path (op/acquire_options.c): checks the options, tries or waits, and
 * looks the key up again each time it is gone (want->ref changes).  Returns
 * what lh_acquire() returns. */
int lhi_acquire_slow(struct lh *lh, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* The same, with checked options.  May also return CALLBACK_FAILED. */
int lhi_acquire_checked(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Acquires the key only; the caller handles the rarer options.  Returns what
 * lhi_acquire_wait() returns, except KEY_GONE. */
int lhi_acquire_key(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Sets the value that was requested together with a lease that was just
 * acquired.  Returns 0; or -errno after releasing the lease (guarantee G8). */
int lhi_acquire_set_value(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* The outcome of an attempt on the fast path. */
enum lhi_how {
	UNTOUCHED = 0,		/* nothing has changed: take another path */
	OUTDONE,		/* the same, but the claim is announced */
	GRANTED,
	LATE			/* granted, but the clock has advanced a tick */
};

/* Acquires on the fast path, in shared mode. */
enum lhi_how lhi_acquire_shared(struct lhi_claim_cache *m, struct shm_slot *s,
    uint64_t slot_ref, struct lh_lease *lease);

/* Completes a LATE grant of lhi_acquire_shared(): moves the deadline, or gives
 * the grant back and takes the slow path. */
int lhi_acquire_shared_late(struct lhi_claim_cache *m,
    struct lhi_cached_claim *r, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* Acquires on the fast path if possible, otherwise on the slow one.  lease is
 * not NULL. */
int lhi_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* Completes an acquire that the fast path did not complete. */
int lhi_acquire_rest(struct lh *lh, enum lhi_how how,
    struct lhi_acquire_target *want, const struct lh_acquire_opts *opts,
    struct lh_lease *lease);

/* The word had changed: makes the claim free again (claim #4). */
void lhi_acquire_retract(struct lhi_claim_cache *m, struct lhi_cached_claim *r);

/* Acquires a cluster key again, if its right is the one that was read in this
 * tick.  False: nothing is acquired. */
bool lhi_acquire_lent(struct lh *lh, const struct lhi_ref *ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* The same by name, if that is the key that claim 0 had last. */
bool lhi_acquire_lent_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* Acquires an opened key, whose slot was `ref` when it was read, without what
 * the claim cache remembers of it. */
int lhi_key_acquire_at_once(struct lh_key *k, struct lhi_ref ref,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* Completes an acquire of an opened key that the fast path did not complete. */
int lhi_key_acquire_rest(struct lh_key *k, enum lhi_how how,
    struct lhi_ref ref, const struct lh_acquire_opts *opts,
    struct lh_lease *lease);

/* Completes an acquire of an opened key that the straight path did not grant,
 * or only just (LATE, with *lease filled in). */
int lhi_key_acquire_other(struct lh_key *k, enum lhi_how how,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* The same by name: looks the key up, or makes it. */
int lhi_acquire_by_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* A wait that can be cancelled. */
struct lhi_canceller {
	shm_u32 *park;		/* it sleeps on this word; NULL: */
	int fd;			/* it polls this eventfd */
	struct lhi_canceller *next;
};

bool lhi_cancel_is_set(const struct lh_cancel *c);
void lhi_cancel_join(struct lh_cancel *c, struct lhi_canceller *me,
    shm_u32 *park);
void lhi_cancel_join_fd(struct lh_cancel *c, struct lhi_canceller *me, int fd);
void lhi_cancel_leave(struct lh_cancel *c, struct lhi_canceller *me);

#endif
