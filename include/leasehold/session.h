/* SPDX-License-Identifier: MIT */
/*
 * Named sessions, and leases that move to another session.
 *
 * A named session has a name instead of a process.  It lives for its ttl from
 * its last renewal, whatever became of its maker.  Leases that are acquired
 * into it (lh_acquire_more.session), or handed over to it, live in it: they end
 * when it ends, and their own deadlines count as well.  They may be presented
 * (released, extended, verified, converted, handed on) through any attachment
 * to the table, because ownership is id and token.
 *
 *	struct lh_session *s;
 *	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
 *	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
 *
 *	lh_session_open(lh, "build-42", NULL, &s);	// 15 s
 *	m.session = s;
 *	o.more = &m;
 *	lh_acquire(lh, "disk-3", &o, &lease);
 *	...			lh_session_renew(s), every 7 s or sooner;
 *				or lh_session_keep(s, 1), once
 *	lh_session_destroy(s);				// the key is free
 *	lh_session_close(s);
 *
 * Any number of processes may use it at once, each with a handle of its own;
 * and any number of threads, a handle.
 *
 * Illegal: using a handle after lh_close() of its attachment (except
 * lh_session_close(), which may follow), -EINVAL; or in a forked child.
 */
#ifndef LEASEHOLD_SESSION_H
#define LEASEHOLD_SESSION_H

#include <leasehold/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LH_SESSION_NAME_MAX	31
#define LH_SESSION_TTL_MAX_MS	LH_TTL_MAX_MS
#define LH_LOCK_DELAY_MAX_MS	INT64_C(600000)

/* The fate of its keys at its end. */
enum lh_on_end {
	LH_ON_END_RELEASE = 0,	/* they become free */
	LH_ON_END_DELETE = 1	/* and are removed, as by lh_destroy(),
				 * unless others want them */
};

/* lh_session_opts.flags, in addition to LH_NO_CREATE and LH_CREATE_ONLY: */
#define LH_SESSION_WITH_MAKER 0x10000u	/* it ends with this attachment, too */

struct lh_session_opts {
	size_t size;		/* sizeof(struct lh_session_opts) */
	uint32_t flags;
	uint32_t on_end;	/* enum lh_on_end */
	int64_t ttl_ms;		/* 100 ms .. 30 days */
	int64_t lock_delay_ms;	/* 0 .. 10 min: after an end that was neither
				 * lh_session_destroy() nor its maker's
				 * lh_close(), a key that it held exclusively
				 * is not granted before that time has passed */
	int32_t pid;		/* not 0: bound to that process: see below */
	uint32_t reserved;
};

/* ttl 15 s, no lock-delay, keys are released. */
#define LH_SESSION_OPTS_INIT \
	{ sizeof(struct lh_session_opts), 0, 0, 15000, 0, 0, 0 }

/*
 * Opens the living session of that name (1..31 bytes), and renews it; or makes
 * it, if there is none.  For an existing one the options except flags are
 * ignored: lh_session_info() returns those in force.  name NULL: makes one with
 * an unused name.
 *
 * With `pid` it is bound to that process, as numbered here: it has no ttl,
 * needs no renewal, and ends when that process does.  A later process of the
 * same number does not count.  An existing session is opened only if it is
 * bound to that process, also with LH_NO_CREATE.  That process need not know
 * the table; it may be a shell script.  Other processes of its pid namespace
 * see its end, also before it has been waited for.  From elsewhere the session
 * lives until it is destroyed.  Leases of policy lease (the default) end at
 * their own deadlines as well, so acquire with LH_POLICY_STRICT.  ttl_ms is
 * ignored.
 *
 * Returns 0 with *out to be closed, or
 *	-ENOENT: LH_NO_CREATE, and there is none;
 *	-EEXIST: LH_CREATE_ONLY, and there is one; pid: it is not bound to that
 *	process;
 *	-ESRCH: pid: there is no such process; -EXDEV: pid: /proc does not show
 *	it; -EOPNOTSUPP: pid: the kernel has no pidfd_open();
 *	-ENOSPC: session records are used up;
 *	-EAGAIN: others keep making and ending it;
 *	-ESTALE: table removed; -EPERM: inherited over fork;
 *	-ENAMETOOLONG, -EINVAL, -ENOMEM, -EMFILE, -ENFILE, -EUCLEAN.
 */
int lh_session_open(struct lh *lh, const char *name,
    const struct lh_session_opts *opts, struct lh_session **out);

