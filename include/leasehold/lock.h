/* SPDX-License-Identifier: MIT */
/*
 * Live handles: leases that renew themselves and report their loss.
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
 * times.  While it holds the key, one thread for all handles of the process
 * renews its lease.  That thread is started with the first handle that acquires
 * and ends some seconds after the last.  Programs without live handles have no
 * such thread.
 *
 * Renewal is due every third of the ttl unless chosen otherwise.  If it fails
 * for another reason than loss, it is tried again, every twentieth of the ttl
 * or second, until the deadline.  A lost lease stays lost: it is not renewed,
 * nor acquired again (G9). You may acquire again, with a new token.
 *
 * When a loss is reported: at the deadline if the lease expired; at once if an
 * operator broke it or the table was removed, because that process rings the
 * attachment's doorbell.  If it dies before, or the handle was given a session
 * that does not end with its attachment, within a second (T7). A cluster
 * key's loss is reported when this host's session with the cluster has ended,
 * by this host's clock, even if no shim is left to say so; lh_lock_valid() is
 * false from that moment.
 *
 * Legal: use by any number of threads; a handle's own callback may do anything
 * with it, also release and close it.  Illegal: use after lh_lock_close()
 * (-EINVAL: error.h); extending, converting or releasing a copy of the lease by
 * hand.
 *
 * fork	The child has no thread and no live handle: every call with an
 *	inherited one is -EPERM.  Handles of a table that the child has opened
 *	itself work.  A child that was forked by a callback should exec or exit
 *	in it; returning from it ends that thread.
 * exit	Ends the session, and so the leases.
 * lh_close()  Releases the leases, except those in a named session, and
 *	reports it (LH_LOSS_SESSION); handles stay yours to close.
 * suspend, SIGSTOP  Nothing is renewed meanwhile.  After waking, the first step
 *	is to check whether the lease still exists.
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
struct lh_watch;		/* a receiver of its events */

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
				 * handed over; or the reason is not known
				 * any more */
};

/* Events: bits, because several changes may be reported as one. */
#define LH_EVENT_ACQUIRED	0x01u
#define LH_EVENT_RENEWED	0x02u
#define LH_EVENT_FAILED		0x04u	/* not renewed, not lost: see error */
#define LH_EVENT_WARNING	0x08u	/* less is left than warn_ms */
#define LH_EVENT_LOST		0x10u	/* once for each lease; see loss */
#define LH_EVENT_RELEASED	0x20u
#define LH_EVENT_CLOSED		0x40u	/* the handle is closed: the last
					 * event */
#define LH_EVENT_ASKED		0x80u	/* a process asks for it: see
					 * lh_ask_release(); once each time */
#define LH_EVENT_ALL		0xffu

/*
 * A change, and the state of the handle after it.  Changes of a handle are
 * numbered 1, 2, 3, ... One event stands for several only for a watch that lags
 * by more than 32. Then its oldest ones are reported together: the bits of all,
 * their number, and the state after the last.
 */
struct lh_event {
	size_t size;		/* sizeof(struct lh_event) */
	uint64_t seq;		/* of the last change it stands for */
	uint32_t count;		/* how many changes it stands for */
	uint32_t what;		/* LH_EVENT_... */
	uint32_t status;	/* enum lh_lock_status */
	uint32_t loss;		/* enum lh_loss */
	int32_t error;		/* of the last renewal: 0, or why it failed */
	uint32_t which;		/* of many keys: the item that this is about */
	uint64_t token;
	int64_t expires_ns;	/* table clock */
	int64_t at_ns;		/* table clock: when it was noticed */
};

#define LH_EVENT_INIT { sizeof(struct lh_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Called from the thread that renews, one call at a time, in the order of
 * events.  Be brief, because nothing is renewed meanwhile. */
typedef void lh_lock_fn(struct lh_lock *lock, const struct lh_event *event,
    void *arg);

#define LH_RENEW_THIRD	(-1)	/* every third of the ttl */

