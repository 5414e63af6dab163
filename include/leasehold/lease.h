/* SPDX-License-Identifier: MIT */
/*
 * Leases: one grant each.
 *
 * struct lh_lease is yours: plain memory, written by a successful acquire and
 * presented to every later call.  Ownership goes with the lease (id and token),
 * not with thread or process: two acquires of one key conflict wherever they
 * come from.  It must be presented through the attachment that acquired it.
 *
 * Deadlocks.  A wait that is part of a circle of waits, each for a lease that
 * the next one's thread has, or for a place in a queue behind it, ends with
 * -EDEADLK: within 100 ms (p99, T6) of the moment at which the circle was
 * closed, and one wait of each circle: that of the lowest priority; of these
 * the one that began last (to the millisecond); of these the one with the
 * highest number.  Nothing else changes; what is held stays held.
 * lh_error_detail() tells the circle.
 *
 *	A lease counts as the thread's that acquired it, which is expected to
 *	release it.  Leases that another thread may release want LH_SHAREABLE,
 *	and are in no circle; nor are leases that end within 100 ms and are not
 *	being renewed: they dissolve it.  A thread that waits for a lease of its
 *	own (in any attachment) is a circle of one.  Waits with LH_NO_DEADLOCK
 *	are never ended so: they end with the deadlines, or when another one of
 *	the circle gives up.  Waits of less than 40 ms do not look, nor does a
 *	stopped process until it runs again.  Circles of more than 32 waits are
 *	not found.
 *
 * A lease ends by release, at its deadline, with its session, or when an
 * operator breaks it.  A lost lease is lost for good (G9).  expires_ns is up to
 * 8 ms (two ticks of a kernel's coarse clock at 250 Hz) before ttl_ms from now,
 * or 2 after it, or, of an extended one, 10.
 *
 * Cluster keys are those whose names begin with the table's cluster prefix
 * ("cluster:", unless it was made with another one).  They are had by one host
 * at a time, or shared by several, of all those whose leasehold-shimd is in the
 * same cluster; a host that has one lends it to its processes, one after the
 * other, at the price of a local key, until another host wants it.  All calls
 * are the same for them, and:
 *
 *	An acquire may have to wait for the cluster as well.  -EHOSTUNREACH: no
 *	shim runs here, or it cannot reach the cluster, or does not answer;
 *	-EACCES: the cluster does not let this host have it.  A try waits for
 *	the cluster's answer, for a second at most: -EHOSTUNREACH then.
 *	A lease ends when this host's session with the cluster does, if that is
 *	sooner than its deadline: that is what expires_ns says.  The session
 *	goes on, as a rule, and its end moves on with it, so that lh_verify()
 *	is true longer than expires_ns said; lh_extend() looks anew.
 *	Tokens are above 2^62, and rise over all hosts.
 *	Shared leases are not converted to exclusive where other hosts may read
 *	as well: -EAGAIN, also of lh_convert_wait().
 *	Priority is among the processes of a host; hosts have their turns as
 *	they come.  Circles of waits over several hosts are not found.
 *
 * Illegal: changing a field and presenting it again (refused, nothing changed).
 * Leaving a call by longjmp() from a signal handler: a place in a queue stays
 * behind, and the thread cannot be cancelled, until the thread's next acquire
 * that waits, its end, or its lh_close(); where the call had a cancellation
 * switch, or was lh_convert_wait() or lh_wait_free(), until the process ends.
 * Other processes pass the place over after 3 to 30 ms.
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
	LH_SHARED = 1		/* with other readers */
};

enum lh_scope {
	LH_EPHEMERAL = 0,	/* tokens grow while the table lives */
	LH_LOCAL = 1,		/* and through crash, reboot, power loss and
				 * re-creation of the table; -EOPNOTSUPP
				 * without a fence file.  With LH_ALL_LOCAL
				 * (table.h) every acquire is in it */
	LH_QUORUM = 2		/* cluster keys only (below), which have it
				 * always: else -EOPNOTSUPP */
};