/*
 * Renews it for its ttl from now on.  (Of many renewals at once, by whichever
 * process, one a millisecond goes on; the others wait for that.)  Returns the
 * ttl in force, in ms; 0: it is bound to a process, and needs no renewal;
 * -ESTALE: it has ended (also if no process had noticed: then it has ended now,
 * G3); -EPERM, -EINVAL. The leases on cluster keys in it end with this host's
 * right all the same: see `lost` of lh_session_info().
 */
int64_t lh_session_renew(struct lh_session *s);

/*
 * With `on`, a thread of this process, the one of live handles, renews it at
 * ttl/2 from now on, until the handle is closed, or the session has ended; its
 * next use returns that error.  Without, that stops.  In both cases it is
 * renewed now.  Returns 0; -ESTALE: it has ended; -ENOMEM, -EPERM, -EINVAL.
 */
int lh_session_keep(struct lh_session *s, int on);

/*
 * Ends it, and its leases.  When this returns, their keys are free, without a
 * note, but for those acquired with LH_ROBUST (lease.h).  (If keys are to be
 * removed, they are, unless a process that is stopped while taking a key into
 * the session delays that.)  Returns 0: it has ended by this call, or by an
 * earlier one; -ESTALE: it had ended otherwise; -EPERM, -EINVAL, -EUCLEAN.
 */
int lh_session_destroy(struct lh_session *s);

/* Closes the handle; the session goes on.  Does nothing if it is NULL, or
 * closed. */
void lh_session_close(struct lh_session *s);

/* A named session. */
struct lh_session_info {
	size_t size;		/* sizeof(struct lh_session_info) */
	uint64_t id;		/* first half of its leases' ids; of this
				 * table's session alone */
	char name[LH_SESSION_NAME_MAX + 1];
	int64_t ttl_ms;		/* 0: bound: it ends with process `pid` */
	int64_t lock_delay_ms;
	int64_t expires_ns;	/* table clock: unless it is renewed; bound:
				 * INT64_MAX */
	int64_t made_ns;	/* table clock */
	uint64_t maker;		/* session that it ends with, too; 0: none */
	uint32_t on_end;	/* enum lh_on_end */
	uint32_t pid, uid;	/* of its maker; bound: pid of its process */
	uint32_t leases;	/* that it holds, about now */
	uint32_t foreign;	/* 1: bound, and `pid` counts in another pid
				 * namespace than the caller's: its end is not
				 * seen from here */
	uint32_t lost;		/* further leases of it, on cluster keys, that
				 * ended with this host's right to the key, and
				 * are still in the table */
};

/* Describes the session. Returns 0; -ESTALE: it has ended; -EPERM, -EINVAL. */
int lh_session_info(const struct lh_session *s, struct lh_session_info *info);

/*
 * Calls fn with every living named session whose name begins with prefix (NULL
 * or "": all), in no particular order.  fn may use the table, and ends the
 * listing with a result other than 0. (Its leases: those in lh_list() whose id
 * begins with the session's.) Returns 0 or what fn returned; -EINVAL, -EPERM.
 */
int lh_session_list(struct lh *lh, const char *prefix,
    int (*fn)(const struct lh_session_info *info, void *arg), void *arg);

/*
 * Hands a lease over: to a named session, or (NULL) to this attachment, from
 * any session, because ownership is id and token.  The key is never free in
 * between (G1). The lease then has a new id and token, and the same deadline,
 * mode and notes; copies of the old struct are no longer valid (G11).
 *
 * Returns 0, *lease updated; -ESTALE: it was lost, or released.  With all other
 * errors the lease is as it was:
 *	-ENOENT: that session has ended;
 *	-EAGAIN: readers come and go too fast, or its tokens would have to jump
 *	(see lh_convert());
 *	-EINVAL: also for a named session, under policy live, which needs a
 *	process that can be seen to run;
 *	-ENOSPC, -ENOMEM, -EIO; -EPERM: inherited over fork.
 */
int lh_handoff(struct lh *lh, struct lh_lease *lease, struct lh_session *to);

/*
 * Fills in a lease from the table, for a caller that has kept key, id and
 * token, but not the struct.  Returns 0; -ESTALE: that lease does not hold the
 * key any more, or is of another table (or an earlier one of the name);
 * -ENOENT: no such key; -EINVAL, -ENAMETOOLONG, -EUCLEAN, -EPERM.
 */
int lh_lease_recall(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token, struct lh_lease *lease);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
