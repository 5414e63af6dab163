/* SPDX-License-Identifier: MIT */
/* Keys: from name to slot.  See slot.c. */
#ifndef LHI_SLOT_H
#define LHI_SLOT_H

#include <stddef.h>
#include <string.h>
#include "shm/view.h"

struct lhi_name {
	const char *key;
	size_t len;
	uint64_t hash;
};

struct lhi_ref {
	struct shm_slot *slot;
	uint64_t home;		/* its index, and which life of it */
};

/* The slot of a home, which lhi_slot() has seen to be in range before. */
static inline struct lhi_ref
lhi_ref_at(const struct lhi_view *v, uint64_t home)
{
	return (struct lhi_ref){ &v->slots[(uint32_t)home], home };
}

/* memcmp() == 0, for the few bytes of a key: no call. */
static inline bool
lhi_same_bytes(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint64_t x, y;
	size_t i;

	if (len < 8) {
		for (i = 0; i < len; i++) {
			if (a[i] != b[i])
				return false;
		}
		return true;
	}
	for (i = 0; i < len; i += 8) {
		if (i > len - 8)
			i = len - 8;	/* the last eight, overlapping */
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return false;
	}
	return true;
}

/* Is it surely the key of that slot?  (Long ones: no.) */
static inline bool
lhi_slot_is(const struct shm_slot *s, const char *key)
{
	size_t len = strlen(key);

	return len == s->key_len && len <= SHM_KEY_INLINE &&
	    lhi_same_bytes(s->key, (const uint8_t *)key, len);
}

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
