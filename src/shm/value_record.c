/* SPDX-License-Identifier: MIT */
/*
 * Values: answers "what stands beside this key?", whole or not at all.
 *
 * Layout.  A value is up to 256 bytes in a record of its own; slot.value {tag,
 * idx} says which.  A record that a slot leads to is never written again: a new
 * value is written into another one, and slot.value swapped from the exact old
 * to {tag + 1, idx}.  The tag is never reset, also when the slot gets another
 * key.  With the value stands the token of the lease under which it was set,
 * and its length with a sum of all of it, so that damage is seen.
 *
 * A record's owner word {count, whose, kind} is a contract; count grows with
 * each change:
 *
 *	FREE			anybody may take it
 *	HELD(session)		that session's alone, who writes it, or is about
 *				to replace it or has just done so
 *	OWNED(slot)		written, and, while that slot leads to it, its
 *				value
 *
 * A record is in use if it is HELD by a session that lives; or if the slot that
 * it names (in `slot`, if HELD; written before anything leads to it) leads to
 * it, and is a key.  All others may be taken, by a swap of the owner word that
 * was judged.
 *
 * Setting, by an exclusive holder (op/lease_value.c checks the lease):
 *
 *	VL1  a record: -> HELD(me); it is written		begin
 *	VL2  slot.value is read, {t, o}; o: OWNED -> HELD(me),
 *	    and slot.value is still the same			look
 *	    (the lease holds the key)
 *	VL3  slot.value {t, o} -> {t+1, n}			swap
 *	    (the lease held it: the clock after VL3, as in extend)
 *	VL4  n: HELD -> OWNED, o: HELD -> FREE			keep
 *	or VL5  slot.value {t+1, n} -> {t+2, o}; n -> FREE, o -> OWNED	undo
 *
 * Invariants.
 *  I1	A record that slot.value leads to is complete and is not written: VL3
 *	comes after the writing, and a record is taken only when not in use.
 *  I2	A record that is OWNED and that its slot does not lead to is never led
 *	to again, unless its owner word changes: only VL5 leads back, only to
 *	a record that is HELD all the time (VL2).
 *  I3	An owner word is read before it is judged and swapped, and its count
 *	makes the swap prove that it was the same all the time.
 *  I4	slot.value comes to mean something for a key only between the key's
 *	reservation, where forget() moves the tag on, and the next one.
 *
 * Reading.  slot.value, the record, slot.value again: if that is the same, the
 * record was led to all the time, and whole (I1).  Bytes are stored with
 * release and loaded with acquire.  So a process that has read one of a later
 * use sees that slot.value has moved on before that; or, because forget() comes
 * with the next key only, that the slot has no key.
 *
 * If o is HELD by another living process, it is not waited for.  (That may be a
 * thread with the same lease, or a holder that has lost the key meanwhile.)
 * The value is replaced all the same, and that process gives o back.  If this
 * has to be undone, there is no old value to restore, and the key has no value.
 *
 * A crash after VL1, or VL2: two records that are HELD by the dead; the slot
 * leads to one of them, which is in use, and the other is not.  After VL3 the
 * same with n in use.  A stop keeps two records from others while it lasts.
 * Nothing waits for anybody.
 *
 * Not guaranteed: that a value of a lease that is lost is never seen.  Between
 * a VL3 that was late and its VL5, and for good if its author is killed there,
 * it stands; its token says whose it is.
 */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "base/hash.h"
#include "shm/backing_grow.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "shm/table_words.h"
#include "shm/value_record.h"

#define LOOKS 64		/* records to look at before more are made */
#define READS 1000
#define WORDS (SHM_VALUE_MAX / 8)

static_assert(SHM_VALUE_MAX < 1u << VALUE_LEN_BITS, "len in size");

uint32_t
lhi_values_ready(const struct lhi_view *v)
{
	uint32_t n = lhi_ready(&v->hdr->ready_values, v->geo.n_values);

	return n <= VALUES_MAX ? n : VALUES_MAX;
}

