/* SPDX-License-Identifier: MIT */
/* The value of a key.  See value_record.c. */
#ifndef LHI_VALUE_RECORD_H
#define LHI_VALUE_RECORD_H

#include <stddef.h>
#include "shm/view.h"

/* A value, as it was read. */
struct lhi_value {
	uint64_t token;		/* of the lease under which it was set */
	size_t len;		/* not 0 */
	unsigned char byte[SHM_VALUE_MAX];
};

/* A value that is being set. */
struct lhi_setting {
	struct shm_slot *slot;
	uint64_t sid;		/* of who sets it */
	uint64_t from, to;	/* slot.value: as it was seen, and its new
				 * value */
	uint32_t idx;		/* the new record; 0: it is cleared */
	uint32_t old;		/* the one that was seen; 0: none */
	uint64_t mine;		/* owner words by which both are ours; */
	uint64_t held;		/* 0: it is not */
};

/* True if the key has a value. (Then it is not evicted to make room.) */
static inline bool
lhi_slot_valued(const struct shm_slot *s)
{
	return vlink_idx(sh64_load(&s->value)) != 0;
}

/* Reads it.  Returns 1: there is one, in *out; 0: there is none; -EAGAIN: it
 * keeps changing; -EUCLEAN. */
int lhi_value_read(struct lhi_view *v, const struct shm_slot *s,
    struct lhi_value *out);

/* Returns its length; 0: there is none, or an impossible one. */
size_t lhi_value_len(const struct lhi_view *v, const struct shm_slot *s);

/* True if slot.value, and the record that it leads to, are possible. */
bool lhi_value_sound(const struct lhi_view *v, const struct shm_slot *s);

/*
 * Setting, in this order: begin.  Then look, check that the lease still holds
 * the key, swap, repeated until it succeeds.  Then check that the lease still
 * holds it: keep, or else undo.  Or drop, while nothing has been swapped.
 *
 * begin: 0; -ENOSPC, with a detail.  len 0: it is cleared.
 */
int lhi_value_begin(struct lhi_view *v, struct lhi_setting *t, uint64_t sid,
    struct shm_slot *s, uint64_t token, const void *bytes, size_t len);
void lhi_value_look(struct lhi_view *v, struct lhi_setting *t);
bool lhi_value_swap(struct lhi_view *v, struct lhi_setting *t);
void lhi_value_keep(struct lhi_view *v, struct lhi_setting *t);
void lhi_value_undo(struct lhi_view *v, struct lhi_setting *t);
void lhi_value_drop(struct lhi_view *v, struct lhi_setting *t);

/* Prepares the slot, reserved, for its next life, which has no value. */
int lhi_value_forget(struct lhi_view *v, struct shm_slot *s);

/* Records that may be used. */
uint32_t lhi_values_ready(const struct lhi_view *v);

#endif
