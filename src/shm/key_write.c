/* SPDX-License-Identifier: MIT */
/*
 * Writing a key: puts its bytes into a slot that the caller has reserved, and,
 * if it is long, finds a record for the rest.  key_bytes.c describes the layout
 * of keys, and how they are read meanwhile.
 *
 * A record of a long key is searched for
 *	1 in 64 places
 *	2 by growing (backing_grow.c)
 *	3 everywhere, evicting idle keys, as key_make.c does
 *
 * A crash or stop of a writer leaves a RESERVED slot (key_slot.c). The slot
 * points at its record before the record is taken, so a taken record is in use,
 * and not lost.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/backing_grow.h"
#include "shm/cluster_right.h"
#include "shm/evict.h"
#include "shm/key_write.h"

#define LOOKS 64		/* records to look at before more are made */

/* True if the record is in use by that life of that slot. */
static bool
is_long_in_use(struct lhi_view *v, uint32_t idx, uint64_t owner)
{
	struct shm_slot *s = lhi_slot(v, (uint32_t)owner);
	uint64_t w;

	if (s == NULL)
		return false;
	w = sh64_load(&s->word);
	return !(word_mode(w) == WORD_NONE && word_idx(w) == NONE_UNUSED) &&
	    sh32_load(&s->gen) == owner >> 32 &&
	    sh32_load(&s->long_idx) == idx;
}

/* Searches `looks` records, from the last found one on, for a usable one; with
 * `evict`, idle keys give theirs up.  Returns 1: taken, 0, -EUCLEAN. */
static int
take_long_record(struct lhi_view *v, struct shm_slot *s, uint32_t looks,
    bool evict)
{
	uint64_t me = lhi_slot_ref(lhi_slot_idx(v, s), sh32_load_rlx(&s->gen));
	uint32_t n = lhi_longs_ready(v);
	uint32_t from = sh32_load_rlx(&v->hdr->long_next) % n;
	int64_t now_ns = lhi_now_ns(v);

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t idx = (from + i) % n;
		uint64_t owner = sh64_load(&v->longs[idx].owner);
		int gone = 1;

		if (idx == 0)
			continue;
		if (owner != 0 && is_long_in_use(v, idx, owner))
			gone = evict ? lhi_evict_idle(v, (uint32_t)owner,
			    now_ns, i < LHI_SPARES) : 0;
		if (gone < 0)
			return gone;
		if (gone == 0 || (owner != 0 && is_long_in_use(v, idx, owner)))
			continue;
		sh32_store(&s->long_idx, idx);
		if (sh64_cas(&v->longs[idx].owner, owner, me)) {
			sh32_store_rlx(&v->hdr->long_next, idx + 1);
			return 1;
		}
	}
	sh32_store(&s->long_idx, 0);
	return 0;
}

static int
get_long_record(struct lhi_view *v, struct shm_slot *s)
{
	int got = take_long_record(v, s, LOOKS, false), grown = 1;
	uint32_t n = 0;

	while (got == 0 && grown == 1 && LHI_WITHIN(n, LHI_GROWS_MAX)) {
		uint32_t from = lhi_longs_ready(v);

		grown = lhi_grow_longs(v);
		if (grown == 1) {
			sh32_store_rlx(&v->hdr->long_next, from);
			got = take_long_record(v, s, LOOKS, false);
		}
	}
	if (LHI_REACHED(n, LHI_GROWS_MAX))
		return lhi_damaged_restless(v, "the count of long keys", n);
	if (got == 0)
		got = take_long_record(v, s, lhi_longs_ready(v) + LHI_SPARES,
		    true);
	if (got != 0)
		return got < 0 ? got : 0;
	if (grown < 0 && grown != -ENOSPC)
		return grown;
	return lhi_fail(-ENOSPC, "the table's room for keys of more than %u "
	    "bytes is used up: all %u of them are held, waited for or kept: "
	    "use shorter keys, or %s", SHM_KEY_INLINE, lhi_longs_ready(v) - 1,
	    grown < 0 ? "make room in /dev/shm, or enlarge it, so that the "
	    "table can grow" : "a table with more keys");
}

int
lhi_key_write(struct lhi_view *v, struct shm_slot *s, const struct lhi_key_name
    *n)
{
	struct shm_long *l = NULL;
	uint32_t gen = sh32_load_rlx(&s->gen), cluster = 0;
	int error;

	sh32_store(&s->long_idx, 0);
	if (n->len > SHM_KEY_INLINE) {
		error = get_long_record(v, s);
		if (error != 0)
			return error;
		l = lhi_key_long(v, s);
		if (l == NULL)	/* it was changed since */
			return lhi_damaged(v, "a slot's long key is none",
			    lhi_slot_idx(v, s), sh32_load(&s->long_idx));
	}
	sh64_store(&s->hash, n->hash);
	if (lhi_right_wanted(v, n)) {
		error = lhi_right_begin(v, s);
		if (error != 0)
			return error;
		cluster = KEY_CLUSTER;
	}
	sh32_store(&s->key_info, (uint32_t)n->len | cluster | KEY_LIFE(gen));
	for (size_t i = 0; i < lhi_key_words(n->len); i++)
		sh64_store(i < KEY_INLINE_WORDS ? &s->key[i] :
		    &l->key[i - KEY_INLINE_WORDS], lhi_key_word(n, i));
	/* a NUL ends it, where there is room: lhi_slot_is() */
	if (n->len % 8 == 0 && n->len < SHM_KEY_INLINE)
		sh64_store(&s->key[n->len / 8], 0);
	return 0;
}
