/* SPDX-License-Identifier: MIT */
/*
 * The whole-table checker: is everything in shared memory as the protocol says?
 *
 * It takes no lock and changes nothing but what any process would complete.
 * While others work, a finding may be a change under way.  So each part is
 * judged up to 50 times a little apart, and only what is wrong every time is a
 * finding.  States that a crash may leave (half-made keys, unreferenced claims,
 * marked links) are not findings.  These are:
 *
 *	header	as this build would have made it
 *	session	a known state; NAMED: an end of its own incarnation
 *	chunk	owned by nobody, or by a session that exists(ed)
 *	claim	a known state; FREE: named by no word
 *	slot	a known word; X: a claim in range, in a state that can hold, of
 *		a chunk that has an owner, announced for this slot and life;
 *		S: a chain that ends, of such claims; a key's, its bucket's part
 *		of the list leads to it, but while it is being made
 *	queue	sorted, ends, every claim in range and announced for this slot
 *	bucket	its part of the list is sorted, ends, every slot in it is in
 *		use, and no key is twice
 *	token	every key's last token, and every floor, below the ceiling;
 *		a cluster key's above 2^62, its base not above their floor;
 *		the last one of all, where they rise over all keys
 *	long	a key's rest is its own
 *	request	is in a place of its own, and in no other
 *	value	in range, whole by its sum, in a record that is the slot's
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <leasehold.h>
#include "offline/check.h"
#include "offline/check_part.h"
#include "base/printable.h"
#include "base/error.h"
#include "base/hash.h"
#include "proc/attachment.h"
#include "shm/consistency.h"
#include "shm/damaged.h"
#include "shm/readers.h"
#include "shm/evict.h"
#include "shm/key_index.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/request_record.h"
#include "shm/table_object.h"
#include "shm/cluster_right.h"
#include "shm/value_record.h"

static bool
session_ok(struct check *k, uint32_t i)
{
	uint64_t s = sh64_load(&k->v->sessions[i].state);

	if (sess_st(s) > SESS_NAMED)
		return wrong(k, "session %u is in no known state (%u)", i,
		    sess_st(s));
	if (sess_flags(s) != 0 && (sess_flags(s) != MASK(SESS_FLAG_BITS) ||
	    sess_st(s) <= SESS_RESERVED))
		return wrong(k, "session %u has flags that there are not "
		    "(0x%x)", i, sess_flags(s));
	return lhi_named_sound(k->v, i) || wrong(k, "session %u is a "
	    "named one, and what it is does not fit its sum, or its end is "
	    "another's, or later than any that it can have", i);
}

static bool
chunk_ok(struct check *k, uint32_t i)
{
	uint64_t owner = sh64_load(&k->v->chunks[i].owner), s;

	if (owner == 0)
		return true;
	if (sid_idx(owner) >= k->v->geo.max_sessions)
		return wrong(k, "chunk %u belongs to session %u of %u", i,
		    sid_idx(owner), k->v->geo.max_sessions);
	s = sh64_load(&k->v->sessions[sid_idx(owner)].state);
	if (sid_inc(owner) > sess_inc(s))
		return wrong(k, "chunk %u belongs to a session yet to come",
		    i);
	return sid_idx(sh64_load(&k->v->chunks[i].keeper)) <
	    k->v->geo.max_sessions || wrong(k, "chunk %u is kept by "
	    "session %u of %u", i, sid_idx(sh64_load(&k->v->chunks[i].keeper)),
	    k->v->geo.max_sessions);
}

static bool
claim_ok(struct check *k, uint32_t i)
{
	struct shm_claim *c = &k->v->claims[i];
	uint64_t st = sh64_load(&c->state), w;
	struct shm_slot *s = lhi_slot(k->v, lhi_claim_slot(c));

	if (state_st(st) > ST_REVOKED && state_kind(st) != ST_HELD &&
	    state_kind(st) != ST_READ)
		return wrong(k, "claim %u is in no known state (%u)", i,
		    state_st(st));
	if (state_st(st) != ST_FREE && lhi_claim_owner(k->v, i) == 0)
		return wrong(k, "claim %u is in state %u, and nobody's", i,
		    state_st(st));
	if (s == NULL || state_st(st) != ST_FREE)
		return true;
	w = sh64_load(&s->word);
	return (word_mode(w) != WORD_X && word_mode(w) != WORD_S) ||
	    word_idx(w) != i || wrong(k, "claim %u is free, but slot "
	    "%u names it as its holder", i,
	    lhi_slot_idx(k->v, s));
}

struct readers {
	struct check *k;
	uint64_t slot_ref;
	bool sound;
};

static bool
reader_ok(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct readers *r = arg;
	struct shm_claim *c = &v->claims[ci];
	unsigned st = state_kind(sh64_load(&c->state));

	if (st != ST_READ && st != ST_HELD && st != ST_IDLE &&
	    st != ST_REVOKED &&
	    st != ST_EXPIRED && st != ST_BROKEN)
		r->sound = wrong(r->k, "claim %u is among the readers of slot "
		    "%u, in state %u", ci, (uint32_t)r->slot_ref, st);
	else if (sh64_load(&c->slot_ref) != r->slot_ref)
		r->sound = wrong(r->k, "claim %u is among the readers of slot "
		    "%u, but was announced for slot %u", ci,
		    (uint32_t)r->slot_ref, lhi_claim_slot(c));
	else if (lhi_claim_owner(v, ci) == 0)
		r->sound = wrong(r->k, "claim %u, a reader of slot %u, is "
		    "nobody's", ci, (uint32_t)r->slot_ref);
	return r->sound;
}

static bool
readers_ok(struct check *k, struct shm_slot *s, uint32_t idx)
{
	struct readers r = { k, lhi_slot_ref(idx, sh32_load(&s->gen)), true };
	int walk = lhi_readers_walk(k->v, s, reader_ok, &r);

	if (walk == -EUCLEAN)
		return wrong(k, "the readers of slot %u cannot be walked", idx);
	return walk == -EAGAIN || r.sound;
}

static bool
word_ok(struct check *k, struct shm_slot *s, uint64_t w)
{
	uint32_t idx = lhi_slot_idx(k->v, s), ci = word_idx(w);
	struct shm_claim *c;
	unsigned st;

	switch (word_mode(w)) {
	case WORD_NONE:
		return ci == NONE_UNUSED || ci == NONE_DYING ||
		    ci == NONE_COMMITTED || lhi_claim(k->v, ci) != NULL ||
		    wrong(k, "slot %u is reserved by claim %u of %u", idx, ci,
		    k->v->geo.n_claims);
	case WORD_FREE:
		return ci == (lhi_free_flags(s) | word_cause(w)) ||
		    wrong(k, "slot %u was freed for no known cause", idx);
	case WORD_X:
		c = lhi_claim(k->v, ci);
		if (c == NULL)
			return wrong(k, "slot %u is held by claim %u of %u",
			    idx, ci, k->v->geo.n_claims);
		st = state_kind(sh64_load(&c->state));
		if (st != ST_HELD && st != ST_READ && st != ST_EXPIRED &&
		    st != ST_BROKEN)
			return wrong(k, "slot %u is held by claim %u, which is "
			    "in state %u", idx, ci, st);
		if (sh64_load(&c->slot_ref) !=
		    lhi_slot_ref(idx, sh32_load(&s->gen)))
			return wrong(k, "slot %u is held by claim %u, which "
			    "was announced for slot %u", idx, ci,
			    lhi_claim_slot(c));
		return lhi_claim_owner(k->v, ci) != 0 ||
		    wrong(k, "slot %u is held by nobody's claim %u", idx, ci);
	default:
		return lhi_claim(k->v, ci) == NULL ? wrong(k, "slot %u is held "
		    "by reader %u of %u", idx, ci, k->v->geo.n_claims) :
		    readers_ok(k, s, idx);
	}
}

struct order {
	struct check *k;
	uint32_t slot, n;
	uint64_t rank;
	uint32_t ticket;
	bool sound;
};

static bool
check_order(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct order *o = arg;
	struct shm_claim *c = &v->claims[ci];
	uint64_t rank = lhi_queue_rank(c);
	uint32_t ticket = sh32_load_rlx(&c->ticket);

	if (lhi_claim_slot(c) != o->slot)
		o->sound = wrong(o->k, "claim %u waits in the queue of slot %u "
		    "but was announced for %u", ci, o->slot,
		    lhi_claim_slot(c));
	else if (o->n > 0 && (rank > o->rank ||
	    (rank == o->rank && (int32_t)(ticket - o->ticket) < 0)))
		o->sound = wrong(o->k, "the queue of slot %u is out of order "
		    "at claim %u", o->slot, ci);
	o->rank = rank;
	o->ticket = ticket;
	o->n++;
	return o->sound;
}

/* True if a key of that length owns the record in which it continues. */
static bool
rest_ok(struct check *k, struct shm_slot *s, uint32_t i, size_t len)
{
	uint32_t idx = sh32_load(&s->long_idx);

	return len <= SHM_KEY_INLINE || (idx < lhi_longs_ready(k->v) &&
	    sh64_load(&k->v->longs[idx].owner) ==
	    lhi_slot_ref(i, sh32_load(&s->gen))) ||
	    wrong(k, "slot %u does not own the rest of its key", i);
}

