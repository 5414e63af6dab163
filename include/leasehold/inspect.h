/* SPDX-License-Identifier: MIT */
/*
 * Holders and waiters of keys, with their times.
 *
 * Reports are snapshots: true at some moment during the call for each key by
 * itself.  A lease that is past its deadline, or whose process is dead, is not
 * reported as held: the call first frees it, for all (G3).
 */
#ifndef LEASEHOLD_INSPECT_H
#define LEASEHOLD_INSPECT_H

#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LH_APPLICATION_MAX 31

/* A holder or waiter, as it described itself. */
struct lh_party {
	uint64_t id[2];		/* lease id; a waiter's is its wait's own */
	uint32_t pid;		/* in the pid namespace that it attached from */
	uint32_t tid;		/* 0: no particular thread */
	uint32_t uid;
	uint32_t mode;		/* enum lh_mode */
	uint32_t priority;
	uint32_t rank;		/* waiters: 1 is next; holders: 0 */
	int64_t since_ns;	/* acquired, or began to wait; table clock */
	int64_t expires_ns;	/* holders: deadline, or the end of the named
				 * session if that comes first; INT64_MAX:
				 * neither, under policy strict; waiters: 0; of
				 * a cluster key not after the host's right */
	uint64_t token;		/* holders: the lease's; waiters: 0 */
	char application[LH_APPLICATION_MAX + 1];
	uint64_t request[2];	/* its request id; 0, 0: none */
	char info[LH_INFO_MAX + 1]; /* its own words; or "" */
	uint32_t policy;	/* holders: enum lh_policy; waiters: 0 */
	uint32_t flags;		/* LH_PARTY_... */
	/* set by lh_explain() alone: */
	uint32_t run;		/* enum lh_run */
	uint32_t waits_pid;	/* not 0: that process waits, a job of a `run`
				 * that is the holder, or one that acquires into
				 * the session that is; else the holder's thread
				 * does, */
	int64_t waits_since_ns;	/* holders: since then, */
	const char *waits_for;	/* for this key; NULL: it does not */
};

/* lh_party.flags */
#define LH_PARTY_SHAREABLE 0x1u	/* a lease that belongs to no single thread */
#define LH_PARTY_SUSPECT 0x2u	/* a wait that is passed over: it did not
				 * take a free key when it was first */
#define LH_PARTY_STARVING 0x4u	/* a wait that is not overtaken any more */
#define LH_PARTY_SESSION 0x8u	/* a lease in a named session (session.h): that
				 * is what application names, and pid who made
				 * it */
#define LH_PARTY_UPGRADE 0x10u	/* a reader's wait for an upgrade */
#define LH_PARTY_ENDS_WITH_SESSION 0x20u /* expires_ns is when the named session
				 * ends, unless that is renewed */
#define LH_PARTY_BOUND 0x40u	/* with LH_PARTY_SESSION: that lives as long as
				 * process `pid`, and is not renewed */

#define LH_PARTY_FOR_CLUSTER 0x80u /* the shim, which keeps a cluster key in
				 * this table: no process of this host has it */
#define LH_PARTY_ENDS_WITH_RIGHT 0x100u /* expires_ns is when this host's right
				 * to the cluster key ends, unless the cluster
				 * confirms that again, as it mostly does */
#define LH_PARTY_RIGHT_ENDED 0x200u /* a lease of a cluster key that ended with
				 * this host's right, at expires_ns (0: when is
				 * not known): nobody here holds the key by it,
				 * and another host may have the key */

#define LH_PARTY_FOREIGN 0x10000u /* pid and tid are numbers of another pid
				 * namespace than the caller's */

/* The run state of a thread, or its process. */
enum lh_run {
	LH_RUN_UNSEEN = 0,	/* not asked, or not to be seen from here: it
				 * is in another pid namespace */
	LH_RUN_RUNNING = 1,
	LH_RUN_SLEEPING = 2,
	LH_RUN_BLOCKED = 3,	/* in the kernel, where no signal reaches it */
	LH_RUN_STOPPED = 4,	/* by a signal, or by a debugger */
	LH_RUN_DEAD = 5,
	LH_RUN_FROZEN = 6,	/* by its control group */
	LH_RUN_INHERITED = 7	/* it has ended, and a process that it started
				 * keeps its session, and what that holds */
};

