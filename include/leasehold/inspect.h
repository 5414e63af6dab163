/* SPDX-License-Identifier: MIT */
/*
 * Who holds what, who waits, and since when.
 *
 * Reports are snapshots: true at some moment during the call for each key by
 * itself.  A lease that is past its deadline, or whose process is dead, is not
 * reported as held: the question frees it first, for everyone (G3).
 */
#ifndef LEASEHOLD_INSPECT_H
#define LEASEHOLD_INSPECT_H

#include <leasehold/lease.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LH_APPLICATION_MAX 31

/* A process behind a lease or a wait, as it described itself. */
struct lh_party {
	uint64_t id[2];		/* lease id; a waiter's is its wait's own */
	uint32_t pid;		/* in the pid namespace that it attached from */
	uint32_t tid;
	uint32_t uid;
	uint32_t mode;		/* enum lh_mode */
	uint32_t priority;
	uint32_t rank;		/* waiters: 1 is next; holders: 0 */
	int64_t since_ns;	/* acquired, or began to wait; table clock */
	int64_t expires_ns;	/* holders: deadline; waiters: 0 */
	uint64_t token;		/* holders: the lease's; waiters: 0 */
	char application[LH_APPLICATION_MAX + 1];
};

/* A key and those around it. */
struct lh_key_info {
	size_t size;		/* sizeof(struct lh_key_info) */
	const char *key;
	uint64_t token;		/* of the latest grant */
	uint32_t mode;		/* enum lh_mode, of the present holders */
	uint32_t n_holders;	/* 0: free */
	uint32_t n_waiters;
	const struct lh_party *holders;	/* n_holders of them */
	const struct lh_party *waiters;	/* n_waiters, in the order they are
					 * due */
};

/*
 * Called with what is in the key; everything in it is valid during the call
 * only.  Not 0 ends the listing and becomes its result.  It may use the table.
 */
typedef int (*lh_key_fn)(const struct lh_key_info *info, void *arg);

/*
 * Every key whose name begins with prefix (NULL or "": every key), in no
 * particular order.  0 or what fn returned; -EINVAL, -ENOMEM, -EUCLEAN, -EPERM.
 */
int lh_list(struct lh *lh, const char *prefix, lh_key_fn fn, void *arg);

/*
 * One key.  With id not NULL, only whether that lease holds it: fn is called
 * only if so.  0 or what fn returned; -ENOENT: no such key; -ESTALE: id is
 * given and holds nothing; -EINVAL, -ENAMETOOLONG, -ENOMEM, -EUCLEAN, -EPERM;
 * -EAGAIN (also of lh_list()): readers come and go too fast to be counted.
 */
int lh_status(struct lh *lh, const char *key, const uint64_t id[2],
    lh_key_fn fn, void *arg);

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
	uint32_t clock;		/* enum lh_clock */
	uint32_t reserved;
};

/* 0; -EINVAL, -EPERM. */
int lh_stats(struct lh *lh, struct lh_stats *stats);

/*
 * Check the whole table.  For each finding fn is called (may be NULL) with a
 * sentence.  Takes no lock and may run beside anything; findings that are only
 * things in motion are looked at twice and dropped.  The number of findings,
 * or -EINVAL, -EPERM.
 */
int lh_check(struct lh *lh, void (*fn)(const char *finding, void *arg),
    void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