/* True if a key cannot be found, and no process is making it or was killed
 * while making it. */
static bool
is_lost(const struct check *k, struct shm_slot *s)
{
	/* when its maker has come to its end, it has been linked */
	struct shm_claim *c = lhi_claim(k->v, sh32_load(&s->maker));

	if (c != NULL && state_st(sh64_load(&c->state)) == ST_INSERT &&
	    lhi_claim_slot(c) == lhi_slot_idx(k->v, s))
		return false;
	return lhi_index_linked(k->v, s, sh64_load(&s->hash)) == 0;
}

static bool
token_ok(struct check *k, struct shm_slot *s, uint64_t w)
{
	const struct shm_header *h = k->v->hdr;
	uint64_t token = lhi_lock_token(s, w);

	if (lhi_right_has(s))
		return token >= CLUSTER_FIRST && token <= TOKEN_MAX;
	return token < sh64_load(&h->ceiling) &&
	    token >= sh64_load(&h->token_base);
}

/* True if it is a cluster key exactly when its name says so, with a sound
 * base. */
static bool
right_ok(struct check *k, struct shm_slot *s, uint32_t i, const char *key,
    size_t len)
{
	const struct lhi_key_name n = { .key = key, .len = len };
	uint64_t base = lhi_right_base(k->v, s);

	if (lhi_right_has(s) != lhi_right_wanted(k->v, &n))
		return wrong(k, "slot %u is a cluster key, or is not, against "
		    "its name", i);
	return base == 0 || (base >= CLUSTER_FIRST &&
	    base <= sh64_load(&k->v->hdr->cluster_floor)) ||
	    wrong(k, "slot %u has a base of tokens that is none", i);
}

