/* SPDX-License-Identifier: MIT */
/* Keys: from name to slot.  See slot.c. */
#ifndef LHI_SLOT_H
#define LHI_SLOT_H

#include <stddef.h>
#include "shm/view.h"

struct lhi_name {
	const char *key;
	size_t len;
	uint64_t hash;
};

struct lhi_ref {
	struct shm_slot *slot;
	uint32_t idx;
	uint32_t gen;		/* the life of the slot that is meant */
};

/* 0; -EINVAL, -ENAMETOOLONG, with a detail. */
int lhi_name_set(struct lhi_name *n, const char *key);

/* 1 found, 0 no such key, -EUCLEAN. */
int lhi_slot_find(struct lhi_view *v, const struct lhi_name *n,
    struct lhi_ref *ref);

/*
 * Find, or make.  `ci` is a free claim of the caller's own magazine: what is
 * being made is announced in it, and it is free again afterwards.
 * 0; -ENOSPC; -EUCLEAN.
 */
int lhi_slot_make(struct lhi_view *v, const struct lhi_name *n, uint32_t ci,
    struct lhi_ref *ref);

/* Finish or undo what a dead session's INSERT claim announced. */
int lhi_slot_settle_insert(struct lhi_view *v, uint32_t ci);

/*
 * The key's bytes, NUL-terminated, into buf[SHM_KEY_MAX + 1]; its length, or 0
 * when the slot holds no key (or what it says makes no sense).
 */
size_t lhi_slot_key(struct lhi_view *v, const struct shm_slot *s, char *buf);

/* Is the slot reachable from its bucket?  1, 0, -EUCLEAN. */
int lhi_slot_linked(struct lhi_view *v, struct shm_slot *s);

#endif