/* Notes on a grant: how the holder before this one ended, if uncleanly. */
#define LH_NOTE_PREVIOUS_DIED		0x1u
#define LH_NOTE_PREVIOUS_EXPIRED	0x2u
#define LH_NOTE_PREVIOUS_BROKEN		0x4u

/* A holder with LH_ROBUST did not release the key, and since then nobody has
 * declared what it guards consistent: lh_mark_consistent(). */
#define LH_NOTE_INCONSISTENT		0x10u

/* Flags of an acquire, beside LH_NO_CREATE. */
#define LH_SHAREABLE	0x100u	/* other threads may release the lease: it is
				 * in no deadlock (below) */
#define LH_NO_DEADLOCK	0x200u	/* do not tell me of deadlocks: I wait for
				 * deadlines */

#define LH_ROBUST	0x2000u	/* if I do not release the key, tell those who
				 * hold it later: lh_mark_consistent() */

struct lh_lease {
	uint32_t notes;		/* LH_NOTE_... */
	uint16_t mode;		/* enum lh_mode */
	uint16_t opaque;	/* the library's */
	uint64_t id[2];		/* session, and a number unique in it; ids of
				 * another table, or of an earlier one of the
				 * name, are others: -ESTALE here */
	uint64_t token;		/* fence token: 1 .. 2^63 - 1 (G2) */
	int64_t acquired_ns;	/* table clock; up to 8 ms early */
	int64_t expires_ns;	/* table clock; the deadline others go by */
	uint64_t key;		/* which key, as the table numbers them */
};

/*
 * A switch that ends waits.  Yours to keep until every call that was given it
 * has returned; initialise with LH_CANCEL_INIT.
 */
struct lh_cancel {
	uint64_t opaque[4];
};

#define LH_CANCEL_INIT { { 0, 0, 0, 0 } }

#define LH_WAIT_FOREVER	INT64_MAX

/*
 * When a lease ends that is not released.
 *
 * Under strict the ttl means nothing, expires_ns is INT64_MAX, and lh_extend()
 * is 0 and changes nothing.  A process that is stopped, or hangs, keeps the
 * key: lh_break() is the way out.
 *
 * Under live a deadline is moved on by the ttl of the acquire; nobody tells the
 * holder, who may be told by lh_verify(), and need not extend while somebody
 * looks.  A lease that nobody wants, in a table without a reaper, ends at its
 * deadline when the next one comes.  Whoever looks must see the holder's
 * process run (the same pid namespace, /proc); else it is as under lease.  A
 * process runs while one of its threads can go on: sleeping and waiting for a
 * disk count, being stopped or traced to a stop do not, nor being frozen by a
 * control group (docker pause).  Where its groups cannot be seen, one that
 * waits in the kernel, or whose wait may not be read, is not seen to run.  In a
 * named session there is no such process: -EINVAL.
 */
enum lh_policy {
	LH_POLICY_LEASE = 0,	/* at its deadline */
	LH_POLICY_STRICT = 1,	/* with its session: it has no deadline */
	LH_POLICY_LIVE = 2	/* at its deadline; which is moved on by whoever
				 * wants the key, or the reaper, and sees its
				 * holder's process run before it */
};

#define LH_INFO_MAX 95

/*
 * What is seldom asked for.  Leases of such acquires go the longer way: some
 * hundred nanoseconds more, with a request id some microseconds.
 */
