/* SPDX-License-Identifier: MIT */
/*
 * What is private to this process: attachments, magazines, opened keys.
 *
 * Fork.  The child owns nothing.  Magazines and the anchor of every attachment
 * lie in pages that the kernel zeroes in a child (MADV_WIPEONFORK): there the
 * fast paths find an empty magazine with no tag, fall into the slow path, and
 * that finds the anchor's tag gone and refuses (C13).
 *
 * Locks.  lhi_proc_lock() is one mutex for all that is here and rarely changes
 * (maps, lists of magazines, pools).  It guards nothing in shared memory, is
 * never held while waiting, and is held over fork.
 */
#ifndef LHI_LH_H
#define LHI_LH_H

#include <stdatomic.h>
#include <urcu/rculfhash.h>
#include <leasehold.h>
#include "base/clock.h"
#include "shm/slot.h"
#include "shm/view.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define DEFAULT_TTL_MS INT64_C(30000)

/*
 * A lease as its magazine remembers it: what a release needs, in memory that
 * only this thread writes.  id is 0 when nothing is remembered; otherwise the
 * id of the lease, or of the last use while the claim is free.
 */
struct lhi_rec {
	struct shm_slot *slot;
	uint64_t word;
	uint64_t token;
	uint64_t id;
};

/* Eight claims that belong to one thread at a time. */
struct lhi_group {
	uint32_t base;
	struct lhi_group *next;
};

/* A thread's claims in one attachment.  In WIPEONFORK memory; type-stable. */
struct lhi_mag {
	struct lh *lh;		/* NULL: unused, or the attachment is closed */
	uint64_t tag;		/* of the attachment; 0 in a forked child */
	uint32_t free;		/* bit b: claim base + b is ours to take */
	uint32_t base;
	struct shm_claim *claims; /* &claims[base] */
	uint64_t sid;
	/* the coarse clock at the last look, and what follows from it */
	time_t tick_sec;
	long tick_nsec;
	int64_t now_ns;
	uint64_t deadline;	/* now + default ttl, as a deadline */
	int64_t expires_ns;	/* the same in ns */
	struct lhi_group *group;	/* the one in use here */
	struct lhi_group *parked;	/* others of this thread */
	struct lhi_mag *next;		/* of this thread */
	struct lhi_mag *lh_next;	/* of this attachment */
	uint32_t tid;
	struct lhi_rec rec[SHM_GROUP];
};

struct lh {
	struct lhi_view v;	/* first: the slow paths want little else */
	uint64_t tag;		/* random, never 0 */
	uint64_t sid;
	struct lhi_mag *anchor;	/* its tag is ours, unless we are a child */
	void *pin;
	int live_fd;		/* with LH_LIVENESS_FD, else -1 */
	struct lhi_map *map;
	struct lhi_mag *mags;
	struct lhi_group *pool;	/* groups of no thread */
	_Atomic uint32_t waiting; /* threads inside a wait */
	struct cds_lfht *keys;	/* opened keys, by name */
	char name[72];
};

struct lh_key {
	struct lh *lh;
	struct shm_slot *slot;
	uint32_t idx;
	uint32_t gen;
	struct cds_lfht_node node;
	uint64_t hash;
	uint32_t refs;		/* under lhi_proc_lock() */
	char name[];
};

/* This thread's magazine of the attachment it used last. */
extern __thread struct lhi_mag *lhi_mag_current
    __attribute__((tls_model("initial-exec")));

void lhi_proc_lock(void);
void lhi_proc_unlock(void);
void lhi_cancel_lock(void);
void lhi_cancel_unlock(void);
void lhi_proc_begin(void);	/* once: fork handlers */

/* Is the handle this process's own?  0; -EINVAL (NULL); -EPERM (inherited). */
int lhi_own(const struct lh *lh);

#endif