/* The right of this host to a key. */
enum lh_cluster_right {
	LH_CLUSTER_LOCAL = 0,	/* not a cluster key */
	LH_CLUSTER_NONE = 1,	/* a cluster key; no right: its processes
				 * wait */
	LH_CLUSTER_SHARED = 2,	/* share it; other hosts may as well */
	LH_CLUSTER_EXCLUSIVE = 3
};

/* Whether other hosts have a cluster key, which this table does not show. */
enum lh_others {
	LH_OTHERS_UNASKED = 0,	/* not a cluster key; or lh_list(), which does
				 * not ask the cluster */
	LH_OTHERS_NONE = 1,
	LH_OTHERS_HOLD = 2,	/* another host has it, whether or not it is in
				 * use there at the moment */
	LH_OTHERS_UNKNOWN = 3	/* the cluster did not answer in time */
};

/* A key with its holders and waiters. */
struct lh_key_info {
	size_t size;		/* sizeof(struct lh_key_info) */
	const char *key;
	uint64_t token;		/* of the latest grant */
	uint32_t mode;		/* enum lh_mode, of the present holders */
	uint32_t n_holders;	/* in this table; 0: free, unless it is a
				 * cluster key that others have.  (Those with
				 * LH_PARTY_FOR_CLUSTER or LH_PARTY_RIGHT_ENDED
				 * do not hold it.) */
	uint32_t n_waiters;
	const struct lh_party *holders;	/* n_holders of them */
	const struct lh_party *waiters;	/* n_waiters, in the order in which
					 * they will be granted */
	uint32_t scope;		/* enum lh_scope: LH_LOCAL once it was granted,
				 * or asked for, in that */
	uint32_t value_len;	/* bytes of its value (value.h); 0: none */
	uint32_t rank;		/* of the first wait of this attachment here
				 * (lh_explain_last(): of that wait); 0: none */
	uint32_t moved;		/* 1: it did not hold still: each part was true
				 * when it was read, but perhaps at no moment
				 * all of it */
	int64_t delayed_ns;	/* free, but nobody gets it for so long: a named
				 * session that held it ended uncleanly */
	uint32_t cluster;	/* enum lh_cluster_right */
	uint32_t inconsistent;	/* 1: a holder with LH_ROBUST did not release
				 * it, and nobody has declared what it guards
				 * consistent (lh_mark_consistent()) */
	int64_t cluster_left_ns; /* this host has its right for so long, if it
				 * does not go on having it, as it mostly does;
				 * 0: it has none */
	const char *elsewhere;	/* a cluster key: which hosts have it, in words,
				 * as the shim says, or why it does not
				 * (lh_status() and lh_explain() ask it); or
				 * NULL */
	uint32_t others;	/* enum lh_others */
};

/* Called with each key; the data is valid during the call only.  A result other
 * than 0 ends the listing and becomes its result.  It may use the table. */
typedef int (*lh_key_fn)(const struct lh_key_info *info, void *arg);

/*
 * Lists every key whose name begins with prefix (NULL or "": all), in no
 * particular order.  Returns 0 or what fn returned; -EINVAL, -ENOMEM, -EUCLEAN,
 * -EPERM.
 */
int lh_list(struct lh *lh, const char *prefix, lh_key_fn fn, void *arg);

/*
 * Reports one key.  With id not NULL, fn is called only if that lease holds the
 * key.  Of a cluster key the shim is asked as well, for a second at most; then
 * one that the table does not know is reported, too, if another host has it, or
 * if that is not known.  Returns 0 or what fn returned; -ENOENT: no such key;
 * -ESTALE: id is given and holds nothing; -EINVAL, -ENAMETOOLONG, -ENOMEM,
 * -EUCLEAN, -EPERM;
 * -EAGAIN (also of lh_list()): readers come and go too fast to be counted.
 */
int lh_status(struct lh *lh, const char *key, const uint64_t id[2],
    lh_key_fn fn, void *arg);