struct lh_lock_opts {
	size_t size;		/* sizeof(struct lh_lock_opts) */
	int64_t renew_ms;	/* LH_RENEW_THIRD; 0: not; else how often */
	int64_t warn_ms;	/* LH_EVENT_WARNING this long before the
				 * deadline, if not renewed by then; 0: none */
	lh_lock_fn *event;	/* or NULL */
	void *arg;
	uint32_t flags;		/* LH_LOCK_OWN_SESSION */
	uint32_t reserved;	/* must be 0 */
	struct lh_session *session; /* its leases are acquired into that, unless
				     * the acquire names another; or NULL.  It
				     * stays yours: to be open as long as the
				     * handle, to be kept, and ended */
};

/*
 * lh_lock_opts.flags.  Each acquire makes a named session for the handle, and
 * acquires into it.  It is kept meanwhile.  lh_lock_session() returns it, so
 * that other leases can be acquired into it.  They end with the handle's own:
 * when that is released, when its loss is noticed, when the handle or the
 * attachment is closed, or this process dies.  While this process is stopped,
 * they end at their own deadlines.  (Not with policy live, nor with a lease
 * that is adopted.)
 */
#define LH_LOCK_OWN_SESSION	0x1u

#define LH_LOCK_OPTS_INIT \
	{ sizeof(struct lh_lock_opts), LH_RENEW_THIRD, 0, NULL, NULL, 0, 0, \
	  NULL }

/* Makes a handle; nothing is acquired yet.  opts NULL: the defaults above.
 * Returns 0; -EINVAL, -ENAMETOOLONG, -ENOMEM, -EPERM (inherited over fork). */
int lh_lock_open(struct lh *lh, const char *key,
    const struct lh_lock_opts *opts, struct lh_lock **out);

/*
 * Makes a handle out of a lease that is held: from lh_acquire(), a ticket, a
 * permit, or recalled.  From now on it is renewed by ttl_ms each time (which
 * may differ from that of the acquire; a strict lease needs no renewal),
 * watched, and its loss is reported, like a lease that the handle has acquired.
 * The lease then belongs to the handle: its struct, and copies of it, must not
 * be passed to calls any more, except to lh_verify() and its like;
 * lh_lock_lease() returns its present state.  After a release, the handle may
 * acquire the same key again (for a permit: the same permit, before those that
 * wait for any).
 *
 * A lease in a named session may be adopted through any attachment, and
 * lh_close() leaves it in the session.  It also ends with the session, which is
 * reported within a second (LH_LOSS_SESSION; not by lh_lock_valid() before
 * that). The handle does not renew the session (lh_session_keep() does).
 *
 * Returns 0; -ESTALE: it is lost, or was released; -EINVAL: not a lease, or
 * ttl_ms out of range; -EPERM: another session's, or inherited over fork;
 * -ENOMEM: also if the thread that renews cannot be started.  After an error
 * nothing has changed.
 */
int lh_lock_adopt(struct lh *lh, const struct lh_lease *lease, int64_t ttl_ms,
    const struct lh_lock_opts *opts, struct lh_lock **out);

/*
 * Acquires the key, as lh_acquire() does.  Returns 0: held, and kept until
 * released or lost.  Errors as lh_acquire(), and:
 *	-EALREADY: this handle holds it;
 *	with a session of its own those of lh_session_open(); -EINVAL: the
 *	options name another session;
 *	-EBUSY: another thread is acquiring through this handle;
 *	-ENOMEM: the thread that renews cannot be started;
 *	-EINVAL: its table was closed, or (in a callback) another thread is
 *	just closing the handle.
 */
int lh_lock_acquire(struct lh_lock *lock, const struct lh_acquire_opts *opts);

/* Stops renewing and releases the key.  Returns 0: it is free now (or was
 * released before); -ESTALE: it was lost; -ENOLCK: this handle never acquired
 * it; -EPERM (fork). */
int lh_lock_release(struct lh_lock *lock);

/*
 * Returns the session that it acquires into.  Its own is that of the last
 * acquire: not yours to close or destroy, and of no use (-ESTALE) once that has
 * ended.  After the close of the lock it must not be used.  Returns 0; -ENOENT:
 * it has none, or not yet; -EINVAL, -EPERM.
 */
int lh_lock_session(struct lh_lock *lock, struct lh_session **out);

/*
 * Stops renewing and closes the handle.  A lease that it still holds lasts to
 * its deadline, unless it is in a session of the handle's own, which ends.
 * When this returns, no callback of the handle is running (except the one that
 * calls it), and none will run.  Returns 0; -EBUSY: another thread is acquiring
 * through it, or (in a callback) is just closing it; -EINVAL, -EPERM.
 */
