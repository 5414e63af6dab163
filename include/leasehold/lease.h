/* SPDX-License-Identifier: MIT */
/*
 * Leases: one grant each.
 *
 * struct lh_lease is yours: plain memory, written by a successful acquire and
 * passed to every later call.  Ownership belongs to the lease (id and token),
 * not to thread or process: two acquires of one key conflict wherever they come
 * from.  It must be passed through the attachment that acquired it.
 *
 * Deadlocks.  Waits can form a circle, each for a lease that the next one's
 * thread holds, or for a place in a queue behind it.  One wait of the circle
 * then ends with -EDEADLK, within 100 ms (p99, T6) of the moment at which the
 * circle was closed.  It is the one with the lowest priority; of these the one
 * that began last (to the millisecond); of these the one with the highest
 * number.  Nothing else changes; leases that are held stay held.
 * lh_error_detail() describes the circle.
 *
 *	A lease belongs to the thread that acquired it, which is expected to
 *	release it.  Leases that another thread may release need LH_SHAREABLE,
 *	and are in no circle.  Neither are leases that end within 100 ms and
 *	are not renewed: they dissolve it.  A thread that waits for a lease of
 *	its own (in any attachment) is a circle of one.  Waits with
 *	LH_NO_DEADLOCK never end so: they end with the deadlines, or when
 *	another one of the circle gives up.  Waits of less than 40 ms do not
 *	search, nor does a stopped process until it runs again.  Circles of
 *	more than 32 waits are not found.
 *
 * A lease ends by release, at its deadline, with its session, or when an
 * operator breaks it.  A lost lease stays lost (G9). expires_ns is between 8 ms
 * (two ticks of a kernel's coarse clock at 250 Hz) before and 2 ms after ttl_ms
 * from now; for an extended lease up to 10 ms after.
 *
 * Cluster keys are those whose names begin with the table's cluster prefix
 * ("cluster:", unless it was made with another one). At most one host holds
 * such a key exclusively; several hosts may share it.  The hosts are those
 * whose leasehold-shimd is in the same cluster.  A host that has the key passes
 * it among its processes, at the price of a local key, until another host wants
 * it.  All calls are the same for them, with these differences:
 *
 *	An acquire may have to wait for the cluster as well.  -EHOSTUNREACH: no
 *	shim runs here, or it cannot reach the cluster, or does not answer;
 *	-EACCES: the cluster does not allow this host to hold it.  A try waits
 *	for the cluster's answer, for a second at most, then -EHOSTUNREACH.
 *	A lease ends when this host's session with the cluster does, if that is
 *	sooner than its deadline; expires_ns says so.  The session normally
 *	goes on, and its end moves on with it, so that lh_verify() is true
 *	longer than expires_ns said; lh_extend() reads it again.
 *	Tokens are above 2^62, and rise over all hosts.
 *	Shared leases are not converted to exclusive where other hosts may read
 *	as well: -EAGAIN, also of lh_convert_wait().
 *	Priority is among the processes of a host; hosts are served in the
 *	order of their requests.  Circles of waits over several hosts are not
 *	found.
 *
 * Illegal: changing a field and passing the lease again (refused, nothing
 * changed). Leaving a call by longjmp() from a signal handler: a place in a
 * queue remains, and the thread cannot be cancelled, until the thread's next
 * acquire that waits, its end, or its lh_close(). If the call had a
 * cancellation switch, or was lh_convert_wait() or lh_wait_free(), this lasts
 * until the process ends.  Other processes pass the place over after 3 to 30
 * ms.
 */
#ifndef LEASEHOLD_LEASE_H
#define LEASEHOLD_LEASE_H

#include <stddef.h>
#include <stdint.h>
#include <leasehold/table.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct lh_session;		/* a named one: see session.h */

enum lh_mode {
	LH_EXCLUSIVE = 0,
	LH_SHARED = 1		/* together with other readers */
};

