/* SPDX-License-Identifier: MIT */
/*
 * Keys: answers "which slot is this name?", and makes a slot for a new name.
 *
 * Layout.  bucket[hash mod n] heads a chain of slots through slot.next.  Slots
 * are type-stable: never unmapped, never anything else than slots.  A lookup
 * therefore takes no lock and no reference; it validates as it goes, and what
 * finally proves that the slot is still the key is the swap of its lock word,
 * whose version changes when a slot changes lives.
 *
 * Invariants.
 *  I1	hash, key and gen of a linked slot are constant; they are complete
 *	before the word becomes FREE, and the slot is linked only after that
 *	(C15).
 *  I2	The bucket's head changes with every link (its tag grows), and a slot is
 *	linked only by a swap of the head under which the whole chain was seen
 *	not to have the key: no key is in the table twice.
 *  I3	Whoever reserves a slot has announced it in an INSERT claim first.
 *  I4	slot.maker and slot.gen name the claim that made this life of the slot;
 *	they are stored only while the word is RESERVED by that claim.
 *
 * Making a key; what a crash (K) leaves, completed by whoever buries the
 * maker's claim; a stop costs one slot while it lasts, and delays nobody:
 *	1 claim: INSERT, slot	K: nothing to undo
 *	2 word: UNUSED -> RESERVED(claim)	K: -> UNUSED
 *	3 gen, maker, hash, key	K: -> UNUSED
 *	4 hint, then word: RESERVED -> FREE(low bits of hint) (C7)
 *				K: not linked and made by this claim: -> UNUSED
 *	5 bucket head -> slot	K: the key is there
 *	6 claim: FREE
 *
 * A long key's rest is in a record of its own, {gen, slot} its owner.  A record
 * is in use only while that life of that slot points back at it; others are
 * taken over when none is free.
 */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "base/hash.h"
#include "shm/claim.h"
#include "shm/slot.h"

int
lhi_name_set(struct lhi_name *n, const char *key)
{
	size_t len;

	if (key == NULL)
		return lhi_fail(-EINVAL, "no key was given (NULL)");
	len = strlen(key);
	if (len == 0)
		return lhi_fail(-EINVAL, "the key is empty: use 1 to 255 "
		    "bytes");
	if (len > SHM_KEY_MAX)
		return lhi_fail(-ENAMETOOLONG, "the key is longer than 255 "
		    "bytes: shorten it, or use a hash of it");
	n->key = key;
	n->len = len;
	n->hash = lhi_hash(key, len);
	return 0;
}

static struct shm_long *
long_of(struct lhi_view *v, const struct shm_slot *s)
{
	uint32_t idx = sh32_load_rlx(&s->long_idx);

	return idx < v->geo.n_long ? &v->longs[idx] : NULL;
}

static bool
same_key(struct lhi_view *v, const struct shm_slot *s, const struct lhi_name *n)
{
	const struct shm_long *l;

	if (s->key_len != n->len)
		return false;
	if (n->len <= SHM_KEY_INLINE)
		return lhi_same_bytes(s->key, (const uint8_t *)n->key, n->len);
	l = long_of(v, s);
	return l != NULL && memcmp(s->key, n->key, SHM_KEY_INLINE) == 0 &&
	    memcmp(l->key, n->key + SHM_KEY_INLINE,
	    n->len - SHM_KEY_INLINE) == 0;
}

size_t
lhi_slot_key(struct lhi_view *v, const struct shm_slot *s, char *buf)
{
	size_t len = s->key_len;
	const struct shm_long *l;

	if (word_mode(sh64_load(&s->word)) == WORD_NONE || len == 0)
		return 0;
	if (len <= SHM_KEY_INLINE) {
		memcpy(buf, s->key, len);
	} else {
		l = long_of(v, s);
		if (l == NULL)
			return 0;
		memcpy(buf, s->key, SHM_KEY_INLINE);
		memcpy(buf + SHM_KEY_INLINE, l->key, len - SHM_KEY_INLINE);
	}
	buf[len] = '\0';
	return len;
}

static shm_u64 *
bucket_of(struct lhi_view *v, uint64_t hash)
{
	return &v->buckets[hash & (v->geo.n_buckets - 1)];
}

