/* SPDX-License-Identifier: MIT */
/*
 * Live handles, inside.  live_lock.c is what a caller does to a handle,
 * live_set.c the thread, live_renew.c what is due when, live_events.c how
 * changes are told, live_watch.c the watches, live_with.c lh_with().
 *
 * One mutex, lhi_live_lock() (live_mutex.c), guards everything here that is not
 * said to be atomic.  Nothing waits while it is held, and no callback runs
 * under it; the order of locks is this one, then lhi_proc_lock().
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

/* Events that somebody has not yet seen; the oldest first. */
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
	int64_t expires_ns;	/* table clock: of its leases, the first end */
	_Atomic int64_t until_ns;	/* held before that; 0: not held */
	_Atomic int64_t right_ns;	/* and before that on CLOCK_BOOTTIME, if
				 * any of its keys is a cluster's */
	int64_t right_due_ns;	/* table clock: look again whether it moves on;
				 * INT64_MAX: none is */
	int64_t due_ns;		/* CLOCK_MONOTONIC: where it is in the tree */
	int64_t ttl_ms;
	int64_t renew_ms;
	int64_t warn_ns;
	int64_t renewed_ns;	/* table clock: granted, or last renewed */
	int64_t retry_ns;	/* table clock: 0, or when to try again */
	bool warned;
	int error;
	uint64_t seq;
	uint64_t renewals;
	uint64_t failures;
	lh_lock_fn *event;
	void *arg;
	struct lhi_live_events calls;	/* not yet told to event() */
	const char *key;	/* of the first item, for sentences */
	struct lh_lease *leases; /* n of them, as the items */
	bool many;		/* by lh_lock_open_many(), even if n is 1 */
	uint32_t n;
	struct lh_item items[];	/* their keys, and the leases, behind them */
};

/* live_mutex.c. */
void lhi_live_lock(void);
void lhi_live_unlock(void);

/* Waits for the condition, with the lock held before and after. */
void lhi_live_await(pthread_cond_t *cond);

extern struct lhi_lock lhi_live_mutex;

/* Of a handle that was closed. */
#define LIVE_CLOSED UINT32_MAX

/* An epoch is lhi_forks() of when a handle was made.  0; -EPERM: a fork has
 * been since; -EINVAL: closed. */
int lhi_live_check_epoch(uint32_t epoch);

/* In tests: there is no thread, and callers look for themselves. */
extern bool lhi_live_by_hand;

/* Before the first handle: what is done about fork. */
void lhi_live_begin(void);

/* The thread is there, as long as there are handles; lock held.  0; -ENOMEM. */
int lhi_live_thread(void);

/* A new handle; one that is to be freed, which is when no callback of it runs;
 * lock held. */
void lhi_live_add(struct lh_lock *l);
void lhi_live_remove(struct lh_lock *l);

/*
 * live_renew.c, all with the lock held.  The handle's leases are held from now
 * on; are not renewed any more; are lost, and everyone is told why; the i-th is
 * lost, and why is to be found out.  Where one is lost the others are released.
 */
void lhi_live_hold(struct lh_lock *l);
void lhi_live_drop(struct lh_lock *l, enum lh_lock_status status);
void lhi_live_end(struct lh_lock *l, enum lh_loss loss);
void lhi_live_lose(struct lh_lock *l, uint32_t i);
/* True if it is held, by the claims and the clock.  Else its loss has been made
 * so for all (G3), and everyone is told.  asked: look at the rights, too. */
bool lhi_live_is_held(struct lh_lock *l, bool asked);
/* Notifies its watches if another process asks for one of its leases. */
void lhi_live_notify_asked(struct lh_lock *l);

/* Somebody else may have ended a lease that is held: look soon. */
void lhi_live_check_soon(void);

/* Do one thing that is due; false: nothing is.  When will something be?
 * (CLOCK_MONOTONIC; INT64_MAX: no handle is held.) */
bool lhi_live_serve(void);
int64_t lhi_live_next_ns(void);

/* In a forked child: nothing is held. */
void lhi_live_forget(void);

/*
 * wakeup.c, with the lock held.  The thread may have slept for too long.  That
 * attachment is to be listened to, once more; once less.  Who was rung at, and
 * what for (shm/doorbell.h; 0: nobody).  Sleep.  In a forked child.
 */
void lhi_wakeup_wake(void);
void lhi_wakeup_listen(struct lh *lh);
void lhi_wakeup_ignore(struct lh *lh);
uint32_t lhi_wakeup_next_rung(struct lh **which);
void lhi_wakeup_sleep(int64_t until_ns);
void lhi_wakeup_forget(void);

/* renew_ms has changed; lock held. */
void lhi_live_reschedule(struct lh_lock *l);

/* When is renewal due, on the table's clock?  INT64_MAX: never. */
int64_t lhi_live_renew_at(const struct lh_lock *l);

/* How renewal is done: lh_extend(), but in tests. */
extern int (*lhi_live_extend)(struct lh *lh, struct lh_lease *lease,
    int64_t ttl_ms);

/* The attachment is about to go: its handles have lost what they held. */
void lhi_live_closing(struct lh *lh);

/*
 * live_events.c, all with the lock held.  Tells all watches and the callback of
 * a change.
 */
void lhi_live_notify(struct lh_lock *l, uint32_t what);

/* True if a watch or a callback is told of such a change. */
bool lhi_live_is_watched(const struct lh_lock *l, uint32_t what);

/* Takes the first event out of a queue.  False: there is none. */
bool lhi_live_take_event(struct lhi_live_events *ev, struct lh_event *out);

/* Closes all watches of a handle that is about to go. */
void lhi_live_drop_watches(struct lh_lock *l);

/*
 * Events for callbacks.  True if there are any.  Takes the first, and returns
 * its handle.  Drops those of a handle.  In a forked child: there are none.
 */
bool lhi_live_has_call(void);
struct lh_lock *lhi_live_take_call(struct lh_event *e);
void lhi_live_drop_calls(struct lh_lock *l);
void lhi_live_forget_calls(void);

#endif
