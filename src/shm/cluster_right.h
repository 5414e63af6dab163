/* SPDX-License-Identifier: MIT */
/*
 * What this host may do with cluster keys.  See cluster_right.c; for tokens and
 * what a right is made of, base/bits.h: cluster_base(), right_make().
 */
#ifndef LHI_CLUSTER_RIGHT_H
#define LHI_CLUSTER_RIGHT_H

#include "shm/key_slot.h"

/* Is that the name of a cluster key here? */
bool lhi_right_wanted(const struct lhi_view *v, const struct lhi_key_name *n);

/* Slot s is about to be such a key: memory for its right, which is none yet.
 * 0; -ENOSPC; -EMFILE, -ENFILE, -ESTALE, -EACCES: it takes a descriptor. */
int lhi_right_begin(struct lhi_view *v, const struct shm_slot *s);

/* Is the slot's key a cluster key?  (Constant in one life of the slot.) */
static inline bool
lhi_right_has(const struct shm_slot *s)
{
	return sh32_load(&s->key_info) & KEY_CLUSTER;
}

/*
 * The slot's right, right_make(); of any other key, or if it is of another life
 * of the slot, RIGHT_NONE.  Whether its epoch is the present one is asked
 * separately.
 */
uint64_t lhi_right_load(const struct lhi_view *v, const struct shm_slot *s);

/* The token above `base` at which a key whose next one was `next` goes on: the
 * lowest bits do, so that no version of its word comes back soon. */
static inline uint64_t
lhi_right_land(uint64_t next, uint64_t base)
{
	uint64_t place = next & (CLUSTER_SPARE - 1);

	return base + (place != 0 ? place : CLUSTER_SPARE);
}

/* Tokens of its grants are above that, a cluster_base(); 0: it has none. */
uint64_t lhi_right_base(const struct lhi_view *v, const struct shm_slot *s);

/*
 * By who has the shim's byte, and the key for itself.  Raise the base (before
 * the right is set); then set the right of this life of the slot, in that
 * epoch; or, with RIGHT_NONE, take it away.  All later loads see it.  0;
 * -EINVAL: it is no cluster key, or no such base or mode can be; -ESTALE: it is
 * another key by now.
 */
int lhi_right_raise(struct lhi_view *v, const struct lhi_ref *ref,
    uint64_t base);
int lhi_right_set(struct lhi_view *v, const struct lhi_ref *ref, unsigned mode,
    uint64_t epoch);

/* Has this life of the slot a right in the present epoch? */
bool lhi_right_now(const struct lhi_view *v, const struct shm_slot *s);

/* How long a right lasts, at least. */
struct lhi_right_end {
	int64_t until_ns;	/* CLOCK_BOOTTIME */
	int64_t left_ns;	/* by then, when it was read */
};

/*
 * True if this host may go by leases in that mode on that life of the slot,
 * now.  Fills *end unless it is NULL.  How the right is read, and what follows
 * from it: op/cluster_check.c.
 */
bool lhi_right_is_valid(const struct lhi_view *v, const struct lhi_ref *ref,
    bool shared, struct lhi_right_end *end);

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
 * By who has the shim's byte (shm/session_bytes.h).  End: no right of any
 * epoch there was is valid any more, and there is no session to adopt.  Begin:
 * the same, and then another session, which has no end yet.  Go on: until then.
 * The new epoch.
 */
uint64_t lhi_cluster_end(struct lhi_view *v);
uint64_t lhi_cluster_begin(struct lhi_view *v, const uint64_t session[2],
    uint64_t created, uint64_t id);
void lhi_cluster_go_on(struct lhi_view *v, uint64_t until_ns);

/* Whose leases need no right from now on.  Is that session the one? */
void lhi_cluster_serve(struct lhi_view *v, uint64_t sid);

static inline bool
lhi_cluster_serves(const struct lhi_view *v, uint64_t sid)
{
	return sid != 0 && sh64_load_sc(&v->hdr->shim_session) == sid;
}

/* Who has the byte now, and where it listens: at most SHM_SOCKET - 1 bytes. */
void lhi_cluster_here(struct lhi_view *v, uint32_t pid);
void lhi_cluster_listen(struct lhi_view *v, uint32_t pid, const char *path);

/* Where is that?  NUL-terminated.  False: nobody has listened yet, or the path
 * is just being changed. */
bool lhi_cluster_socket(const struct lhi_view *v, char path[SHM_SOCKET]);

#endif