/*
 * The same, with what the processes around the key do: whether they run, and
 * what the holding threads wait for in turn.  (Run states of the first 256,
 * waits of the first 64 holders.) These are read after the rest, so they are of
 * a slightly later time.  Costs some 10 us for each.  Errors as lh_status().
 */
int lh_explain(struct lh *lh, const char *key, lh_key_fn fn, void *arg);

/*
 * Returns why this thread's last acquire with LH_EXPLAIN in its flags was not
 * granted, if it returned -EAGAIN, -ETIMEDOUT, -ECANCELED or -EDEADLK; else
 * NULL. The report is the one of lh_explain() at the moment when it gave up
 * (its own wait is still in the queue). Of many keys: the one that was waited
 * for.  Tickets keep none.  Times are those of its table's clock.  Valid until
 * the thread's next acquire with LH_EXPLAIN.
 */
const struct lh_key_info *lh_explain_last(void);

/*
 * A histogram of times: class i counts those below its bound that are in no
 * class before it; the last has no bound.  In microseconds.
 */
#define LH_HISTOGRAM 20
#define LH_WAIT_BOUND_US(i) (UINT64_C(8) << (i))	/* 8 us ... 2.1 s */
#define LH_HOLD_BOUND_US(i) (UINT64_C(1024) << (i))	/* 1 ms ... 268 s */

/*
 * Counters, since the table was made or the session began.
 *
 * `acquired` is exact, except that calls under way, and those during which a
 * process was killed, may be counted.  `shared` and `extends` lag: each thread
 * adds its own counts once in a tick of the coarse clock (4 ms) in which it
 * does anything, and when it waits, ends or detaches.  Counts that a killed
 * process had not added are lost.  A crash at the wrong instruction may lose
 * some of the others.
 */
struct lh_counters {
	uint64_t acquired;	/* grants in either mode */
	uint64_t shared;	/* those of them in shared mode */
	uint64_t barges;	/* those that overtook a waiter */
	uint64_t waits;		/* begun, because the key was not free */
	uint64_t waited;	/* that ended in a grant */
	uint64_t busy;		/* tries that failed */
	uint64_t timeouts, cancelled, deadlocks;	/* others that did */
	uint64_t retired;	/* others, because the table was removed */
	uint64_t extends, converts;
	/* leases that were ended, and why; in a session's counters by it */
	uint64_t expired_own;	/* past the deadline, seen by their session */
	uint64_t expired_others; /* the same, seen by another */
	uint64_t died;		/* their process did */
	uint64_t broken;	/* by an operator */
	uint64_t told_lost;	/* calls that reported a loss to a holder */
	uint64_t deaths;	/* sessions that were found dead */
	uint64_t completions;	/* changes that others had left half done */
	uint64_t keys_made, evictions;
	uint64_t away;		/* acquires of cluster keys that failed
				 * because the cluster could not be reached */
	uint64_t blind;		/* checks whether a process lives that could
				 * not be made, because the descriptor was
				 * lost */
	uint64_t wait_us;	/* of `waited`, together */
	uint64_t wait[LH_HISTOGRAM];
	/* only for a table, and only if it was made with LH_HOLD_TIMES: */
	uint64_t held;		/* leases that were released */
	uint64_t hold_us;	/* together; by the coarse clock */
	uint64_t hold[LH_HISTOGRAM];
};

/* OpenSSL 3 has a macro of that name, for programs that are older than it:
 * include <leasehold.h> after its headers. */
#ifdef lh_stats
#undef lh_stats
#endif

/* Whether the fence directory still has the table's latest range, as this
 * attachment found it. */
enum lh_fence_lost {
	LH_FENCE_THERE = 0,	/* or there is no fence file */
	LH_FENCE_REPLACED = 1,	/* it was missing when the table was opened, and
				 * a higher range has been claimed: no token
				 * repeats while the table's memory lasts */
	LH_FENCE_LOST = 2	/* it is missing, and none can be claimed:
				 * acquires in scope local are -EIO */
};

