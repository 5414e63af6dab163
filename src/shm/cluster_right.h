/* SPDX-License-Identifier: MIT */
/* The rights of this host to cluster keys.  See cluster_right.c; for tokens and
 * the parts of a right, base/bits.h: cluster_base(), right_make(). */
#ifndef LHI_CLUSTER_RIGHT_H
#define LHI_CLUSTER_RIGHT_H

#include "shm/key_slot.h"

/* True if that is the name of a cluster key here. */
bool lhi_right_wanted(const struct lhi_view *v, const struct lhi_key_name *n);

/* Fails with -EOPNOTSUPP: such a key has no value. */
int lhi_right_refuse_value(const char *key);

/*
 * Prepares slot s for such a key: memory for its right, which is none yet.
 * Returns 0; an error of lhi_grow_part().
 */
int lhi_right_begin(struct lhi_view *v, const struct shm_slot *s);

/*
 * True if the slot's key is a cluster key.  (Constant in one life of the slot.)
 */
static inline bool
lhi_right_has(const struct shm_slot *s)
{
	return sh32_load(&s->key_info) & KEY_CLUSTER;
}

/*
 * Returns the slot's right, right_make(); RIGHT_NONE for an ordinary key, or if
 * it is of another life of the slot.  The caller compares its epoch with the
 * present one.
 */
uint64_t lhi_right_load(const struct lhi_view *v, const struct shm_slot *s);

/*
 * Returns the token above `base` at which a key whose next one was `next`
 * continues: the lowest bits do, so that no version of its word returns soon.
 */
static inline uint64_t
lhi_right_land(uint64_t next, uint64_t base)
{
	uint64_t place = next & (CLUSTER_SPARE - 1);

	return base + (place != 0 ? place : CLUSTER_SPARE);
}

/* Returns the cluster_base() that tokens of its grants are above; 0: it has
 * none. */
uint64_t lhi_right_base(const struct lhi_view *v, const struct shm_slot *s);

/*
 * For the process that has the shim's byte, and holds the key itself.  Raises
 * the base (before the right is set); sets the right of this life of the slot,
 * in that epoch; or, with RIGHT_NONE, takes it away.  All later loads see it.
 * Returns 0; -EINVAL: it is no cluster key, or no such base or mode is
 * possible; -ESTALE: it is another key by now.
 */
int lhi_right_raise(struct lhi_view *v, const struct lhi_ref *ref,
    uint64_t base);
int lhi_right_set(struct lhi_view *v, const struct lhi_ref *ref, unsigned mode,
    uint64_t epoch);

/* True if this life of the slot has a right in the present epoch. */
bool lhi_right_now(const struct lhi_view *v, const struct shm_slot *s);

/* The least time for which a right lasts. */
struct lhi_right_end {
	int64_t until_ns;	/* CLOCK_BOOTTIME */
	int64_t left_ns;	/* by then, when it was read */
};

/*
 * True if this host may rely on leases in that mode on that life of the slot,
 * now.  Fills *end unless it is NULL. op/cluster_check.c says how the right is
 * read, and what follows from it.
 */
bool lhi_right_is_valid(const struct lhi_view *v, const struct lhi_ref *ref,
    bool shared, struct lhi_right_end *end);

/* How a right bounds a lease. */
enum lhi_right_bound {
	BOUND_NONE,		/* the lease ends by itself */
	BOUND_BY_RIGHT,		/* it ends with the right, before its own end */
	BOUND_ENDED		/* it has no right: it has ended */
};

/*
 * Shortens *expires_ns, the end of a lease in that mode that was granted at
 * since_ns (both by the table's clock), to that of this host's right to the
 * slot's key.  BOUND_ENDED: to when the right ended; 0: that is not known.
 * Only for leases that need a right: not the shim's.  Reports of leases, and
 * sentences about them, show this end.
 */
enum lhi_right_bound lhi_right_bound(const struct lhi_view *v,
    const struct shm_slot *s, bool shared, int64_t since_ns,
    int64_t *expires_ns);

/* This host's session with the cluster. */
struct lhi_cluster {
	uint64_t until_ns;	/* CLOCK_BOOTTIME; 0: there is none */
	uint64_t epoch;
	uint64_t session[2];	/* 0, 0: none that could be adopted */
	uint64_t created;	/* revision of its key's creation */
	uint64_t id;		/* of the cluster */
	uint32_t shim_pid;
};

void lhi_cluster_read(const struct lhi_view *v, struct lhi_cluster *c);

/* The two that a check of a right needs, sequentially consistent. */
static inline uint64_t
lhi_cluster_epoch(const struct lhi_view *v)
{
	return sh64_load_sc(&v->hdr->cluster_epoch);
}

static inline uint64_t
lhi_cluster_until(const struct lhi_view *v)
{
	return sh64_load_sc(&v->hdr->cluster_until);
}

/*
 * For the process that has the shim's byte (shm/session_bytes.h). End: no right
 * of any earlier epoch is valid any more, and there is no session to adopt.
 * Begin: the same, and then another session, which has no end yet.  Go on:
 * until then.  Each returns the new epoch.
 */
uint64_t lhi_cluster_end(struct lhi_view *v);
uint64_t lhi_cluster_begin(struct lhi_view *v, const uint64_t session[2],
    uint64_t created, uint64_t id);
void lhi_cluster_go_on(struct lhi_view *v, uint64_t until_ns);

/* Sets the session whose leases need no right. True if it is that session. */
void lhi_cluster_serve(struct lhi_view *v, uint64_t sid);

static inline bool
lhi_cluster_serves(const struct lhi_view *v, uint64_t sid)
{
	return sid != 0 && sh64_load_sc(&v->hdr->shim_session) == sid;
}

/* Sets the process that has the byte now, and where it listens: at most
 * SHM_SOCKET - 1 bytes. */
void lhi_cluster_here(struct lhi_view *v, uint32_t pid);
void lhi_cluster_listen(struct lhi_view *v, uint32_t pid, const char *path);

/* Reads that path, NUL-terminated.  False: no shim has listened yet, or the
 * path is just being changed. */
bool lhi_cluster_socket(const struct lhi_view *v, char path[SHM_SOCKET]);

#endif
