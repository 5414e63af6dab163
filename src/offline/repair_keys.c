/* SPDX-License-Identifier: MIT */
/*
 * Repair of the keys: decides which slots are keys, and which records belong to
 * the long ones, and links the keys anew.  See repair.c for the whole.
 *
 * The claims are free, so every word is to be FREE or UNUSED.
 *
 *	RK1	each slot by itself: a key whose bytes hash to the value in the
 *		slot is one, and everything else in it is made to fit.  A slot
 *		that was being made or evicted, or is inconsistent, becomes
 *		UNUSED (the floors are above its tokens by now)
 *	RK2	records of long keys without a key are given back
 *	RK3	all buckets are cleared, and every key is inserted, by the code
 *		that makes keys: it finds duplicates
 *
 * Duplicates.  The first one stays, permanent if either was.  It does not
 * matter which of them had the higher token, because it continues above all
 * tokens.
 *
 * A crash in RK3 leaves part of a list, which is rebuilt from the beginning.
 */
#include <errno.h>
#include "base/error.h"
#include "base/hash.h"
#include "shm/consistency.h"
#include "shm/backing_grow.h"
#include "shm/key_index.h"
#include "shm/key_bytes.h"
#include "shm/lock_word.h"
#include "offline/repair.h"
#include "shm/cluster_right.h"

/* Writes the slot's word, with that low part.  Its tokens continue above all,
 * or, for a cluster key, above the base that it will have. */
static void
set_word(struct lhi_repair *m, struct shm_slot *s, unsigned mode, uint32_t idx)
{
	uint64_t token = mode == WORD_FREE && lhi_right_has(s) ?
	    CLUSTER_FIRST : m->above;

	sh64_store(&s->hint, token);
	lhi_point("mend.hint");
	sh64_store(&s->word, mode == WORD_FREE ? lhi_free_word(s, idx, token) :
	    word_make(mode, idx, token));
}

/* Makes it a cluster key, without a right, if its name says so.  Returns 0,
 * -errno. */
static int
repair_right(struct lhi_repair *m, struct shm_slot *s, uint32_t i)
{
	struct lhi_view *v = m->v;
	uint32_t info = sh32_load(&s->key_info);
	char key[SHM_KEY_MAX + 1];
	struct lhi_key_name n = { .key = key };
	int error;

	n.len = lhi_slot_key(v, s, key);
	if (!lhi_right_wanted(v, &n)) {
		if (info & KEY_CLUSTER)
			sh32_store(&s->key_info, info & ~KEY_CLUSTER);
		return 0;
	}
	error = m->fd < 0 ? 0 : lhi_grow_back(m->fd, (char *)v->hdr,
	    v->geo.rights_off + (uint64_t)i * sizeof(struct shm_right),
	    sizeof(struct shm_right));
	if (error != 0)
		return lhi_fail(error, "there is no memory for cluster keys of "
		    "%s: make room in /dev/shm", v->path);
	sh64_store(&v->rights[i].right, 0);
	sh64_store(&v->rights[i].base, 0);
	sh64_store(&v->rights[i].was, 0);
	sh32_store(&s->key_info, info | KEY_CLUSTER);
	return 0;
}

/* True if the rest of a long key is this slot's. */
static bool
has_record(struct lhi_repair *m, struct shm_slot *s, uint64_t me)
{
	struct lhi_view *v = m->v;
	uint32_t idx = sh32_load(&s->long_idx);
	struct shm_slot *other;
	uint64_t owner;

	if ((sh32_load(&s->key_info) & KEY_LEN) <= SHM_KEY_INLINE)
		return true;
	if (idx == 0 || idx >= lhi_longs_ready(v))
		return false;
	owner = sh64_load(&v->longs[idx].owner);
	if (owner == me)
		return true;
	other = lhi_slot(v, (uint32_t)owner);
	if (other != NULL && sh32_load(&other->long_idx) == idx &&
	    word_mode(sh64_load(&other->word)) != WORD_NONE &&
	    sh32_load(&other->gen) == owner >> 32)
		return false;
	sh64_store(&v->longs[idx].owner, me);
	return true;
}

/* True if the slot's fields describe a key. */
static bool
is_key(struct lhi_repair *m, struct shm_slot *s, uint32_t i)
{
	char key[SHM_KEY_MAX + 1];
	struct lhi_key_name n = { .key = key, .hash = sh64_load(&s->hash) };
	uint32_t gen;

	n.len = lhi_slot_key(m->v, s, key);
	return n.len > 0 && lhi_hash(key, n.len) == n.hash &&
	    lhi_key_match(m->v, s, &n, &gen) == 1 &&
	    has_record(m, s, lhi_slot_ref(i, gen));
}