static struct shm_value *
record_at(const struct lhi_view *v, uint32_t idx)
{
	return idx > 0 && idx < lhi_values_ready(v) ? &v->values[idx] : NULL;
}

/* The facts of a value: its length, and a sum of it. */
static uint64_t
size_and_sum(const void *bytes, size_t len, uint64_t token)
{
	uint64_t sum = lhi_hash(bytes, len) ^
	    token * UINT64_C(0x9e3779b97f4a7c15);

	return (sum & ~MASK(VALUE_LEN_BITS)) | len;
}

/* Reads all of a record, which may be written meanwhile.  Returns false if it
 * is no value, or another slot's. */
static bool
read_record(const struct shm_value *r, uint64_t slot, struct lhi_value *out)
{
	uint64_t size = sh64_load(&r->size), word;

	out->token = sh64_load(&r->token);
	out->len = size & MASK(VALUE_LEN_BITS);
	for (size_t i = 0; i < WORDS && 8 * i < out->len; i++) {
		word = sh64_load(&r->byte[i]);
		memcpy(out->byte + 8 * i, &word, sizeof(word));
	}
	return out->len > 0 && out->len <= SHM_VALUE_MAX &&
	    sh64_load(&r->slot) == slot &&
	    size_and_sum(out->byte, out->len, out->token) == size;
}

int
lhi_value_read(struct lhi_view *v, const struct shm_slot *s,
    struct lhi_value *out)
{
	for (int i = 0; i < READS; i++) {
		uint64_t l = sh64_load_sc(&s->value);
		struct shm_value *r = record_at(v, vlink_idx(l));
		bool whole, is_key;

		if (vlink_idx(l) == 0)
			return 0;
		lhi_point("value.reading");
		whole = r != NULL &&
		    read_record(r, lhi_slot_idx(v, s), out);
		/* in this order: the next key's is another value */
		is_key = word_mode(sh64_load(&s->word)) != WORD_NONE;
		if (sh64_load(&s->value) != l)
			continue;
		if (!is_key && !lhi_mutant_on(value_of_none))
			return -EAGAIN;
		return whole ? 1 : lhi_damaged(v, "a key's value is none",
		    lhi_slot_idx(v, s), l);
	}
	return -EAGAIN;
}

size_t
lhi_value_len(const struct lhi_view *v, const struct shm_slot *s)
{
	struct shm_value *r = record_at(v, vlink_idx(sh64_load(&s->value)));
	uint64_t size = r == NULL ? 0 : sh64_load(&r->size);

	size &= MASK(VALUE_LEN_BITS);
	return size <= SHM_VALUE_MAX ? size : 0;
}

/* True if slot s leads to a value, in a record that is the slot's. */
static bool
is_value_of(const struct lhi_view *v, const struct shm_slot *s,
    uint32_t idx)
{
	struct shm_value *r = record_at(v, idx);
	struct lhi_value value;
	uint64_t owner;

	if (r == NULL || !read_record(r, lhi_slot_idx(v, s), &value))
		return false;
	owner = sh64_load(&r->owner);
	return vown_kind(owner) == VALUE_HELD ||
	    (vown_kind(owner) == VALUE_OWNED &&
	    vown_whose(owner) == lhi_slot_idx(v, s));
}

bool
lhi_value_sound(const struct lhi_view *v, const struct shm_slot *s)
{
	uint64_t l = sh64_load(&s->value);

	return vlink_idx(l) == 0 || is_value_of(v, s, vlink_idx(l)) ||
	    sh64_load(&s->value) != l;		/* it is another by now */
}

/*
 * True if the session of a HELD record is gone.  (The owner word has the low
 * bits of its incarnation: if another session has the same bits, the record is
 * left alone.)
 */