/*
 * Walk the chain under `head` for the key, or, with n NULL, for slot `want`.
 * 1, 0, -EUCLEAN.
 */
static int
walk(struct lhi_view *v, uint64_t head, const struct lhi_name *n,
    uint32_t want, struct lhi_ref *ref)
{
	uint32_t idx = slink_idx(head), gen;

	for (uint32_t hops = 0; idx != 0; hops++) {
		struct shm_slot *s = lhi_slot(v, idx);

		if (s == NULL || hops > v->geo.n_slots)
			return lhi_damaged(v, "a bucket's chain cannot be "
			    "walked", head, idx);
		if (n == NULL) {
			if (idx == want)
				return 1;
		} else if (sh64_load_rlx(&s->hash) == n->hash) {
			gen = sh32_load(&s->gen);
			if (same_key(v, s, n)) {
				ref->slot = s;
				ref->home = lhi_home(idx, gen);
				return 1;
			}
		}
		idx = slink_idx(sh64_load(&s->next));
	}
	return 0;
}

int
lhi_slot_find(struct lhi_view *v, const struct lhi_name *n,
    struct lhi_ref *ref)
{
	return walk(v, sh64_load(bucket_of(v, n->hash)), n, 0, ref);
}

int
lhi_slot_linked(struct lhi_view *v, struct shm_slot *s)
{
	return walk(v, sh64_load(bucket_of(v, sh64_load_rlx(&s->hash))), NULL,
	    lhi_slot_idx(v, s), NULL);
}

/* Is the record in use by that life of that slot? */
static bool
long_in_use(struct lhi_view *v, uint32_t idx, uint64_t owner)
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

/*
 * A record for the reserved slot s.  The slot points at the record before the
 * record is taken, so that a record that is taken is always in use.
 */
static int
take_long(struct lhi_view *v, struct shm_slot *s)
{
	uint64_t me = (uint64_t)sh32_load_rlx(&s->gen) << 32 |
	    lhi_slot_idx(v, s);
	uint32_t n = v->geo.n_long;
	uint32_t from = sh32_load_rlx(&v->hdr->long_next) % n;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t idx = (from + i) % n;
			uint64_t owner = sh64_load(&v->longs[idx].owner);

			if (idx == 0 || (owner != 0 &&
			    (pass == 0 || long_in_use(v, idx, owner))))
				continue;
			sh32_store(&s->long_idx, idx);
			if (sh64_cas(&v->longs[idx].owner, owner, me)) {
				sh32_store_rlx(&v->hdr->long_next,
				    (idx + 1) % n);
				return 0;
			}
		}
	}
	sh32_store(&s->long_idx, 0);
	return lhi_fail(-ENOSPC, "the table's room for keys of more than %u "
	    "bytes is used up (%u of them): use shorter keys, or a table with "
	    "more keys", SHM_KEY_INLINE, n - 1);
}

/* Step 1 and 2: announce and reserve an unused slot. */
static struct shm_slot *
reserve(struct lhi_view *v, uint32_t ci)
{
	struct shm_claim *c = &v->claims[ci];
	uint32_t n = v->geo.n_slots;
	uint32_t from = sh32_load_rlx(&v->hdr->slot_next) % n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t idx = (from + i) % n;
		struct shm_slot *s = lhi_slot(v, idx);
		uint64_t w;

		if (s == NULL)
			continue;
		w = sh64_load(&s->word);
		if (word_mode(w) != WORD_NONE || word_idx(w) != NONE_UNUSED)
			continue;
		sh64_store(&c->home, lhi_home(idx, sh32_load(&s->gen) + 1));
		lhi_point("slot.announced");
		if (sh64_cas(&s->word, w,
		    word_make(WORD_NONE, ci, word_ver(w) + 1))) {
			sh32_store_rlx(&v->hdr->slot_next, (idx + 1) % n);
			return s;
		}
	}
	return NULL;
}

/* Swap the slot's word, while it is this claim's making, to UNUSED. */
static void
undo(struct lhi_view *v, struct shm_slot *s, uint32_t ci)
{
	uint64_t w = sh64_load(&s->word);

	if ((word_mode(w) == WORD_NONE && word_idx(w) == ci) ||
	    (word_mode(w) == WORD_FREE && sh32_load(&s->maker) == ci &&
	    sh32_load(&s->gen) == sh64_load(&v->claims[ci].home) >> 32))
		(void)sh64_cas(&s->word, w,
		    word_make(WORD_NONE, NONE_UNUSED, word_ver(w) + 1));
}

