/* SPDX-License-Identifier: MIT */
/*
 * Live handles: leases that renew themselves and tell of their loss.
 *
 *	lh_lock_open(lh, "nightly-report", NULL, &lock);
 *	if (lh_lock_acquire(lock, NULL) == 0) {
 *		while (more_to_do() && lh_lock_valid(lock) == 0)
 *			do_a_little();
 *		lh_lock_release(lock);
 *	}
 *	lh_lock_close(lock);
 *
 * A handle is made for a key, and can acquire and release it any number of
 * times.  While it holds the key its lease is renewed from one thread for all
 * handles of the process, which is started with the first one that acquires and
 * ends some seconds after the last.  Programs that use no live handle have no
 * such thread.
 *
 * Renewal is due every third of the ttl unless chosen otherwise.  One that
 * fails for another reason than loss is tried again, every twentieth of the ttl
 * or second, until the deadline.  A lease that is lost is lost: it is not
 * renewed, nor acquired again (G9); you may acquire again, with a new token.
 *
 * How soon a loss is told: at the deadline if it ran out; at once if it was
 * broken by an operator or if the table was removed: who does that rings the
 * attachment's doorbell.  Should he die before he has, within a second (T7).
 * A cluster key's when this host's session with the cluster has ended: by its
 * clock, also if nobody is left to tell; lh_lock_valid() says it in that
 * moment.
 *
 * Legal: use by any number of threads; a handle's own callback may do anything
 * with it, also release and close it.  Illegal: use after lh_lock_close()
 * (-EINVAL: error.h); extending, converting or releasing a copy of the lease by
 * hand.
 *
 * fork	The child has no thread and no live handle: whatever it does with an
 *	inherited one is -EPERM.  Handles it makes from a table that it has
 *	opened itself are as good as any.  A child that was forked by a callback
 *	should exec or exit in it; returning from it ends that thread.
 * exit	Ends the session, and so the leases.
 * lh_close()  Releases what is held, but for what is in a named session, and
 *	tells so (LH_LOSS_SESSION); handles stay yours to close.
 * suspend, SIGSTOP  Nobody renews meanwhile.  Awake again, the first thing that
 *	is found out is whether the lease is still there.
 */
#ifndef LEASEHOLD_LOCK_H
#define LEASEHOLD_LOCK_H

#include <stddef.h>
#include <stdint.h>
#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh_lock;			/* a live handle */
struct lh_watch;		/* somebody who is told what happens to it */

enum lh_lock_status {
	LH_LOCK_FREE = 0,	/* never acquired, or released */
	LH_LOCK_HELD = 1,
	LH_LOCK_LOST = 2
};

enum lh_loss {
	LH_LOSS_NONE = 0,
	LH_LOSS_EXPIRED = 1,	/* it was not renewed in time */
	LH_LOSS_BROKEN = 2,	/* an operator ended it */
	LH_LOSS_SESSION = 3,	/* lh_close(); the session was ended */
	LH_LOSS_TABLE = 4,	/* the table was removed under us */
	LH_LOSS_CLUSTER = 5,	/* a cluster key: this host has it no more */
	LH_LOSS_RELEASED = 6	/* a copy of it was released, converted or
				 * handed over; or how is not known any more */
};

/* What happened: bits, since several changes may be told as one. */
#define LH_EVENT_ACQUIRED	0x01u
#define LH_EVENT_RENEWED	0x02u
#define LH_EVENT_FAILED		0x04u	/* not renewed, not lost: see error */
#define LH_EVENT_WARNING	0x08u	/* less is left than warn_ms */
#define LH_EVENT_LOST		0x10u	/* once a lease; see loss */
#define LH_EVENT_RELEASED	0x20u
#define LH_EVENT_CLOSED		0x40u	/* the handle is gone: the last event */
#define LH_EVENT_ASKED		0x80u	/* somebody asks for it: see
					 * lh_ask_release(); once each time */
#define LH_EVENT_ALL		0xffu