static bool
is_holder_gone(struct lhi_view *v, uint64_t owner, bool probe)
{
	uint64_t whose = vown_whose(owner), s;
	uint32_t idx = sid_idx(whose);

	if (idx >= v->geo.max_sessions)
		return true;
	s = sh64_load(&v->sessions[idx].state);
	return ((sid_make(sess_inc(s), idx) ^ whose) & MASK(VALUE_WHOSE_BITS))
	    != 0 || lhi_session_dead(v, sid_make(sess_inc(s), idx), probe);
}

/* True if record idx, whose owner word was `owner`, may be taken. */
static bool
can_take(struct lhi_view *v, uint32_t idx, uint64_t owner, bool probe)
{
	uint64_t slot = vown_whose(owner), w;
	struct shm_slot *s;

	switch (vown_kind(owner)) {
	case VALUE_FREE:
		return true;
	case VALUE_HELD:
		if (!is_holder_gone(v, owner, probe))
			return false;
		slot = sh64_load(&v->values[idx].slot);
		break;
	case VALUE_OWNED:
		break;
	default:
		return false;
	}
	s = slot <= UINT32_MAX ? lhi_slot(v, (uint32_t)slot) : NULL;
	if (s == NULL || vlink_idx(sh64_load_sc(&s->value)) != idx)
		return true;
	w = sh64_load(&s->word);
	return word_mode(w) == WORD_NONE && word_idx(w) == NONE_UNUSED;
}

static uint64_t
held_by(uint64_t sid, uint64_t owner)
{
	return vown_make(VALUE_HELD, sid, vown_count(owner) + 1);
}

/* Takes one of `looks` records, from the last found one on; or returns 0. */
static uint32_t
take_record(struct lhi_view *v, struct lhi_setting *t, uint32_t looks,
    bool probe)
{
	uint32_t n = lhi_values_ready(v);
	uint32_t from = sh32_load_rlx(&v->hdr->value_next) % n;

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t idx = (from + i) % n;
		uint64_t owner, mine;

		if (idx == 0)
			continue;
		owner = sh64_load(&v->values[idx].owner);
		if (!can_take(v, idx, owner, probe))
			continue;
		lhi_point("value.judged");
		mine = held_by(t->sid, owner);
		if (sh64_cas(&v->values[idx].owner, owner, mine)) {
			t->mine = mine;
			sh32_store_rlx(&v->hdr->value_next, idx + 1);
			return idx;
		}
	}
	return 0;
}

static int
find_record(struct lhi_view *v, struct lhi_setting *t)
{
	int grown = 1;
	uint32_t n = 0;

	t->idx = take_record(v, t, LOOKS, false);
	while (t->idx == 0 && grown == 1 && LHI_WITHIN(n, LHI_GROWS_MAX)) {
		uint32_t from = lhi_values_ready(v);

		grown = from < VALUES_MAX ? lhi_grow_values(v) : 0;
		if (grown == 1) {
			sh32_store_rlx(&v->hdr->value_next, from);
			t->idx = take_record(v, t, LOOKS, false);
		}
	}
	if (LHI_REACHED(n, LHI_GROWS_MAX))
		return lhi_damaged_restless(v, "the count of values", n);
	if (t->idx == 0)
		t->idx = take_record(v, t, lhi_values_ready(v), true);
	if (t->idx != 0)
		return 0;
	if (grown < 0 && grown != -ENOSPC)
		return grown;
	return lhi_fail(-ENOSPC, "there is no room for another value: all %u "
	    "are in use; clear some (leasehold value clear%s KEY), or %s",
	    lhi_values_ready(v) - 1, TABLE_WORDS(v->path), grown < 0 ?
	    "make room in /dev/shm, or enlarge it, so that the table can grow" :
	    "use a table with more keys");
}

int
lhi_value_begin(struct lhi_view *v, struct lhi_setting *t, uint64_t sid,
    struct shm_slot *s, uint64_t token, const void *bytes, size_t len)
{
	uint64_t word[WORDS] = { 0 };
	struct shm_value *r;
	int error;