enum lh_scope {
	LH_EPHEMERAL = 0,	/* tokens grow while the table exists */
	LH_LOCAL = 1,		/* and through crash, reboot, power loss and
				 * re-creation of the table; -EOPNOTSUPP
				 * without a fence file.  With LH_ALL_LOCAL
				 * (table.h) every acquire is in it */
	LH_QUORUM = 2		/* cluster keys only, which always have it;
				 * else -EOPNOTSUPP */
};

/* Notes on a grant: how the previous holder ended, if uncleanly.  Of several
 * readers that is the one who was the last to leave. */
#define LH_NOTE_PREVIOUS_DIED		0x1u
#define LH_NOTE_PREVIOUS_EXPIRED	0x2u
#define LH_NOTE_PREVIOUS_BROKEN		0x4u

/* A holder with LH_ROBUST did not release the key, and no later holder has
 * declared the resource consistent: lh_mark_consistent(). */
#define LH_NOTE_INCONSISTENT		0x10u

/* Flags of an acquire, in addition to LH_NO_CREATE. */
#define LH_SHAREABLE	0x100u	/* other threads may release the lease: it is
				 * in no deadlock (above) */
#define LH_NO_DEADLOCK	0x200u	/* do not end this wait because of a
				 * deadlock: it waits for deadlines */

#define LH_ROBUST	0x2000u	/* if this lease is not released, warn later
				 * holders: lh_mark_consistent() */

struct lh_lease {
	uint32_t key;		/* which key, as the table numbers them */
	uint16_t opaque;	/* the library's */
	uint8_t notes;		/* LH_NOTE_... */
	uint8_t mode;		/* enum lh_mode */
	uint64_t id[2];		/* session, and a number unique in it; ids of
				 * another table, or of an earlier one of the
				 * name, are others: -ESTALE here */
	uint64_t token;		/* fence token: 1 .. 2^63 - 1 (G2) */
	int64_t expires_ns;	/* table clock; the deadline that others
				 * enforce */
};

/* A switch that ends waits.  The memory is yours and must stay until every call
 * that was given it has returned; initialise it with LH_CANCEL_INIT. */
struct lh_cancel {
	uint64_t opaque[4];
};

#define LH_CANCEL_INIT { { 0, 0, 0, 0 } }

#define LH_WAIT_FOREVER	INT64_MAX

/*
 * When a lease ends that is not released.
 *
 * Under strict the ttl means nothing, expires_ns is INT64_MAX, and lh_extend()
 * returns 0 and changes nothing.  A process that is stopped, or hangs, keeps
 * the key: lh_break() is the remedy.
 *
 * Under live, others move the deadline on by the ttl of the acquire.  The
 * holder gets no event; lh_verify() shows it, and it need not extend the lease
 * while others check.  In a table without a reaper, a lease that no process
 * waits for ends at its deadline when the next request comes.  A process that
 * moves the deadline must see the holder's process run (the same pid namespace,
 * /proc); otherwise the policy is as lease.  A process runs while one of its
 * threads can go on: sleeping and waiting for a disk count.  Being stopped,
 * traced to a stop, or frozen by a control group (docker pause) does not.  If
 * its groups cannot be seen, a process that waits in the kernel, or whose wait
 * may not be read, does not count as running.  A named session has no such
 * process: -EINVAL.
 */
enum lh_policy {
	LH_POLICY_LEASE = 0,	/* at its deadline */
	LH_POLICY_STRICT = 1,	/* with its session: it has no deadline */
	LH_POLICY_LIVE = 2	/* at its deadline, which is moved on before
				 * it by a process that wants the key, or the
				 * reaper, and sees the holder's process run */
};

#define LH_INFO_MAX 95
#define LH_KEY_MAX 255		/* bytes of a key (key.h) */

/* Rarely used options.  Leases of such acquires take the slow path: some
 * hundred nanoseconds more, with a request id some microseconds. */