struct lh_acquire_more {
	size_t size;		/* sizeof(struct lh_acquire_more) */
	uint32_t policy;	/* enum lh_policy */
	uint32_t reserved;	/* 0 */
	struct lh_session *session; /* the lease lives in it and ends with it;
				 * NULL: in the attachment's own */
	uint64_t request[2];	/* request id (G10); 0, 0: none; see
				 * lh_release_request() */
	const char *info;	/* who asks, and what for, in words for people:
				 * up to LH_INFO_MAX bytes, shown with the lease
				 * and the wait (inspect.h); or NULL */
	const char *holder;	/* holder id, 1 .. 255 bytes, for counted
				 * re-entry; or NULL: none */
	const void *value;	/* the key's value from the grant on (value.h),
				 * not in shared mode; or NULL: it stays */
	size_t value_len;	/* up to 256 bytes; 0: it is cleared */
};

#define LH_ACQUIRE_MORE_INIT \
	{ sizeof(struct lh_acquire_more), 0, 0, NULL, { 0, 0 }, NULL, NULL, \
	    NULL, 0 }

/* A flag of an acquire: if it fails because others are in the way, look who
 * they are and what they do: lh_explain_last() (inspect.h). */
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
				 * clock, whatever max_wait_ms says */
	struct lh_cancel *cancel; /* or NULL */
	const struct lh_acquire_more *more; /* or NULL: nothing of that */
};

/* Exclusive, ttl 30 s, wait up to an hour. */
#define LH_ACQUIRE_OPTS_INIT \
	{ sizeof(struct lh_acquire_opts), 0, 0, 0, 0, 30000, 3600000, 0, \
	    NULL, NULL }

#define LH_TTL_MAX_MS	((int64_t)30 * 24 * 3600 * 1000)

/*
 * Acquire a lease on the key of that name (1..255 bytes), creating the key if
 * it is new.  opts NULL: the defaults above.
 *
 * 0 with *lease filled: the key is yours until lease->expires_ns (G1, G3), in
 * shared mode together with other readers.  The token is larger than every
 * earlier one of this key; a reader's is not smaller than any earlier exclusive
 * one and smaller than any later one (G2).  A queued writer of the same or a
 * higher priority keeps new readers out (G7).
 * -EAGAIN (try), -ETIMEDOUT (never before the wait is up), -ECANCELED,
 * -EOVERFLOW (the table is too old, or its tokens are used up: error.h),
 * -EDEADLK, -ENOENT (LH_NO_CREATE), -ENOSPC (keys or leases used up), -ESTALE
 * (table removed), -EUCLEAN, -EPERM (inherited over fork), -EOPNOTSUPP
 * (scopes), -EIO (a range of tokens is needed and could not be claimed on disk:
 * see lh_error_detail(); only in scope LH_LOCAL, and of keys that were once
 * acquired in it, which then stay bound to the disk in every scope),
 * -EHOSTUNREACH and -EACCES (cluster keys), -EINVAL, -ENAMETOOLONG.
 * Whatever is not 0 means: not acquired (G8).  Signals do not end the wait.
 */
int lh_acquire(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_lease *lease);

/*
 * End a lease.  Any thread of the attachment may.
 *
 * 0: it is free now, or this very struct had been released before (G10).
 * -ESTALE: it had been lost already; nobody else's lease was touched (G11).
 * -EPERM: another session's.  -EINVAL: not a lease.  A lease of another table,
 * or of an earlier one of the same name, is -ESTALE here and in all calls.
 */
int lh_release(struct lh *lh, struct lh_lease *lease);