/* A note has a kind, is no cluster key's, and its free word has a cause. */
static bool
consistency_ok(struct check *k, struct shm_slot *s, uint32_t i, uint64_t w)
{
	uint32_t is = sh32_load(&s->consistency);

	return is == 0 || (consistency_kind(is) != CONSISTENCY_NONE &&
	    !lhi_right_has(s) && word_mode(w) != WORD_S &&
	    (word_mode(w) != WORD_FREE || word_cause(w) != CAUSE_RELEASED)) ||
	    wrong(k, "slot %u notes a robust holder that there cannot be", i);
}

static bool
slot_ok(struct check *k, uint32_t i)
{
	struct shm_slot *s = &k->v->slots[i];
	uint64_t w = sh64_load(&s->word);
	struct order o = { .k = k, .slot = i, .sound = true };
	char key[SHM_KEY_MAX + 1];
	size_t len;
	int walk;

	if (!word_ok(k, s, w))
		return sh64_load(&s->word) != w;	/* it changed */
	walk = lhi_queue_walk(k->v, s, check_order, &o);
	if (walk == -EUCLEAN)
		return wrong(k, "the queue of slot %u cannot be walked", i);
	if (link_marked(sh64_load(&s->waitq)) && !lhi_view_retired(k->v))
		return wrong(k, "the queue of slot %u says that the table was "
		    "removed", i);
	/* a claim of an earlier key may be left in a slot without one */
	if (word_mode(w) == WORD_NONE)
		return true;
	len = lhi_slot_key(k->v, s, key);
	if (len == 0 || lhi_hash(key, len) != sh64_load_rlx(&s->hash))
		return wrong(k, "slot %u has a key that does not hash to what "
		    "it says", i);
	if (((sh32_load(&s->key_info) ^ KEY_LIFE(sh32_load(&s->gen))) &
	    ~KEY_SAID) != 0)
		return wrong(k, "slot %u has flags of another life", i);
	if (!rest_ok(k, s, i, len))
		return false;
	if (is_lost(k, s))
		return wrong(k, "no list leads to slot %u, which has a key",
		    i);
	if (!consistency_ok(k, s, i, w))
		return false;
	if (!lhi_named_delay_sound(s))
		return wrong(k, "slot %u is kept back until a time "
		    "that does not fit its sum", i);
	if (!lhi_value_sound(k->v, s))
		return wrong(k, "the value of slot %u is none", i);
	if (!token_ok(k, s, w))
		return wrong(k, "slot %u has a token outside the table's range",
		    i);
	if (!right_ok(k, s, i, key, len))
		return false;
	return walk == -EAGAIN || o.sound;
}