struct lh_acquire_more {
	size_t size;		/* sizeof(struct lh_acquire_more) */
	uint32_t policy;	/* enum lh_policy */
	uint32_t reserved;	/* must be 0 */
	struct lh_session *session; /* the lease lives in it and ends with
				     * it; NULL: in the attachment's own */
	uint64_t request[2];	/* request id (G10); 0, 0: none; see
				 * lh_release_request() */
	const char *info;	/* the requester and its purpose, in words
				 * for people: up to LH_INFO_MAX bytes, shown
				 * with the lease and the wait (inspect.h);
				 * or NULL */
	const char *holder;	/* holder id, 1 .. 255 bytes, for counted
				 * re-entry; or NULL: none */
	const void *value;	/* the key's value from the grant on
				 * (value.h), not in shared mode; NULL:
				 * unchanged */
	size_t value_len;	/* up to 256 bytes; 0: it is cleared */
};

#define LH_ACQUIRE_MORE_INIT \
	{ sizeof(struct lh_acquire_more), 0, 0, NULL, { 0, 0 }, NULL, NULL, \
	    NULL, 0 }

/* A flag of an acquire: if it fails because others block it, find out who they
 * are and what they do, for lh_explain_last() (inspect.h). */
#define LH_EXPLAIN	0x1000u

/* How to acquire. */
struct lh_acquire_opts {
	size_t size;		/* sizeof(struct lh_acquire_opts) */
	uint32_t mode;		/* enum lh_mode */
	uint32_t scope;		/* enum lh_scope */
	uint32_t flags;		/* LH_NO_CREATE: -ENOENT for an unknown key;
				 * LH_SHAREABLE, LH_NO_DEADLOCK, LH_EXPLAIN,
				 * LH_ROBUST */
	uint32_t priority;	/* higher goes first */
	int64_t ttl_ms;		/* 1 ms .. 30 days */
	int64_t max_wait_ms;	/* 0: try; LH_WAIT_FOREVER */
	int64_t deadline_ns;	/* if not 0: wait until then on the table's
				 * clock, instead of max_wait_ms */
	struct lh_cancel *cancel; /* or NULL */
	const struct lh_acquire_more *more; /* or NULL: none of these */
};

/* Exclusive, ttl 30 s, wait up to an hour. */
#define LH_ACQUIRE_OPTS_INIT \
	{ sizeof(struct lh_acquire_opts), 0, 0, 0, 0, 30000, 3600000, 0, \
	    NULL, NULL }

#define LH_TTL_MAX_MS	((int64_t)30 * 24 * 3600 * 1000)

/*
 * Acquires a lease on the key of that name (1..255 bytes), creating the key if
 * it is new.  opts NULL: the defaults above.
 *
 * Returns 0 with *lease filled: the key is yours until lease->expires_ns (G1,
 * G3), in shared mode together with other readers.  The token is larger than
 * every earlier one of this key; a reader's is not smaller than any earlier
 * exclusive one and smaller than any later one (G2). A queued writer of the
 * same or a higher priority blocks new readers (G7).
 *
 * Any other result means that the key was not acquired (G8):
 *	-EAGAIN (a try), -ETIMEDOUT (never early), -ECANCELED, -EDEADLK;
 *	-ENOENT (LH_NO_CREATE), -EINVAL, -ENAMETOOLONG, -EOPNOTSUPP (scopes);
 *	-ENOSPC: keys or leases are used up;
 *	-EOVERFLOW: the table is too old, or its tokens are used up (error.h);
 *	-ESTALE: table removed; -EUCLEAN; -EPERM: inherited over fork;
 *	-EIO: a range of tokens is needed and could not be claimed on disk (see
 *	lh_error_detail()).  Only in scope LH_LOCAL, and for keys that were once
 *	acquired in it: these stay bound to the disk in every scope;
 *	-EHOSTUNREACH and -EACCES: cluster keys.
 * Signals do not end the wait, nor does pthread_cancel(), asynchronous as well:
 * the thread is cancelled after the wait.  A lease that was granted then stays
 * until its deadline.  To end a wait, use lh_cancel().
 */
