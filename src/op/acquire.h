/* SPDX-License-Identifier: MIT */
/* Acquiring.  acquire.c is the fast path, acquire_wait.c everything else. */
#ifndef LHI_ACQUIRE_H
#define LHI_ACQUIRE_H

#include "proc/attachment.h"

struct lhi_request;

#define FAST_TTL_MIN_MS 100	/* shorter ones need the precise clock */

/*
 * What a thread has to do in time even while it waits (a wait that were cut in
 * pieces would lose its place each time).  Called when at_ns has come, by the
 * waiting thread, between two looks; sets the next at_ns.  Not 0: the wait ends
 * with that.
 */
struct lhi_wait_callback {
	int64_t at_ns;		/* the table's clock */
	int (*run)(struct lhi_wait_callback *callback);
	bool told;		/* set: a repeated request was answered with
				 * the lease that another call was granted */
};

struct lhi_acquire_request;
struct lhi_acquire_target;

typedef int lhi_acquire_fn(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* What is asked for, checked and in the units of the protocol. */
struct lhi_acquire_request {
	int64_t ttl_ns;
	int64_t until_ns;	/* the table's clock; INT64_MAX: no end */
	bool try_only;
	bool shared;
	bool no_create;
	bool explain;		/* if it fails: inspect/explain.c */
	bool local;		/* scope */
	bool quorum;		/* scope */
	bool shareable;		/* the lease is no thread's in particular */
	bool robust;		/* shm/consistency.c */
	bool no_deadlock;		/* not to be told of a deadlock */
	uint32_t priority;
	struct lh_cancel *cancel;
	const struct lh_acquire_more *more;	/* never NULL */
	struct lhi_wait_callback *callback;	/* or NULL */
	bool rare; /* something is in it: see op/acquire_options.c */
	bool aside;		/* something is told beside the claim */
	bool rights_asked;	/* those to cluster keys, for all of many: an
				 * acquire that does not find its one fails as
				 * a callback does (op/cluster_acquire.c) */
	struct lhi_request *request; /* with an id: its place; or NULL */
	lhi_acquire_fn *how;	/* not the key of that name, but what this gets:
				 * live/semaphore.c; or NULL */
	void *of;		/* ... for `how` */
};

/* Options into an ask.  0; -EINVAL, -EOPNOTSUPP with a detail. */
int lhi_acquire_request_set(const struct lhi_view *v,
    struct lhi_acquire_request *ask, const struct lh_acquire_opts *opts);

/*
 * What is wanted: a life of a slot, and the name to find another one by when
 * that life has ended (the key was evicted).
 */
struct lhi_acquire_target {
	struct lhi_ref ref;
	const struct lhi_key_name *name;
};

/* Not an error for callers: the slot is not that key any more. */
#define KEY_GONE (-EIDRM)

/* Neither is this: a callback has failed, and the wait with it. */
#define CALLBACK_FAILED (-EOWNERDEAD)

/* Try, or wait, on that slot.  Errors as lh_acquire(); KEY_GONE. */
int lhi_acquire_wait(struct lh *lh, const struct lhi_ref *ref,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/*
 * The slow path (op/acquire_options.c): checks the options, tries or waits, and
 * looks the key up anew (want->ref changes) as often as it is gone.  Errors as
 * lh_acquire().
 */
int lhi_acquire_slow(struct lh *lh, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* The same, of options that were checked: also CALLBACK_FAILED. */
int lhi_acquire_checked(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* The key and nothing else: what is rarer in the ask is the caller's to see to.
 * Errors as lhi_acquire_wait(), but for KEY_GONE. */
int lhi_acquire_key(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* Sets the value that was asked for with a lease that was acquired just now.
 * 0; -errno: the lease is released (G8). */
int lhi_acquire_set_value(struct lh *lh,
    const struct lhi_acquire_request *ask, struct lh_lease *lease);

/* What came of an attempt to acquire at once. */
enum lhi_how {
	UNTOUCHED = 0,		/* nothing has changed: go another way */
	OUTDONE,		/* the same, but the claim is announced */
	GRANTED,
	LATE			/* granted, and the clock has moved */
};

/* At once, in shared mode. */
enum lhi_how lhi_acquire_shared(struct lhi_claim_cache *m, struct shm_slot *s,
    uint64_t slot_ref, struct lh_lease *lease);

/* lhi_acquire_shared() was LATE: move the deadline on, or give the grant back
 * and go the slow way. */
int lhi_acquire_shared_late(struct lhi_claim_cache *m,
    struct lhi_cached_claim *r, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* All of it: at once if possible, else the slow path.  lease is not NULL. */
int lhi_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* The same by name: looks the key up, or makes it. */
int lhi_acquire_by_name(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/* A wait that can be cancelled. */
struct lhi_canceller {
	shm_u32 *park;		/* it sleeps on that; NULL: */
	int fd;			/* it polls that eventfd */
	struct lhi_canceller *next;
};

bool lhi_cancel_is_set(const struct lh_cancel *c);
void lhi_cancel_join(struct lh_cancel *c, struct lhi_canceller *me,
    shm_u32 *park);
void lhi_cancel_join_fd(struct lh_cancel *c, struct lhi_canceller *me, int fd);
void lhi_cancel_leave(struct lh_cancel *c, struct lhi_canceller *me);

#endif