struct part {
	struct check *k;
	bool sound;
};

static bool
key_ok(struct lhi_view *v, uint32_t idx, void *arg)
{
	struct part *p = arg;
	struct shm_slot *s = &v->slots[idx];
	struct lhi_key_name n;
	struct lhi_ref ref;
	char key[SHM_KEY_MAX + 1], name[PRINTABLE_MAX(64)];

	/* half evicted, perhaps by a dead process: as any process would */
	if (lhi_evict_finish(v, s) < 0)
		return p->sound = wrong(p->k, "slot %u cannot be evicted", idx);
	n.len = lhi_slot_key(v, s, key);
	n.key = key;
	n.hash = sh64_load_rlx(&s->hash);
	if (n.len == 0 && lhi_index_linked(v, s, n.hash) == 0)
		return false;			/* it has just gone */
	if (n.len == 0)
		p->sound = wrong(p->k, "slot %u is linked, but not in use",
		    idx);
	else if (lhi_slot_find(v, &n, &ref) != 1 ||
		 (uint32_t)ref.slot_ref != idx)
		p->sound = wrong(p->k, "key '%s' is in the table twice",
		    lhi_printable_name(name, sizeof(name), key));
	return p->sound;
}

static bool
bucket_ok(struct check *k, uint32_t i)
{
	struct part p = { .k = k, .sound = true };
	int walk = lhi_index_walk(k->v, i, key_ok, &p);

	if (walk == -EUCLEAN)
		return wrong(k, "the part of bucket %u cannot be walked", i);
	return walk != 0 || p.sound;
}

static bool
request_ok(struct check *k, uint32_t i)
{
	const char *what = lhi_request_wrong(k->v, i);

	return what == NULL || wrong(k, "%s, in record %u", what, i);
}

static void
judge_all(struct check *k, uint32_t from, uint32_t n,
    bool (*ok)(struct check *k, uint32_t i))
{
	const struct timespec apart = { 0, 200000 };

	for (uint32_t i = from; i < n; i++) {
		int times = 0;

		while (!ok(k, i)) {
			if (++times >= k->times) {
				k->findings++;
				if (k->fn != NULL)
					k->fn(k->text, k->arg);
				break;
			}
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &apart, NULL);
		}
	}
}

int
lhi_check_view(struct lhi_view *v, int times,
    void (*fn)(const char *finding, void *arg), void *arg)
{
	struct check k = { .v = v, .fn = fn, .arg = arg, .times = times };

	if (sh64_load(&v->hdr->header_sum) != lhi_object_sum(v->hdr) ||
	    sh64_load(&v->hdr->object_len) != v->geo.object_len) {
		k.findings++;
		if (fn != NULL)
			fn("the header was changed", arg);
	}
	judge_all(&k, 0, 1, lhi_check_tokens);
	judge_all(&k, 0, SHM_SHARDS, lhi_check_shard);
	judge_all(&k, 0, v->geo.max_sessions, session_ok);
	judge_all(&k, 1, lhi_chunks_ready(v), chunk_ok);
	judge_all(&k, SHM_CHUNK, lhi_chunks_ready(v) * SHM_CHUNK, claim_ok);
	judge_all(&k, 1, lhi_slots_ready(v), slot_ok);
	judge_all(&k, 0, lhi_buckets_ready(v), bucket_ok);
	if (lhi_request_used(v))
		judge_all(&k, 0, v->geo.n_requests, request_ok);
	return k.findings;
}

int
lh_check(struct lh *lh, void (*fn)(const char *finding, void *arg), void *arg)
{
	int error = lhi_own_to_look(lh), n;

	if (error != 0)
		return error;
	n = lhi_check_view(&lh->v, LHI_CHECK_LIVE, fn, arg);
	if (n >= 0 && lhi_view_is_repairing(&lh->v)) {
		n++;
		if (fn != NULL)
			fn("a repair is unfinished: repair it again", arg);
	}
	if (n >= 0 && lhi_view_retired(&lh->v) && !lhi_view_removed(&lh->v)) {
		n++;
		if (fn != NULL)
			fn("the words of a removal are set, and neither the "
			    "owner nor root has begun one", arg);
	}
	if (n == 0)
		n = lhi_check_fence_sound(&lh->v);
	return lhi_damaged_or(&lh->v, n);
}