/* The table as a whole. */
struct lh_stats {
	size_t size;		/* sizeof(struct lh_stats), set by the caller */
	uint32_t max_keys, keys;
	uint32_t max_sessions, sessions;	/* attached, alive or dead */
	uint32_t max_leases, leases_reserved;	/* by sessions, 64 each */
	uint32_t order;		/* enum lh_order */
	uint32_t damaged;	/* 1: damage has been seen */
	uint64_t bytes;		/* of shared memory, at most */
	uint64_t token_base;	/* tokens of this table are above it */
	uint64_t token_ceiling;	/* and below this, which moves on by itself */
	uint64_t bytes_used;	/* of those, backed by memory; 0: not known */
	uint64_t token_latest;	/* the largest known to have been given, but to
				 * cluster keys */
	uint32_t clock;		/* enum lh_clock */
	uint32_t hold_times;	/* 1: made with LH_HOLD_TIMES */
	uint64_t token_durable;	/* tokens below it are claimed on disk, and no
				 * key in scope local has others; 0: there is
				 * no fence file */
	char fence_dir[256];	/* where that is; "" */
	struct lh_counters counters;
	uint32_t reaper_pid;	/* the daemon that serves it; 0: none */
	uint32_t reaper_ms;	/* how long ago it last ran: it runs 25 times
				 * a second */
	uint32_t log_grants;	/* 1: every lease is recorded (log.h) */
	uint32_t tokens_global;	/* 1: made with LH_TOKENS_GLOBAL */
	uint32_t fence_lost;	/* files of the fence directory were lost: see
				 * enum lh_fence_lost */
	uint32_t deaths_told;	/* the number of sessions whose processes'
				 * death the kernel reports to waiters; the
				 * death of others is noticed within 20 ms */
	int64_t life_left_ns;	/* for so long it can still grant and extend
				 * leases: nine years from its making; 0: no
				 * longer, -EOVERFLOW */
	uint32_t held;		/* keys that are held on this host */
	uint32_t waiters;	/* waits for all keys */
	int64_t longest_wait_ns; /* the oldest of these waits has lasted so
				 * long; 0: there is none */
};

/* Reads the counters and sizes. Returns 0; -EINVAL, -EPERM; -EUCLEAN: this is
 * no table any more (removed by force and erased, truncated, overwritten), and
 * nothing is held in it. */
int lh_stats(struct lh *lh, struct lh_stats *stats);

/* One session of it. */
struct lh_session_stats {
	size_t size;		/* sizeof(struct lh_session_stats) */
	uint64_t id;		/* first half of its leases' ids */
	uint32_t pid;		/* in the pid namespace that it attached from */
	uint32_t uid;
	uint32_t dead;		/* 1: it is known to be, and not yet cleared */
	uint32_t leases_reserved;
	int64_t attached_ns;	/* table clock */
	char application[LH_APPLICATION_MAX + 1];
	struct lh_counters counters;
};

/*
 * Calls fn with every session, in no particular order; as for lh_list(), fn may
 * use the table, and ends the listing with a result other than 0. Returns 0 or
 * what fn returned; -EINVAL, -EPERM.
 */
int lh_stats_sessions(struct lh *lh,
    int (*fn)(const struct lh_session_stats *session, void *arg), void *arg);

/*
 * Reads the counters of the shim (leasehold-shimd), which serves the table's
 * cluster keys: calls fn once, with a text in the format of Prometheus, valid
 * during the call.
 *
 * Returns 0; -EHOSTUNREACH: there is no shim, or it does not answer within a
 * second; -EPROTO, -EINVAL, -ENOMEM, -EMFILE, -EPERM.
 */
int lh_shim_stats(struct lh *lh, void (*fn)(const char *text, void *arg),
    void *arg);

/*
 * Checks the whole table.  Calls fn (may be NULL) with a sentence for each
 * finding.  Takes no lock and may run at any time; a finding that is only a
 * change under way is checked twice and dropped.  Returns the number of
 * findings; or -EIO: the table is sound, but its fence directory cannot be
 * used, and acquires in scope local fail until it can (lh_error_detail() says
 * why); -EINVAL, -EPERM.
 */
int lh_check(struct lh *lh, void (*fn)(const char *finding, void *arg),
    void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