/*
 * A change, and how the handle stood after it.  Changes of a handle are
 * numbered 1, 2, 3, ...  One event stands for several only for a watch that
 * lags by more than 32: then its oldest ones are told together, as the bits of
 * all, their number, and the state after the last.
 */
struct lh_event {
	size_t size;		/* sizeof(struct lh_event) */
	uint64_t seq;		/* of the last change it stands for */
	uint32_t count;		/* how many changes it stands for */
	uint32_t what;		/* LH_EVENT_... */
	uint32_t status;	/* enum lh_lock_status */
	uint32_t loss;		/* enum lh_loss */
	int32_t error;		/* of the last renewal: 0, or why it failed */
	uint32_t which;		/* of many keys: the item that this is of */
	uint64_t token;
	int64_t expires_ns;	/* table clock */
	int64_t at_ns;		/* table clock: when it was noticed */
};

#define LH_EVENT_INIT { sizeof(struct lh_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Called from the thread that renews, one call at a time, in the order of
 * events.  Be brief: nothing is renewed meanwhile.
 */
typedef void lh_lock_fn(struct lh_lock *lock, const struct lh_event *event,
    void *arg);

#define LH_RENEW_THIRD	(-1)	/* every third of the ttl */

struct lh_lock_opts {
	size_t size;		/* sizeof(struct lh_lock_opts) */
	int64_t renew_ms;	/* LH_RENEW_THIRD; 0: not; else how often */
	int64_t warn_ms;	/* LH_EVENT_WARNING so long before the deadline,
				 * if not renewed by then; 0: none */
	lh_lock_fn *event;	/* or NULL */
	void *arg;
};

#define LH_LOCK_OPTS_INIT \
	{ sizeof(struct lh_lock_opts), LH_RENEW_THIRD, 0, NULL, NULL }

/*
 * Make a handle; nothing is acquired yet.  opts NULL: the defaults above.
 * 0; -EINVAL, -ENAMETOOLONG, -ENOMEM, -EPERM (inherited over fork).
 */
int lh_lock_open(struct lh *lh, const char *key,
    const struct lh_lock_opts *opts, struct lh_lock **out);

/*
 * Make a handle out of a lease that is held: had by lh_acquire(), from a
 * ticket, a permit, or recalled.  From now on it is renewed, by ttl_ms each
 * time (which need not be what it was acquired with; a strict one has nothing
 * to renew), watched, and told of when it is lost, like one that the handle has
 * acquired.
 * The lease is the handle's then: its struct, and copies of it, are not to be
 * presented any more, but to lh_verify() and its like; lh_lock_lease() tells it
 * as it is by now.  Released, the handle may acquire the same key again (that
 * of a permit: the same permit, past those who wait for any).
 *
 * A lease in a named session may be adopted through any attachment, and
 * lh_close() leaves it in the session.  It ends with that, too, which is told
 * within a second (LH_LOSS_SESSION; not by lh_lock_valid() before that): the
 * handle does not renew the session (lh_session_keep()).
 *
 * 0; -ESTALE: it is lost, or was released; -EINVAL: not a lease, or ttl_ms out
 * of range; -EPERM: another session's, or inherited over fork; -ENOMEM: also if
 * the thread that renews cannot be started.  With all of these nothing has
 * changed.
 */
int lh_lock_adopt(struct lh *lh, const struct lh_lease *lease, int64_t ttl_ms,
    const struct lh_lock_opts *opts, struct lh_lock **out);

/*
 * Acquire the key, as lh_acquire() does.  0: held, and kept until released or
 * lost.  Errors as lh_acquire(), and: -EALREADY: this handle holds it; -EBUSY:
 * another thread is acquiring through this handle; -ENOMEM: the thread that
 * renews cannot be started; -EINVAL: its table was closed, or (in a callback)
 * another thread is just closing the handle.
 */
int lh_lock_acquire(struct lh_lock *lock, const struct lh_acquire_opts *opts);

/*
 * Stop renewing and give the key back.  0: it is free now (or was released
 * before, or never acquired); -ESTALE: it had been lost; -EPERM (fork).
 */
int lh_lock_release(struct lh_lock *lock);