/*
 * With a holder id an acquire of a key that the same holder of the same
 * attachment holds in the same mode is granted at once: it is the same lease,
 * with its token and its deadline, and has to be released once more: by any
 * copy of it, each struct once.  In the other mode: -EDEADLK (convert it
 * instead: it is the holder's all the same).  The count ends with the lease, if
 * that is lost, and does not leave the process.  Without an id every acquire is
 * a stranger's.  Not together with a request id.
 *
 * With a request id, 128 bits of your choice that are new for each request
 * (random ones will do), an acquire may be repeated: by who does not know what
 * came of it, by another thread, or, in a named session, by another process
 * after the first was killed.  The repeat is answered as the first was (G10):
 *	granted, and the lease is held	0, with the same id and token
 *	failed, within the last 60 s	the same error
 *	-EHOSTUNREACH		nothing was granted, and nothing is remembered:
 *				the repeat tries anew, and fails alike while
 *				the cluster is away
 *	granted, but the lease has ended	-ESTALE, for 60 s at least
 *	it waits still		the repeat waits for it within its own time,
 *				then -ETIMEDOUT (or -ECANCELED); a try: -EBUSY;
 *				and the first goes on
 *	another key's		-EINVAL
 * and is a new request when that is forgotten: 60 s after it ended; or earlier,
 * when the attachment has ended 1,024 others since, or the places for requests
 * in the table are used up (-ENOSPC: by those whose leases are held).  What was
 * refused before it was tried (-EINVAL, -EOPNOTSUPP, -ENOENT) was no request.
 * A lease that is converted or handed over is another one, and the request's
 * has ended.
 * A value that is set with it need not be there yet, if the first was killed.
 */

/*
 * End the lease that a request was granted: of the named session, or of the
 * attachment (NULL).
 *
 * 0: it is free now, or had been released within the last 60 s (G10); -ESTALE:
 * it had been lost; -ENOENT: the request is not known (any more), or got no
 * lease; -EBUSY: it waits still, cancel it first; -EINVAL; -EPERM.
 */
int lh_release_request(struct lh *lh, struct lh_session *session,
    const uint64_t request[2]);

/*
 * Move the deadline to ttl_ms from now; shorter than what is left is allowed.
 * Updates lease->expires_ns.
 *
 * 0; -EOVERFLOW: the table is too old, and the lease ends at the deadline that
 * it has; -ESTALE: lost (also when nobody has taken it yet: an expired lease is
 * never revived, G3), or released; -EPERM; -EINVAL (ttl out of range, not a
 * lease).
 */
int lh_extend(struct lh *lh, struct lh_lease *lease, int64_t ttl_ms);

/*
 * Is it still held, by the precise clock, now?  0 yes; -ESTALE lost or
 * released; -EPERM; -EINVAL.
 */
int lh_verify(struct lh *lh, const struct lh_lease *lease);

/*
 * Change the mode of a lease.  Down to LH_SHARED always works and lets waiting
 * readers in; up to LH_EXCLUSIVE only if no other reader lives.  Either way the
 * lease has a new id and token then (copies of the old struct are worth
 * nothing), the same deadline, and was never without the key.
 *
 * 0, *lease updated (also when it has that mode already: unchanged); -EAGAIN:
 * other readers hold it (or another thread is just converting this very lease,
 * or handing it over; or its tokens would have to jump further than they can
 * under a lease: doc/protocol.md, Tokens), the lease stays as it is; -ESTALE:
 * lost, or released; -EIO: as lh_acquire(), it stays as it is too; -EPERM;
 * -EINVAL: unknown mode, not a lease.
 */
int lh_convert(struct lh *lh, struct lh_lease *lease, uint32_t mode);

/*
 * The same, and up to LH_EXCLUSIVE waits until no other reader lives.  Of opts
 * (NULL: the defaults, up to an hour) count max_wait_ms, deadline_ns, cancel,
 * priority (as to deadlocks; no writer, of any priority, goes before a reader
 * that waits here) and LH_NO_DEADLOCK.  New readers stay out meanwhile (G7).
 * The lease goes on as it is, and may be extended meanwhile, by another thread.
 *
 * As lh_convert(), but for -EAGAIN, which is for max_wait_ms 0, or for tokens
 * that would have to jump; -ETIMEDOUT (never before the wait is up),
 * -ECANCELED; -EDEADLK, at once: another reader of the key waits here already
 * (each would wait for the other; also with LH_NO_DEADLOCK), or as
 * lh_acquire(): with all of these the lease stays shared.  -ESTALE: it ran out
 * meanwhile, or was ended.
 */
