/* SPDX-License-Identifier: MIT */
/*
 * Live handles, inside.  live_lock.c has the calls, live_set.c the thread,
 * live_renew.c decides when something is due, live_events.c queues changes,
 * live_watch.c has the watches, live_with.c lh_with().
 *
 * One mutex, lhi_live_lock() (live_mutex.c), guards everything here that is not
 * declared atomic.  No thread waits while it is held, and no callback runs
 * under it.  The order of locks is this one, then lhi_proc_lock().
 */
#ifndef LHI_LIVE_SET_H
#define LHI_LIVE_SET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <sys/types.h>
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <leasehold/many.h>
#include "live/readable.h"
#include "proc/fork.h"

#define LIVE_EVENTS 32

/* Events that their receiver has not yet seen; the oldest first. */
struct lhi_live_events {
	struct lh_event ring[LIVE_EVENTS];
	uint32_t first;
	uint32_t n;
};

struct lh_watch {
	TAILQ_ENTRY(lh_watch) of_lock;
	struct lh_lock *lock;	/* NULL: closed */
	uint32_t epoch;
	uint32_t what;
	struct lhi_readable fd;
	struct lhi_live_events events;
};

struct lh_lock {
	RB_ENTRY(lh_lock) timer;	/* while it is HELD */
	TAILQ_ENTRY(lh_lock) all;
	TAILQ_ENTRY(lh_lock) call;	/* while `calls` is not empty */
	TAILQ_HEAD(lhi_watches, lh_watch) watches;
	struct lh *lh;		/* NULL: closed */
	clockid_t clock;
	uint32_t epoch;		/* set once: forks between us and its maker */
	bool acquiring;
	bool closed;		/* in its callback: freed after that */
	bool closing;		/* its closer waits for its callback */
	enum lh_lock_status status;
	enum lh_loss loss;
	uint32_t which;		/* item that events and state speak of */
	int64_t expires_ns;	/* table clock: the earliest end of its
				 * leases */
	_Atomic int64_t until_ns;	/* held before that; 0: not held */
	_Atomic int64_t right_ns;	/* and before that on CLOCK_BOOTTIME, if
				 * any of its keys is a cluster's */
	int64_t right_due_ns;	/* table clock: when to check again whether
				 * it moves on; INT64_MAX: it has no right */
	int64_t due_ns;		/* CLOCK_MONOTONIC: its place in the tree */
	int64_t ttl_ms;
	int64_t renew_ms;
	int64_t warn_ns;
	int64_t renewed_ns;	/* table clock: granted, or last renewed */
	int64_t retry_ns;	/* table clock: 0, or when to try again */
	bool was_held;		/* it has acquired its keys once, at least */
	bool warned;
	int error;
	uint64_t seq;
	uint64_t renewals;
	uint64_t failures;
	lh_lock_fn *event;
	void *arg;
	struct lhi_live_events calls;	/* not yet passed to event() */
	bool owns_session;	/* LH_LOCK_OWN_SESSION */
	struct lh_session *session; /* to acquire into; or NULL */
	const char *key;	/* of the first item, for sentences */
	struct lh_lease *leases; /* n of them, as the items */
	bool many;		/* by lh_lock_open_many(), even if n is 1 */
	uint32_t n;
	struct lh_item items[];	/* their keys, and the leases, behind them */
};

/* The options of an acquire into the handle's session. */
struct lhi_live_ask {
	struct lh_acquire_opts opts;
	struct lh_acquire_more more;
};

/*
 * live_session.c.  Checks the options of a handle.  Before an acquire: makes
 * the handle's own session, and has *opts name the session.  Ends its own, with
 * the lock held; frees it when the handle is freed.
 */
int lhi_live_session_check(const struct lh_lock_opts *o);
int lhi_live_session_begin(struct lh_lock *l, struct lh *lh,
    const struct lh_acquire_opts **opts, struct lhi_live_ask *ask);
void lhi_live_session_end(struct lh_lock *l);
void lhi_live_session_free(struct lh_lock *l);

/* live_mutex.c. */
void lhi_live_lock(void);
void lhi_live_unlock(void);

/* Waits for the condition, with the lock held before and after. */
void lhi_live_await(pthread_cond_t *cond);

extern struct lhi_lock lhi_live_mutex;

/* Frees a handle that was closed. */
#define LIVE_CLOSED UINT32_MAX