/*
 * Stop renewing and forget the handle.  A lease that it still holds is left to
 * its deadline.  When this returns, no callback of the handle is running (but
 * for the one that calls it), nor will be.  0; -EBUSY: another thread is
 * acquiring through it, or (in a callback) is just closing it; -EINVAL, -EPERM.
 */
int lh_lock_close(struct lh_lock *lock);

/*
 * Renew so often from now on: LH_RENEW_THIRD; 0: never, so that the lease ends
 * at its deadline.  Counts from the last renewal: if that is longer ago, the
 * next one is made at once.  An interval that would let the deadline come near
 * is shortened: renewal is due when an eighth of the ttl is left (5 s at most).
 * Once 0 has returned, nothing is renewed any more.
 * 0; -EINVAL (below -1, or above 30 days), -EPERM.
 */
int lh_lock_renew_every(struct lh_lock *lock, int64_t every_ms);

/*
 * Is it held now, by the precise clock and the deadline that was last known?
 * 0: yes; -ESTALE: no; -EPERM.  Never waits for anybody, and takes no lock
 * before that deadline: ask as often as you like.  Past it the lease itself is
 * looked at; -ESTALE then means that it is lost, for all and for good, and
 * lh_lock_release() says so as well.  (Whether an operator has broken it since
 * the thread last looked: lh_verify().)
 */
int lh_lock_valid(const struct lh_lock *lock);

struct lh_lock_state {
	size_t size;		/* sizeof(struct lh_lock_state) */
	uint32_t status;	/* enum lh_lock_status */
	uint32_t loss;		/* enum lh_loss */
	struct lh_lease lease;	/* the last one: token, deadline, notes */
	uint64_t seq;		/* changes so far */
	uint64_t renewals;	/* of this lease */
	uint64_t failures;	/* renewals that failed since the last one */
	int64_t next_ns;	/* table clock: when renewal is due; 0: never */
	int32_t error;		/* of the last renewal */
	uint32_t which;		/* of many keys (many.h): the item `lease` is
				 * of */
};

/* How it stands; set state->size before.  0; -EINVAL, -EPERM. */
int lh_lock_state(struct lh_lock *lock, struct lh_lock_state *state);

/*
 * Be told of those changes (LH_EVENT_... bits; 0: of all) that come from now
 * on.  Every watch has its own descriptor and gets every change.
 * 0; -EINVAL (also, in a callback: another thread is just closing the handle),
 * -EMFILE, -ENFILE, -ENOMEM, -EPERM.
 */
int lh_lock_watch(struct lh_lock *lock, uint32_t what, struct lh_watch **out);

/*
 * The watch's descriptor, for poll(): readable while lh_watch_next() has
 * something to tell.  Not to be read from, nor closed.
 */
int lh_watch_fd(const struct lh_watch *watch);

/* The next event; set event->size before.  0; -EAGAIN: none yet; -EINVAL,
 * -EPERM. */
int lh_watch_next(struct lh_watch *watch, struct lh_event *event);

/* 0; -EINVAL, -EPERM.  Before or after its handle's lh_lock_close(). */
int lh_watch_close(struct lh_watch *watch);

/* What a function that runs under a lease gets to see. */
struct lh_held {
	size_t size;
	struct lh_lease lease;	/* as it was acquired */
	struct lh_lock *lock;	/* lh_lock_valid(held->lock): still mine? */
	int loss_fd;		/* readable when it is lost */
	int reserved;
};

typedef int lh_with_fn(const struct lh_held *held, void *arg);

/*
 * Run fn(held, arg) under the key, if it is free this very moment: one try,
 * whatever opts say about waiting.  The lease is renewed while fn runs and
 * released after it, unless it was lost, which is the next holder's affair.
 *
 * 0: fn ran, and held the key all the time; -EAGAIN: busy, fn did not run;
 * -ESTALE: fn ran and lost the key meanwhile (or the table was removed before
 * it ran); otherwise as lh_acquire() and lh_lock_watch().  *result (or NULL) is
 * what fn returned; it is written if and only if fn ran.
 */
int lh_with(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    lh_with_fn *fn, void *arg, int *result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