int lh_convert_wait(struct lh *lh, struct lh_lease *lease, uint32_t mode,
    const struct lh_acquire_opts *opts);

/*
 * Robust keys.  A lease that was acquired with LH_ROBUST (exclusive, of a local
 * key) leaves a note on the key unless it is released.  So it does when its
 * holder dies or closes the attachment, when it expires, or is broken.  From
 * then on each acquire of the key, with LH_ROBUST or without, is granted with
 * LH_NOTE_INCONSISTENT.  Its holder may repair what the key guards, and say so:
 * lh_mark_consistent() ends the note.  A release without that leaves the note
 * to the next holder.
 *
 * That is as robust mutexes are (PTHREAD_MUTEX_ROBUST, EOWNERDEAD), but for the
 * last.  A robust mutex that is unlocked without pthread_mutex_consistent() is
 * ENOTRECOVERABLE for ever; here the next holder can still repair it.
 *
 * While the note stands, shared acquires are -ENOTRECOVERABLE, because a reader
 * repairs nothing, and the key is not evicted.  lh_destroy() forgets the note
 * with the key.  Leases of robust keys go the longer way, and are not converted
 * to shared mode (-EINVAL).
 *
 * A thread's end does not end its leases, and so leaves no note.  A holder that
 * is killed in lh_handoff() may leave a note though the lease lives on.
 *
 * lh_mark_consistent(): 0, and the note is gone from the lease as well.
 * -EINVAL: there is no note, or the lease is a reader's, or it is none.
 * -ESTALE: it is lost, and the note stands.  -EPERM: another session's.
 * -EAGAIN: another thread is changing the note.
 */
int lh_mark_consistent(struct lh *lh, struct lh_lease *lease);

/*
 * For those who hold only a key and a token: is this the token of the key's
 * present, unexpired lease (of any of its readers)?  0 yes; -ESTALE no (also
 * for an unknown key, and for a cluster key that is not this host's now);
 * -EINVAL (token 0 or >= 2^63, bad key), -ENAMETOOLONG, -EUCLEAN.
 */
int lh_verify_token(struct lh *lh, const char *key, uint64_t token);

/*
 * End somebody else's lease, for operators: the one with that id and token
 * (lh_status() tells both), or, with NULL and 0, every lease on the key.  (Of
 * one table, ids come again after millions of leases, tokens never do.)  The
 * holder is not asked; whatever it does with the lease from then on is -ESTALE
 * (G9), and what it guards should look at tokens: the next one is larger (G2),
 * and comes with LH_NOTE_PREVIOUS_BROKEN.  Waits are not ended.
 *
 * How many leases were ended: 0 if nobody held the key; -ENOENT: no such key;
 * -ESTALE: what is named holds nothing, or is of another table; -EAGAIN: it
 * does not hold still, try again; -EINVAL, -ENAMETOOLONG, -EUCLEAN, -EPERM
 * (inherited over fork).
 */
int lh_break(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token);

/*
 * Ask a holder to release the key: the one with that id and token, or, with
 * NULL and 0, every one.  Nothing else happens: it is up to the holder, whose
 * live handle is told at once (LH_EVENT_ASKED), and who may call
 * lh_lease_asked() otherwise.
 *
 * How many were asked: 0 if nobody held the key; errors as lh_break().
 */
int lh_ask_release(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token);

/*
 * Has anybody asked for it, since this was last called or the live handle was
 * told?  1 yes, 0 no; -ESTALE lost or released; -EPERM; -EINVAL.  (What was
 * asked before lh_convert() is not heard after it.)
 */
int lh_lease_asked(struct lh *lh, const struct lh_lease *lease);

/*
 * End every wait that was or will be given this switch, from any thread; the
 * calls return -ECANCELED.  Twice is harmless.  A wait that is granted in the
 * same moment may return 0 instead.  0; -EINVAL.
 */
int lh_cancel(struct lh_cancel *cancel);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