/* Steps 3 and 4. */
static int
fill(struct lhi_view *v, struct shm_slot *s, const struct lhi_name *n,
    uint32_t ci)
{
	uint64_t w = sh64_load(&s->word), hint = sh64_load(&s->hint);
	uint64_t floor = sh64_load(&v->hdr->floor[n->hash % SHM_SHARDS]);
	size_t near = n->len < SHM_KEY_INLINE ? n->len : SHM_KEY_INLINE;
	int error;

	sh32_store(&s->gen,
	    (uint32_t)(sh64_load_rlx(&v->claims[ci].home) >> 32));
	sh32_store(&s->maker, ci);
	sh64_store_rlx(&s->hash, n->hash);
	sh32_store_rlx(&s->long_idx, 0);
	s->key_len = (uint8_t)n->len;
	memcpy(s->key, n->key, near);
	if (near < n->len) {
		error = take_long(v, s);
		if (error != 0)
			return error;
		memcpy(long_of(v, s)->key, n->key + near, n->len - near);
	}
	if (hint < floor) {
		hint = floor;
		sh64_store(&s->hint, hint);
	}
	lhi_point("slot.filled");
	if (lhi_mutant(7))
		hint = 0;
	if (!lhi_mutant(15) &&
	    !sh64_cas(&s->word, w, word_make(WORD_FREE, CAUSE_RELEASED, hint)))
		return lhi_damaged(v, "a reserved slot changed hands",
		    lhi_slot_idx(v, s), w);
	return 0;
}

/* Step 5: link it, unless somebody else was first with the same key. */
static int
link_in(struct lhi_view *v, struct shm_slot *s, const struct lhi_name *n,
    struct lhi_ref *ref)
{
	shm_u64 *bucket = bucket_of(v, n->hash);
	uint32_t idx = lhi_slot_idx(v, s);

	for (;;) {
		uint64_t head = sh64_load(bucket), next;
		int found = walk(v, head, n, 0, ref);

		if (found != 0)
			return found;
		next = sh64_load(&s->next);
		sh64_store(&s->next, slink_make(slink_idx(head), next + 1));
		lhi_point("slot.linking");
		if (sh64_cas(bucket, head, slink_make(idx, head + 1))) {
			ref->slot = s;
			ref->home = lhi_home(idx, sh32_load_rlx(&s->gen));
			return 0;
		}
	}
}

int
lhi_slot_make(struct lhi_view *v, const struct lhi_name *n, uint32_t ci,
    struct lhi_ref *ref)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t seq;
	struct shm_slot *s;
	int error = lhi_slot_find(v, n, ref);

	if (error != 0)
		return error < 0 ? error : 0;
	seq = lhi_claim_next_seq(c, sh64_load(&c->state));
	sh64_store_rlx(&c->home, 0);
	sh64_store(&c->state, state_make(ST_INSERT, seq, 0));
	s = reserve(v, ci);
	if (s == NULL) {
		error = lhi_fail(-ENOSPC, "the table has no room for another "
		    "key (%u): use a table with more keys",
		    v->geo.n_slots - 1);
	} else {
		error = fill(v, s, n, ci);
		if (error == 0)
			error = link_in(v, s, n, ref);
		if (error != 0)
			undo(v, s, ci);
		if (error == 1)
			error = 0;	/* somebody else made it meanwhile */
	}
	lhi_point("slot.made");
	if (lhi_mutant(15) && s != NULL && error == 0)
		sh64_store(&s->word, word_make(WORD_FREE, CAUSE_RELEASED,
		    sh64_load(&s->hint)));
	sh64_store(&c->state, state_make(ST_FREE, seq, 0));
	return error;
}

int
lhi_slot_settle_insert(struct lhi_view *v, uint32_t ci)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));
	int linked;

	if (s == NULL)
		return 0;
	linked = lhi_slot_linked(v, s);
	if (linked < 0)
		return linked;
	if (linked == 0)
		undo(v, s, ci);
	return 0;
}
