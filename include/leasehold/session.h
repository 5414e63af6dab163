/* SPDX-License-Identifier: MIT */
/*
 * Named sessions, and leases that change hands.
 *
 * A named session has a name instead of a process.  It lives for its ttl from
 * its last renewal, whoever made it and whatever became of that; leases that
 * are acquired into it (lh_acquire_more.session), or handed over to it, live in
 * it: they end when it ends, and their own deadlines count as well.  They may
 * be presented (released, extended, verified, converted, handed on) through any
 * attachment to the table: id and token are the ownership.
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
 * It is used by any number of processes at once, each with a handle of its own;
 * a handle, by any number of threads.
 *
 * Illegal: using a handle after lh_close() of its attachment (but for
 * lh_session_close(), which may come later), -EINVAL; or in a forked child.
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

/* What becomes of the keys that it holds at its end. */
enum lh_on_end {
	LH_ON_END_RELEASE = 0,	/* they are free */
	LH_ON_END_DELETE = 1	/* and forgotten, as by lh_destroy(), where
				 * nobody else wants them */
};

/* lh_session_opts.flags, beside LH_NO_CREATE and LH_CREATE_ONLY: */
#define LH_SESSION_WITH_MAKER 0x10000u	/* it ends with this attachment, too */

struct lh_session_opts {
	size_t size;		/* sizeof(struct lh_session_opts) */
	uint32_t flags;
	uint32_t on_end;	/* enum lh_on_end */
	int64_t ttl_ms;		/* 100 ms .. 30 days */
	int64_t lock_delay_ms;	/* 0 .. 10 min: after an end that was not
				 * lh_session_destroy(), nobody is granted a key
				 * that it held exclusively before that time has
				 * passed */
	int32_t pid;		/* not 0: bound to that process: see below */
	uint32_t reserved;
};

/* ttl 15 s, no lock-delay, keys are released. */
#define LH_SESSION_OPTS_INIT \
	{ sizeof(struct lh_session_opts), 0, 0, 15000, 0, 0, 0 }

/*
 * Open the living session of that name (1..31 bytes), and renew it; or make it,
 * if there is none.  Of an existing one the options but flags are not looked
 * at: lh_session_info() tells those in force.  name NULL: make one, with a name
 * that nobody has.
 *
 * With `pid` it is bound to that process, as this one counts processes: it has
 * no ttl, is renewed by nobody, and ends when that process does, whoever made
 * it.  Nobody takes a later process of the same number for it.  That process
 * need not know the table: a shell script, for one.  Its end is seen by others
 * of its pid namespace, also before anybody has waited for it; elsewhere the
 * session lives until it is destroyed.  Leases of policy lease (the default)
 * end at their own deadlines as well, so acquire with LH_POLICY_STRICT.  ttl_ms
 * is not looked at.
 *
 * 0 with *out to be closed; -ENOENT (LH_NO_CREATE: there is none), -EEXIST
 * (LH_CREATE_ONLY: there is one; pid: it is not bound to that process), -ESRCH
 * (pid: there is no such process), -EXDEV (pid: /proc does not show it),
 * -EOPNOTSUPP (pid: the kernel has no pidfd_open()), -ENOSPC (session records
 * are used up), -EAGAIN (others make and end it all the time), -ESTALE (table
 * removed), -ENAMETOOLONG, -EINVAL, -ENOMEM, -EMFILE, -ENFILE, -EUCLEAN, -EPERM
 * (inherited over fork).
 */
int lh_session_open(struct lh *lh, const char *name,
    const struct lh_session_opts *opts, struct lh_session **out);

/*
 * It lives for its ttl from now on.  The ttl in force, in ms; 0: it is bound to
 * a process, and needs no renewal; -ESTALE: it has ended (also if nobody had
 * noticed: then it has now, G3); -EPERM, -EINVAL.
 */
int64_t lh_session_renew(struct lh_session *s);

/*
 * on: from now on a thread of this process, the one of live handles, renews it
 * at ttl/2, until the handle is closed, or the session has ended, which its
 * next use tells.  Not on: nobody does any more.  Either way it is renewed now.
 * 0; -ESTALE: it has ended; -ENOMEM, -EPERM, -EINVAL.
 */
int lh_session_keep(struct lh_session *s, int on);

/*
 * End it, and its leases: their keys are to be had, without a note, when this
 * returns (and forgotten, if so wished, unless a process that is stopped in the
 * midst of taking a key into the session keeps that waiting).  0: it has ended
 * by this, or had by an earlier one; -ESTALE: it had ended otherwise; -EPERM,
 * -EINVAL, -EUCLEAN.
 */
int lh_session_destroy(struct lh_session *s);

/* Give the handle back.  The session goes on.  Nothing, if it is NULL, or
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
};

/* 0; -ESTALE: it has ended; -EPERM, -EINVAL. */
int lh_session_info(const struct lh_session *s, struct lh_session_info *info);

/*
 * Every living named session whose name begins with prefix (NULL or "": every
 * one), in no particular order; fn may use the table, and ends the listing with
 * what is not 0.  (Its leases: those in lh_list() whose
 * id begins with the session's.)  0 or what fn returned; -EINVAL, -EPERM.
 */
int lh_session_list(struct lh *lh, const char *prefix,
    int (*fn)(const struct lh_session_info *info, void *arg), void *arg);

/*
 * Hand a lease over: to a named session, or (NULL) to this attachment, from
 * wherever it may have come, by any way; id and token are the ownership.  The
 * key is never free in between (G1).  The lease has a new id and token then,
 * the same deadline, mode and notes; copies of the old struct are worth nothing
 * (G11).
 *
 * 0, *lease updated; -ESTALE: it was lost, or released; -ENOENT: that session
 * has ended, and the lease is as it was;
 * -EAGAIN: readers come and go too fast, or its tokens would have to
 * jump (see lh_convert()): the lease is as it was; so it is with -ENOSPC,
 * -ENOMEM, -EIO, -EINVAL (also: to a named session, under policy live, which is
 * for a process that can be seen to run), -EPERM (inherited over fork).
 */
int lh_handoff(struct lh *lh, struct lh_lease *lease, struct lh_session *to);

/*
 * For who has kept key, id and token of a lease, but not the struct: fill it in
 * from the table.  0; -ESTALE: that lease holds the key no more, or is of
 * another table (or an earlier one of the name); -ENOENT: no such key; -EINVAL,
 * -ENAMETOOLONG, -EUCLEAN, -EPERM.
 */
int lh_lease_recall(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token, struct lh_lease *lease);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