/* Checks the handle.  An epoch is lhi_forks() at the time when a handle was
 * made.  Returns 0; -EPERM: there was a fork since; -EINVAL: closed. */
int lhi_live_check_epoch(uint32_t epoch);

/* For tests: there is no thread, and callers do its work. */
extern bool lhi_live_by_hand;

/* Prepares for fork, before the first handle. */
void lhi_live_begin(void);

/* Ensures that the thread runs as long as there are handles; lock held.
 * Returns 0; -ENOMEM. */
int lhi_live_thread(void);

/* Adds a new handle.  Removes one that is to be freed, once no callback of it
 * runs; lock held. */
void lhi_live_add(struct lh_lock *l);
void lhi_live_remove(struct lh_lock *l);

/*
 * live_renew.c, all with the lock held: the handle's leases are held from now
 * on; are not renewed any more; are lost, which is reported; the i-th is lost,
 * and the reason is to be found out.  If one is lost the others are released.
 */
void lhi_live_hold(struct lh_lock *l);
void lhi_live_drop(struct lh_lock *l, enum lh_lock_status status);
void lhi_live_end(struct lh_lock *l, enum lh_loss loss);
void lhi_live_lose(struct lh_lock *l, uint32_t i);
/* True if it is held, by the claims and the clock.  Otherwise its loss has been
 * made final for all (G3), and reported.  asked: check the rights, too. */
bool lhi_live_is_held(struct lh_lock *l, bool asked);
/* Notifies its watches if another process asks for one of its leases. */
void lhi_live_notify_asked(struct lh_lock *l);

/* Another process may have ended a lease that is held: check soon. */
void lhi_live_check_soon(void);

/* Does one thing that is due, or returns false.  Returns when the next is due
 * (CLOCK_MONOTONIC; INT64_MAX: no handle is held). */
bool lhi_live_serve(void);
int64_t lhi_live_next_ns(void);

/* In a forked child: clears the list of held handles. */
void lhi_live_forget(void);

/*
 * wakeup.c, with the lock held.  Wakes the thread, which may sleep for too
 * long.  Adds and removes a reason to listen to that attachment.  Returns the
 * attachment that was rung at, and for what (shm/doorbell.h; 0: none). Sleeps.
 * Clears the state in a forked child.
 */
void lhi_wakeup_wake(void);
void lhi_wakeup_listen(struct lh *lh);
void lhi_wakeup_ignore(struct lh *lh);
uint32_t lhi_wakeup_next_rung(struct lh **which);
void lhi_wakeup_sleep(int64_t until_ns);
void lhi_wakeup_forget(void);

/* Extends its leases, and is to renew them by that ttl; lock held.  Returns 0;
 * -ESTALE: it is not held (any more), which is reported; -errno. */
int lhi_live_extend_by(struct lh_lock *l, int64_t ttl_ms);

/* Applies a change of renew_ms; lock held. */
void lhi_live_reschedule(struct lh_lock *l);

/* Returns when renewal is due, on the table's clock; INT64_MAX: never. */
int64_t lhi_live_renew_at(const struct lh_lock *l);

/* The function that renews: lh_extend(), except in tests. */
extern int (*lhi_live_extend)(struct lh *lh, struct lh_lease *lease,
    int64_t ttl_ms);

/* Marks the handles of an attachment that closes as lost. */
void lhi_live_closing(struct lh *lh);

/* live_events.c, all with the lock held.  Queues a change for all watches and
 * the callback. */
void lhi_live_notify(struct lh_lock *l, uint32_t what);

/* True if a watch or a callback receives such a change. */
bool lhi_live_is_watched(const struct lh_lock *l, uint32_t what);

/* Takes the first event out of a queue. Returns false if there is none. */
bool lhi_live_take_event(struct lhi_live_events *ev, struct lh_event *out);

/* Closes all watches of a handle that is about to be freed. */
void lhi_live_drop_watches(struct lh_lock *l);

/* Events for callbacks.  True if there are any.  Takes the first, and returns
 * its handle.  Drops those of a handle.  In a forked child: clears them. */
bool lhi_live_has_call(void);
struct lh_lock *lhi_live_take_call(struct lh_event *e);
void lhi_live_drop_calls(struct lh_lock *l);
void lhi_live_forget_calls(void);

#endif
