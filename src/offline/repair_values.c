/* SPDX-License-Identifier: MIT */
/*
 * Repair of the values: decides which keys' values can be kept.  See repair.c
 * for the whole; the keys are repaired, and no process is attached.
 *
 *	RU1	each slot that is a key keeps its value if the record is valid,
 *		by its sum, and names this slot; any other slot has none from
 *		now on
 *	RU2	each record belongs to the slot that leads to it, or is free
 *
 * A record names one slot and can be kept by that one only, so no two share
 * one.  Counts and tags continue, as far as they can be read.
 */
#include "shm/lock_word.h"
#include "offline/repair.h"
#include "shm/value_record.h"

static bool
keeps_value(const struct lhi_view *v, struct shm_slot *s)
{
	return word_mode(sh64_load(&s->word)) != WORD_NONE &&
	    lhi_value_sound(v, s);
}

/* RU2 */
static void
repair_record(struct lhi_view *v, uint32_t idx)
{
	struct shm_value *r = &v->values[idx];
	uint64_t owner = sh64_load(&r->owner), slot = vown_whose(owner), to;
	struct shm_slot *s;

	if (vown_kind(owner) == VALUE_HELD)
		slot = sh64_load(&r->slot);
	s = slot <= UINT32_MAX ? lhi_slot(v, (uint32_t)slot) : NULL;
	if (s != NULL && vlink_idx(sh64_load(&s->value)) == idx)
		to = vown_make(VALUE_OWNED, slot, vown_count(owner) + 1);
	else
		to = vown_make(VALUE_FREE, 0, vown_count(owner) + 1);
	if (vown_kind(owner) != vown_kind(to))
		sh64_store(&r->owner, to);
}

void
lhi_repair_values(struct lhi_repair *m)
{
	struct lhi_view *v = m->v;

	for (uint32_t i = 1; i < lhi_slots_ready(v); i++) {
		struct shm_slot *s = &v->slots[i];

		if (vlink_idx(sh64_load(&s->value)) != 0 && !keeps_value(v, s))
			(void)lhi_value_forget(v, s);
	}
	lhi_point("mend.values");
	for (uint32_t idx = 1; idx < lhi_values_ready(v); idx++)
		repair_record(v, idx);
}