int lh_lock_close(struct lh_lock *lock);

/*
 * Sets the interval of renewals: LH_RENEW_THIRD; or 0: never, so that the lease
 * ends at its deadline.  It counts from the last renewal; if that is longer
 * ago, the next one is made at once.  An interval that would come near the
 * deadline is shortened: renewal is due when an eighth of the ttl is left (5 s
 * at most). After 0 nothing is renewed any more.  Returns 0; -EINVAL (below -1,
 * or above 30 days), -EPERM.
 */
int lh_lock_renew_every(struct lh_lock *lock, int64_t every_ms);

/*
 * Moves the deadline to ttl_ms from now, which may be sooner than before, and
 * returns it in *expires_ns (table clock; or NULL).  Renewals are by that ttl
 * from now on.  Watches get LH_EVENT_RENEWED.  Of many keys, all are extended,
 * and *expires_ns is the first end of them.  (A cluster key may end before it,
 * with this host's right to it.)
 *
 * Returns 0, or
 *	-ESTALE: it is lost, which is reported, or was released;
 *	-ENOLCK: this handle never acquired it;
 *	-EINVAL: ttl_ms out of range, its table was closed; -EPERM;
 *	others: as lh_extend().  Watches get LH_EVENT_FAILED, and renewals are
 *	by the ttl of before.
 */
int lh_lock_extend(struct lh_lock *lock, int64_t ttl_ms, int64_t *expires_ns);

/*
 * Checks whether it is held now, by the precise clock and the deadline that was
 * last known.  Returns 0 if it is; -ESTALE if not; -EPERM. Never waits, and
 * takes no lock before that deadline: call it as often as you like.  Past it
 * the lease itself is read; -ESTALE then means that it is lost for good, and
 * lh_lock_release() says so as well.  (To learn whether an operator has broken
 * it since the thread last checked, call lh_verify().)
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
	uint32_t which;		/* of many keys (many.h): the item that
				 * `lease` is of */
};

/* Returns its state; set state->size before. Returns 0; -EINVAL, -EPERM. */
int lh_lock_state(struct lh_lock *lock, struct lh_lock_state *state);

/*
 * Watches those changes (LH_EVENT_... bits; 0: all) that happen from now on.
 * Every watch has its own descriptor and gets every change.  Returns 0; -EINVAL
 * (also, in a callback: another thread is just closing the handle), -EMFILE,
 * -ENFILE, -ENOMEM, -EPERM.
 */
int lh_lock_watch(struct lh_lock *lock, uint32_t what, struct lh_watch **out);

/* Returns the watch's descriptor, for poll(): readable while lh_watch_next()
 * has an event.  Do not read from it or close it. */
int lh_watch_fd(const struct lh_watch *watch);

/* Returns the next event; set event->size before.  Returns 0; -EAGAIN: none
 * yet; -EINVAL, -EPERM. */
int lh_watch_next(struct lh_watch *watch, struct lh_event *event);

/* Closes a watch, before or after lh_lock_close() of its handle.  Returns 0;
 * -EINVAL, -EPERM. */
int lh_watch_close(struct lh_watch *watch);

/* The argument of a function that runs under a lease. */
struct lh_held {
	size_t size;
	struct lh_lease lease;	/* as it was acquired */
	struct lh_lock *lock;	/* lh_lock_valid(held->lock): is it still
				 * held? */
	int loss_fd;		/* readable when it is lost */
	int reserved;
};

typedef int lh_with_fn(const struct lh_held *held, void *arg);

/*
 * Runs fn(held, arg) under the key, if it is free this very moment: one try,
 * whatever opts say about waiting.  The lease is renewed while fn runs and
 * released after it.
 *
 * Returns 0: fn ran, and held the key all the time; -EAGAIN: busy, fn did not
 * run; -ESTALE: fn ran and lost the key meanwhile (or the table was removed
 * before it ran); otherwise as lh_acquire() and lh_lock_watch(). *result (or
 * NULL) is what fn returned; it is written if and only if fn ran.
 */
int lh_with(struct lh *lh, const char *key, const struct lh_acquire_opts *opts,
    lh_with_fn *fn, void *arg, int *result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
