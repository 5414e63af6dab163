/* SPDX-License-Identifier: MIT */
/* The bytes of a key, a caller's and a slot's: see key_bytes.c. */
#ifndef LHI_KEY_BYTES_H
#define LHI_KEY_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <string.h>
#include "shm/view.h"

/* A key of the table: a slot, in one of its lives. */
struct lhi_ref {
	struct shm_slot *slot;
	uint64_t slot_ref;	/* its index, and the number of its life */
};

/* Returns the key of a slot_ref that lhi_slot() has seen to be in range.  (As a
 * number, because a closed handle has no slots, and is refused after this.) */
static inline struct lhi_ref
lhi_ref_at(const struct lhi_view *v, uint64_t slot_ref)
{
	uintptr_t at = (uintptr_t)v->slots +
	    (uint32_t)slot_ref * sizeof(struct shm_slot);

	return (struct lhi_ref){ (struct shm_slot *)at, slot_ref };
}

struct lhi_key_name {
	const char *key;
	size_t len;
	uint64_t hash;
};

static inline uint64_t
lhi_key_load8(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

/* Returns the 1 to 7 bytes of a short key. */
static inline uint64_t
lhi_key_short(const char *key, size_t len)
{
	uint32_t a, b;
	size_t mid = len / 2, last = len - 1;

	if (len >= 4) {
		memcpy(&a, key, sizeof(a));
		memcpy(&b, key + len - 4, sizeof(b));
		return le32toh(a) | (uint64_t)le32toh(b) << 8 * (len - 4);
	}
	return (uint8_t)key[0] | (uint64_t)(uint8_t)key[mid] << 8 * mid |
	    (uint64_t)(uint8_t)key[last] << 8 * last;
}

/*
 * Returns the last, incomplete word of a key whose length is no multiple of 8.
 */
static inline uint64_t
lhi_key_rest(const char *key, size_t len)
{
	return len < 8 ? lhi_key_short(key, len) :
	    lhi_key_load8(key + len - 8) >> 8 * (8 - len % 8);
}

/* A key as words: their number, and the ith. */
static inline size_t
lhi_key_words(size_t len)
{
	return (len + 7) / 8;
}

static inline uint64_t
lhi_key_word(const struct lhi_key_name *n, size_t i)
{
	return 8 * i + 8 <= n->len ? lhi_key_load8(n->key + 8 * i) :
	    lhi_key_rest(n->key, n->len);
}

/* Returns how many of them are in the slot, and where the others are; NULL:
 * none. */
#define KEY_INLINE_WORDS (SHM_KEY_INLINE / 8)

static inline struct shm_long *
lhi_key_long(const struct lhi_view *v, const struct shm_slot *s)
{
	uint32_t idx = sh32_load(&s->long_idx);

	return idx > 0 && idx < lhi_longs_ready(v) ? &v->longs[idx] : NULL;
}

/* As lhi_slot_is(), word by word. */
static inline bool
lhi_slot_is_exactly(const struct shm_slot *s, const char *key)
{
	size_t len = strlen(key), i;

	if (len != (sh32_load_rlx(&s->key_info) & KEY_LEN) ||
	    len - 1 >= SHM_KEY_INLINE)
		return false;
	for (i = 0; i + 8 <= len; i += 8) {
		if (lhi_key_load8(key + i) != sh64_load_rlx(&s->key[i / 8]))
			return false;
	}
	return i == len ||
	    lhi_key_rest(key, len) == sh64_load_rlx(&s->key[i / 8]);
}

/*
 * True if the slot has that key now; a long key never matches.  Nothing is
 * validated here: the caller swaps a word that changes with the slot's life.
 *
 * Keys that leave room in the slot end with a NUL there (key_write.c), so one
 * strncmp() compares them.  It reads no further than the caller's NUL, whatever
 * the slot's bytes are, and stays in the slot.  (TSan would take its reads for
 * a race.)
 */
static inline __attribute__((always_inline)) bool
lhi_slot_is(const struct shm_slot *s, const char *key)
{
#if !defined(__SANITIZE_THREAD__) && __BYTE_ORDER == __LITTLE_ENDIAN
	if ((sh32_load_rlx(&s->key_info) & KEY_LEN) < SHM_KEY_INLINE)
		return strncmp(key, (const char *)s->key, SHM_KEY_INLINE) == 0;
#endif
	return lhi_slot_is_exactly(s, key);
}

/* 0; -EINVAL, -ENAMETOOLONG, with a detail. */
int lhi_name_set(struct lhi_key_name *n, const char *key);

/* Compares the slot's key, if it is one, with this one.  Returns 1, and *gen is
 * its life; 0: it is another one; -EAGAIN: it is none, or changes right now. */
int lhi_key_match(struct lhi_view *v, const struct shm_slot *s,
    const struct lhi_key_name *n, uint32_t *gen);

/*
 * Copies the key's bytes, NUL-terminated, into buf[SHM_KEY_MAX + 1]. Returns
 * its length, or 0 if the slot holds no key (or its fields are impossible).
 * They are all of one life.
 */
size_t lhi_slot_key(struct lhi_view *v, const struct shm_slot *s, char *buf);

#endif