int lh_acquire(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/*
 * Releases a lease.  Any thread of the attachment may.
 *
 * Returns 0: it is free now, or this very struct was released before (G10).
 * -ESTALE: it was already lost; no other lease was touched (G11). -EPERM:
 * another session's.  -EINVAL: not a lease.  A lease of another table, or of an
 * earlier one of the same name, is -ESTALE here and in all calls.
 */
int lh_release(struct lh *lh, struct lh_lease *lease);

/*
 * With a holder id, an acquire of a key that the same holder of the same
 * attachment already holds in the same mode is granted at once.  It is the same
 * lease, with its token and its deadline, and has to be released once more: by
 * any copy of it, each struct once.  In the other mode the result is -EDEADLK
 * (convert the lease instead). The count ends with the lease, if that is lost,
 * and does not leave the process.  Without an id every acquire conflicts.  A
 * holder id cannot be combined with a request id.
 *
 * With a request id, an acquire may be repeated.  The id is 128 bits of your
 * choice that are new for each request (random ones will do).  The repeat may
 * come from another thread, or, in a named session, from another process after
 * the first was killed.  It gets the answer of the first (G10):
 *	granted, and the lease is held	0, with the same id and token
 *	failed, within the last 60 s	the same error
 *	-EHOSTUNREACH		nothing was granted, and nothing is remembered:
 *				the repeat tries anew, and fails alike while
 *				the cluster is away
 *	granted, but the lease has ended	-ESTALE, for 60 s at least
 *	it still waits		the repeat waits for it within its own time,
 *				then -ETIMEDOUT (or -ECANCELED); a try: -EBUSY;
 *				and the first goes on
 *	another key's		-EINVAL
 * A repeat is a new request once the first is forgotten.  That is 60 s after it
 * ended, or earlier: when the attachment has ended 1,024 others since, or the
 * table's places for requests are used up (-ENOSPC if their leases are held). A
 * request that was refused before it was tried (-EINVAL, -EOPNOTSUPP, -ENOENT)
 * is not remembered.  A lease that is converted or handed over is another one,
 * and the request's has ended.  A value that is set with it may be missing if
 * the first was killed.
 */

/*
 * Ends the lease that a request was granted: of the named session, or of the
 * attachment (NULL).
 *
 * Returns 0: it is free now, or was released within the last 60 s (G10);
 * -ESTALE: it was lost; -ENOENT: the request is not known (any more), or got no
 * lease; -EBUSY: it still waits, cancel it first; -EINVAL; -EPERM.
 */
int lh_release_request(struct lh *lh, struct lh_session *session,
    const uint64_t request[2]);

/*
 * Moves the deadline to ttl_ms from now, which may be sooner than before.
 * Updates lease->expires_ns.
 *
 * Returns 0, or
 *	-ESTALE: released, or lost (even if the key is still free: an expired
 *	lease is never revived, G3);
 *	-EOVERFLOW: the table is too old; the lease ends at its deadline;
 *	-EPERM; -EINVAL: ttl out of range, not a lease.
 */
int lh_extend(struct lh *lh, struct lh_lease *lease, int64_t ttl_ms);

/* Checks by the precise clock whether the lease is held now.  Returns 0 if it
 * is; -ESTALE: lost or released; -EPERM; -EINVAL. */
int lh_verify(struct lh *lh, const struct lh_lease *lease);

/* A lease that is held: lh_lease_info(). */
struct lh_lease_info {
	size_t size;		/* sizeof(struct lh_lease_info), set by the
				 * caller */
	uint32_t mode;		/* enum lh_mode */
	uint32_t notes;		/* LH_NOTE_... of its grant */
	uint64_t token;
	int64_t acquired_ns;	/* table clock; up to 8 ms early */
	int64_t expires_ns;	/* table clock: its deadline now, or the end of
				 * its named session, if that is sooner;
				 * INT64_MAX: neither */
	uint32_t policy;	/* enum lh_policy */
	uint32_t reserved;
	char key[LH_KEY_MAX + 1];
};

#define LH_LEASE_INFO_INIT { sizeof(struct lh_lease_info), 0, 0, 0, 0, 0, 0, \
	0, { 0 } }