/* RK1, for a slot that is a key. Returns the word's new low part. */
static uint32_t
word_cause_of(struct lhi_repair *m, uint64_t w)
{
	if (word_mode(w) == WORD_FREE &&
	    (word_idx(w) & ~FREE_CLUSTER) <= CAUSE_BROKEN)
		return word_cause(w);
	if (word_mode(w) == WORD_S && lhi_claim(m->v, word_idx(w)) != NULL)
		return CAUSE_RELEASED;	/* idle claims held nothing */
	return CAUSE_DIED;	/* of a claim that did not hold it */
}

/* Also for a slot without a key, because its next key inherits the queue. */
static void
empty_queue(struct shm_slot *s)
{
	uint64_t q = sh64_load(&s->waitq);

	if (link_idx(q) != 0 || link_marked(q))
		sh64_store(&s->waitq, link_make(false, 0, link_tag(q) + 1));
	if (sh64_load(&s->tail) != 0)
		sh64_store(&s->tail, 0);
}

static int
repair_key(struct lhi_repair *m, struct shm_slot *s, uint32_t i)
{
	uint64_t w = sh64_load(&s->word);
	uint32_t info = sh32_load(&s->key_info);
	uint32_t fit = (info & KEY_SAID) | KEY_LIFE(sh32_load(&s->gen));
	int error;

	if (!is_key(m, s, i)) {
		set_word(m, s, WORD_NONE, NONE_UNUSED);
		return 0;
	}
	if (info != fit)
		sh32_store(&s->key_info, fit);
	error = repair_right(m, s, i);
	/* it stays; its word gets a cause (lhi_free_word()) */
	if (consistency_kind(sh32_load(&s->consistency)) == CONSISTENCY_NONE ||
	    (sh32_load(&s->key_info) & KEY_CLUSTER))
		sh32_store(&s->consistency, 0);
	if (error == 0)
		set_word(m, s, WORD_FREE, word_cause_of(m, w));
	return error;
}

/* RK2 */
static void
repair_longs(struct lhi_repair *m)
{
	struct lhi_view *v = m->v;

	for (uint32_t idx = 0; idx < lhi_longs_ready(v); idx++) {
		uint64_t owner = sh64_load(&v->longs[idx].owner);
		struct shm_slot *s = lhi_slot(v, (uint32_t)owner);

		if (owner != 0 && (idx == 0 || s == NULL ||
		    word_mode(sh64_load(&s->word)) == WORD_NONE ||
		    sh32_load(&s->gen) != owner >> 32 ||
		    sh32_load(&s->long_idx) != idx))
			sh64_store(&v->longs[idx].owner, 0);
	}
}

/* RK3.  0; 1: it is there already, and goes; -errno. */
static int
insert_key(struct lhi_repair *m, struct shm_slot *s)
{
	char key[SHM_KEY_MAX + 1];
	struct lhi_key_name n = { .key = key, .hash = sh64_load(&s->hash) };
	struct lhi_ref ref;
	int twice;

	n.len = lhi_slot_key(m->v, s, key);
	twice = lhi_slot_insert(m->v, s, &n, &ref);
	if (twice != 1)
		return twice;
	(void)sh32_fetch_or(&ref.slot->key_info,
	    sh32_load(&s->key_info) & KEY_SAID & ~KEY_LEN);
	set_word(m, s, WORD_NONE, NONE_UNUSED);
	return 1;
}

static int
repair_list(struct lhi_repair *m)
{
	struct lhi_view *v = m->v;
	bool twice = false;
	int error = 0;

	for (uint32_t b = 0; b < lhi_buckets_ready(v); b++)
		if (sh64_load(&v->buckets[b]) != 0)
			sh64_store(&v->buckets[b], 0);
	lhi_point("mend.forgotten");
	for (uint32_t i = 1; error >= 0 && i < lhi_slots_ready(v); i++) {
		struct shm_slot *s = &v->slots[i];

		if (word_mode(sh64_load(&s->word)) == WORD_NONE)
			continue;
		/* neither marked nor linked; insert_key() writes the rest */
		sh64_store(&s->next, slink_after(sh64_load(&s->next), 0));
		error = insert_key(m, s);
		twice |= error == 1;
	}
	if (twice)
		repair_longs(m);
	return error < 0 ? error : 0;
}

int
lhi_repair_keys(struct lhi_repair *m)
{
	struct lhi_view *v = m->v;
	int error = 0;

	for (uint32_t i = 1; error == 0 && i < lhi_slots_ready(v); i++) {
		struct shm_slot *s = &v->slots[i];

		if (!lhi_mutant_on(queues_of_keys))
			empty_queue(s);
		if (word_mode(sh64_load(&s->word)) != WORD_NONE)
			error = repair_key(m, s, i);
		else if (sh64_load(&s->word) != 0 || sh64_load(&s->hint) != 0)
			set_word(m, s, WORD_NONE, NONE_UNUSED);
		if (lhi_mutant_on(queues_of_keys) &&
		    word_mode(sh64_load(&s->word)) != WORD_NONE)
			empty_queue(s);
	}
	if (error != 0)
		return error;
	lhi_point("mend.keys");
	repair_longs(m);
	return repair_list(m);
}