	memset(t, 0, sizeof(*t));
	t->slot = s;
	t->sid = sid;
	if (len == 0)
		return 0;
	error = find_record(v, t);			/* VL1 */
	if (error != 0)
		return error;
	lhi_point("value.taken");
	r = &v->values[t->idx];
	memcpy(word, bytes, len);
	sh64_store(&r->slot, lhi_slot_idx(v, s));
	sh64_store(&r->token, token);
	sh64_store(&r->size, size_and_sum(bytes, len, token));
	for (size_t i = 0; i < (len + 7) / 8; i++)
		sh64_store(&r->byte[i], word[i]);
	return 0;
}

/* Gives up our record, by owner word `held`: if the slot leads to it, it is its
 * value, and stays (I2: no other process could lead to it again). */
static void
give_back_record(struct lhi_view *v, struct lhi_setting *t, uint32_t idx,
    uint64_t held)
{
	bool used = vlink_idx(sh64_load_sc(&t->slot->value)) == idx;
	uint64_t to = vown_make(used ? VALUE_OWNED : VALUE_FREE,
	    used ? lhi_slot_idx(v, t->slot) : 0, vown_count(held) + 1);

	if (held != 0)
		(void)sh64_cas(&v->values[idx].owner, held, to);
}

void
lhi_value_look(struct lhi_view *v, struct lhi_setting *t)
{
	struct shm_value *r;
	uint64_t owner;

	t->held = 0;
	t->from = sh64_load_sc(&t->slot->value);
	t->old = vlink_idx(t->from);
	t->to = vlink_make(t->idx, vlink_tag(t->from) + 1);
	r = record_at(v, t->old);
	if (r == NULL)
		return;
	owner = sh64_load(&r->owner);
	if (!(vown_kind(owner) == VALUE_OWNED &&
	    vown_whose(owner) == lhi_slot_idx(v, t->slot)) &&
	    !(vown_kind(owner) == VALUE_HELD && is_holder_gone(v, owner, true)))
		return;
	/* it is the value, and was when its owner word was read (I3) */
	if (sh64_load_sc(&t->slot->value) != t->from)
		return;
	lhi_point("value.seen");
	t->held = held_by(t->sid, owner);
	if (!sh64_cas(&r->owner, owner, t->held))		/* VL2 */
		t->held = 0;
}

bool
lhi_value_swap(struct lhi_view *v, struct lhi_setting *t)
{
	lhi_point("value.held");
	if (sh64_cas(&t->slot->value, t->from, t->to)) {	/* VL3 */
		lhi_point("value.swapped");
		return true;
	}
	give_back_record(v, t, t->old, t->held);
	return false;
}

void
lhi_value_keep(struct lhi_view *v, struct lhi_setting *t)
{
	give_back_record(v, t, t->idx, t->mine);		/* VL4 */
	lhi_point("value.owned");
	give_back_record(v, t, t->old, t->held);
}

void
lhi_value_undo(struct lhi_view *v, struct lhi_setting *t)
{
	uint32_t to = t->held != 0 ? t->old : 0;

	(void)sh64_cas(&t->slot->value, t->to,
	    vlink_make(to, vlink_tag(t->to) + 1));		/* VL5 */
	lhi_point("value.undone");
	give_back_record(v, t, t->idx, t->mine);
	give_back_record(v, t, t->old, t->held);
}

void
lhi_value_drop(struct lhi_view *v, struct lhi_setting *t)
{
	give_back_record(v, t, t->idx, t->mine);
	give_back_record(v, t, t->old, t->held);
}

int
lhi_value_forget(struct lhi_view *v, struct shm_slot *s)
{
	uint32_t n = 0;
	uint64_t l;

	do {
		l = sh64_load(&s->value);
	} while (!sh64_cas(&s->value, l, vlink_make(0, vlink_tag(l) + 1)) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	return LHI_REACHED(n, LHI_SWAPS_MAX) ?
	    lhi_damaged_restless(v, "a link to a value", lhi_slot_idx(v, s)) :
	    0;
}