/*
 * Reads what the struct of a lease does not say: its key, its times and its
 * policy, as they are now.  (A lease is small, as each acquire fills it in.)
 *
 * Returns 0: it is held now, and *info is filled in; -ESTALE: lost or released;
 * -EAGAIN: it is extended so often that it cannot be read; -EPERM; -EINVAL: not
 * a lease, or info->size is not set.
 */
int lh_lease_info(struct lh *lh, const struct lh_lease *lease,
    struct lh_lease_info *info);

/*
 * Changes the mode of a lease.  Down to LH_SHARED always works and lets waiting
 * readers in; up to LH_EXCLUSIVE works only if no other reader lives.  The
 * lease then has a new id and token (copies of the old struct are no longer
 * valid) and the same deadline, and was never without the key.
 *
 * Returns 0 with *lease updated; unchanged if it has that mode already.  With
 * -EAGAIN and -EIO the lease stays as it is.  -EAGAIN: other readers hold the
 * key; or another thread is converting this very lease, or handing it over; or
 * its tokens would have to jump further than they can under a lease
 * (doc/protocol.md, Tokens). -ESTALE: lost, or released.  -EIO: as
 * lh_acquire(). -EPERM; -EINVAL: unknown mode, not a lease.
 */
int lh_convert(struct lh *lh, struct lh_lease *lease, uint32_t mode);

/*
 * The same, but up to LH_EXCLUSIVE waits until no other reader lives.  Of opts
 * (NULL: the defaults, up to an hour) it uses max_wait_ms, deadline_ns, cancel,
 * LH_NO_DEADLOCK and priority.  Priority matters for deadlocks only: no writer
 * goes before a reader that waits here.  New readers are blocked meanwhile
 * (G7). The lease goes on as it is, and another thread may extend it.
 *
 * Errors as lh_convert(), but -EAGAIN only for max_wait_ms 0, or for tokens
 * that would have to jump.  With the following the lease stays shared:
 * -ETIMEDOUT (never early), -ECANCELED, and -EDEADLK: at once if another reader
 * of the key already waits here (each would wait for the other; also with
 * LH_NO_DEADLOCK), or as lh_acquire(). -ESTALE: it expired meanwhile, or was
 * ended.
 */
int lh_convert_wait(struct lh *lh, struct lh_lease *lease, uint32_t mode,
    const struct lh_acquire_opts *opts);

/*
 * Robust keys.  A lease that was acquired with LH_ROBUST (exclusive, of a local
 * key) leaves a note on the key unless it is released: if its holder dies or
 * closes the attachment, if it expires, or if it is broken.  From then on each
 * acquire of the key, with LH_ROBUST or without, is granted with
 * LH_NOTE_INCONSISTENT. The holder may repair what the key guards, and then
 * ends the note with lh_mark_consistent(). A release without that leaves the
 * note to the next holder.
 *
 * This resembles robust mutexes (PTHREAD_MUTEX_ROBUST, EOWNERDEAD) except for
 * the last point.  A robust mutex that is unlocked without
 * pthread_mutex_consistent() is ENOTRECOVERABLE for ever; here the next holder
 * can still repair it.
 *
 * While the note exists, shared acquires are -ENOTRECOVERABLE, because a reader
 * repairs nothing, and the key is not evicted.  lh_destroy() removes the note
 * with the key.  Leases of robust keys take the slow path, and are not
 * converted to shared mode (-EINVAL).
 *
 * A thread's end does not end its leases, and so leaves no note.  A holder that
 * is killed in lh_handoff() may leave a note although the lease lives on.
 *
 * lh_mark_consistent() returns 0, and the note is gone from the lease as well.
 * -EINVAL: there is no note, or the lease is a reader's, or it is no lease.
 * -ESTALE: it is lost, and the note stays.  -EPERM: another session's.
 * -EAGAIN: another thread is changing the note.
 */
int lh_mark_consistent(struct lh *lh, struct lh_lease *lease);

/*
 * Checks whether this is the token of the key's present, unexpired lease (of
 * any of its readers), for a process that has only a key and a token.  Returns
 * 0 if it is; -ESTALE if not (also for an unknown key, and for a cluster key
 * that is not this host's now); -EINVAL (token 0 or >= 2^63, bad key),
 * -ENAMETOOLONG, -EUCLEAN.
 *
 * With -ESTALE lh_error_detail() says why: there is no such key, it is held
 * with another token, which is named, or that lease expired, was released or
 * broken, or ended with its holder.
 */
int lh_verify_token(struct lh *lh, const char *key, uint64_t token);

/*
 * Ends another process's lease, for operators: the one with that id and token
 * (from lh_status()), or, with NULL and 0, every lease on the key.  (Within one
 * table, ids repeat after millions of leases, tokens never do.) The holder is
 * not asked.  All its later calls with the lease are -ESTALE (G9), and the
 * resource should compare tokens: the next one is larger (G2), and comes with
 * LH_NOTE_PREVIOUS_BROKEN. Waits are not ended.
 *
 * Returns how many leases were ended: 0 if the key was not held.  Errors:
 *	-ENOENT: no such key;
 *	-ESTALE: the named lease does not hold the key, or is of another table;
 *	-EBUSY: the shim keeps that cluster key here, and no process of this
 *		host has it: end the lease on the host that has it (lh_status()
 *		names it);
 *	-EAGAIN: the key kept changing while it was read, try again;
 *	-EINVAL, -ENAMETOOLONG, -EUCLEAN, -EPERM (inherited over fork).
 */
int lh_break(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token);

/*
 * Asks a holder to release the key: the one with that id and token, or, with
 * NULL and 0, every one.  The holder decides what to do.  Its live handle gets
 * LH_EVENT_ASKED at once (within a second, if the handle was given a session
 * that does not end with its attachment); without one it may call
 * lh_lease_asked().
 *
 * Returns how many were asked: 0 if the key is not held; errors as lh_break().
 */
int lh_ask_release(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token);

/*
 * True (1) if a process has asked for the lease since the last call, or since
 * the live handle's event.  Returns 1 or 0; -ESTALE: lost or released; -EPERM;
 * -EINVAL. (A request from before lh_convert() is lost by it.)
 */
int lh_lease_asked(struct lh *lh, const struct lh_lease *lease);

/*
 * Ends every wait that was or will be given this switch, from any thread; the
 * calls return -ECANCELED. A second call is harmless.  A wait that is granted
 * in the same moment may return 0 instead.  Returns 0; -EINVAL.
 */
int lh_cancel(struct lh_cancel *cancel);

/*
 * Acquires a key, as lh_acquire(), and calls `watch` with `arg` while it waits:
 * every 20 ms, in this thread, without losing its place in the queue.  If watch
 * returns anything but 0, the wait ends with -ECANCELED. So a program can do in
 * time what it must do meanwhile, for example look whether a signal has come.
 *
 * watch may inspect the table (lh_status(), lh_explain()), and must not acquire
 * from it.  It is not called by a try (max_wait_ms 0).  A child that it forks
 * must exec or _exit in it: if it returns, it is aborted, because the wait is
 * its parent's.
 *
 * Returns as lh_acquire(); -EINVAL: watch is NULL.
 */
int lh_acquire_watched(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, int (*watch)(void *arg), void *arg,
    struct lh_lease *lease);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
