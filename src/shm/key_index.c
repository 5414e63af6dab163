/* SPDX-License-Identifier: MIT */
/*
 * The index: finds the slot of a key.
 *
 * Layout.  All keys are in one list, sorted by hash (the whole 64 bits; equal
 * ones in the order of insertion). Buckets are nodes of the same list, as short
 * cuts into it.  At level L there are 2^L of them in use, and bucket b is
 * before every key whose hash is at least the bits of b in reverse order.  So
 * the keys of bucket b are those whose upmost L bits are b reversed.  When the
 * level rises, each bucket's part of the list is halved by a new one, and no
 * key moves.  (Split-ordered lists: Shalev, Shavit 2006; the list is Harris's
 * and Michael's, as the wait queue is.)
 *
 *	bucket 0 -> 0x1c.. -> 0x3f.. -> bucket 2 -> 0x40.. -> bucket 1 -> ...
 *
 * A node's link is slot.next, or the bucket's word: {mark, idx, tag}, idx a
 * slot, or SLINK_BUCKET and a bucket, or 0, the end.  Every write of a link
 * increments its tag, which is never reset, also when a slot is used again
 * elsewhere.  The mark of a slot's link says that the slot is out.  That of a
 * bucket's word, INIT, says that the bucket may not be linked yet.  A word of 0
 * says that it was never needed.
 *
 * Invariants.
 *  I1	An unmarked link of a linked node is changed only by a swap of its exact
 *	value.
 *  I2	hash, key and gen of a linked slot are constant (key_slot.c,
 *	key_bytes.c).
 *  I3	A slot is used for another key only after a walk past its place has
 *	shown that no link leads to it (evict.c).
 *  I4	Each hop is validated: after a node has been read, the link that led to
 *	it must still have its exact value; else the walk begins again.  The
 *	result is validated once more when its key has been read: a slot that is
 *	being made is complete, and FREE, before it is linked, and a caller that
 *	took it for the key would have one that others cannot find, and make
 *	again.
 *  I5	A key is linked by a swap of the very link that led past all keys of its
 *	hash, none of which was this one: no key is in the table twice.
 *  I6	Buckets stay.
 *
 * Making bucket b.  The process that needs it makes it, its parents first (b
 * without its topmost bit, and so on, down to bucket 0, the head); any number
 * at once:
 *	1 from the parent, find its place: the link `pred` -> cur
 *	2 load b's word; it is made, or b is in the list: done
 *	3 see that pred is still the same
 *	4 swap b's word to {INIT, cur}
 *	5 swap pred to lead to b
 *	6 swap b's word to {cur}, without INIT
 * A process that finds b in the list does step 6 before anything else.  So in
 * the list only words without INIT are changed, and steps 4 and 6 never undo
 * changes behind b.  One maker may do step 4 after another one's step 4 or 5.
 * Its step 3 came after it saw the first one's word.  If the first one's step 5
 * had been done by then, its pred would have changed (b is between it and cur).
 * So at its step 3 both had the same pred, and cur with it, because the first
 * one's step 5 can only succeed while pred has not changed since the first
 * one's own step 3. It therefore writes the value that is there, or, if step 6
 * has been done meanwhile, fails.
 *
 * A crash or stop of
 *	insert, before its last swap	the slot is not linked (key_slot.c)
 *	make, anywhere			others make the bucket
 *	unlinking			any walk past the place does it
 * No process ever waits for another here.
 *
 * A walk for a key by name that finds a slot of its hash without a key reports
 * that and stops: the caller completes the slot's eviction (key_slot.c) and
 * walks again.  A walk for a slot reads no names, and so never stops for that:
 * eviction itself relies on it.
 *
 * Not guaranteed: how long a walk is.  Buckets are added so that there is one
 * for each key (backing_grow.c); chance makes some parts longer.
 */
#include <errno.h>
#include "shm/damaged.h"
#include "shm/key_index.h"
#include "shm/key_bytes.h"
#include "shm/key_token.h"

/* as in wait_queue.c: retries before a list that keeps changing is called
 * damaged */
#define PASSES_MAX 100000u
#define BAD_MAX 3
#define PATH_MAX_ROUNDS 1000u

/* The target of a walk: a key, a slot of that hash, or a bucket. */
struct aim {
	uint64_t place;		/* hash, or the bucket's place */
	const struct lhi_key_name *name;
	uint32_t node;
	uint32_t gen;		/* of the slot that was found by its name */
};

struct spot {
	shm_u64 *pred;		/* link that leads to cur */
	uint64_t pred_link;	/* its value */
	uint32_t cur;		/* 0: end */
};

/* A node as it was read. */
struct node {
	shm_u64 *link;
	uint64_t next;		/* what it was */
	uint64_t place;
	struct shm_slot *slot;	/* NULL: it is a bucket */
};

static uint64_t
reverse_bits(uint64_t x)
{
	x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
	x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
	x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
	return __builtin_bswap64(x);
}

static uint32_t
bucket_of(struct lhi_view *v, uint64_t hash)
{
	return (uint32_t)reverse_bits(hash) & (lhi_buckets_ready(v) - 1);
}

static bool
is_made(uint64_t word)
{
	return word != 0 && !slink_marked(word);
}

static void
start_at_bucket(struct lhi_view *v, uint32_t b, struct spot *at)
{
	at->pred = &v->buckets[b];
	at->pred_link = sh64_load(at->pred);
	at->cur = slink_idx(at->pred_link);
}

static void
advance_past(const struct node *n, struct spot *at)
{
	at->pred = n->link;
	at->pred_link = n->next;
	at->cur = slink_idx(n->next);
}

static bool
unlink_marked(const struct node *n, struct spot *at)
{
	uint64_t past = slink_after(at->pred_link, slink_idx(n->next));

	if (!sh64_cas(at->pred, at->pred_link, past))
		return false;
	at->pred_link = past;
	at->cur = slink_idx(past);
	return true;
}

/* Reads a node of the list. Returns false if its index is impossible. */
static bool
read_node(struct lhi_view *v, uint32_t idx, struct node *n)
{
	uint32_t b = idx & ~SLINK_BUCKET, tries = 0;
	uint64_t w;

	if (!(idx & SLINK_BUCKET)) {
		n->slot = lhi_slot(v, idx);
		if (n->slot == NULL)
			return false;
		n->link = &n->slot->next;
		n->place = sh64_load(&n->slot->hash);
		n->next = sh64_load(n->link);
		return true;
	}
	if (b >= lhi_buckets_ready(v))
		return false;
	n->slot = NULL;
	n->link = &v->buckets[b];
	n->place = reverse_bits(b);
	while (slink_marked(w = sh64_load(n->link)) &&		/* step 6 */
	    !lhi_mutant_on(bucket_unfinished) &&
	    LHI_WITHIN(tries, LHI_SWAPS_MAX))
		(void)sh64_cas(n->link, w, slink_after(w, slink_idx(w)));
	n->next = w;
	return is_made(w);
}

enum verdict { BEFORE, FOUND, BEHIND, CHANGING };

/* Compares the validated node with the target. */
static enum verdict
compare_node(struct lhi_view *v, uint32_t idx, const struct node *n,
    struct aim *aim)
{
	int same;

	if (idx == aim->node)
		return FOUND;
	if (n->place > aim->place)
		return BEHIND;
	if (aim->node & SLINK_BUCKET)	/* it is before its equals */
		return n->place == aim->place ? BEHIND : BEFORE;
	if (n->place < aim->place || n->slot == NULL || aim->name == NULL)
		return BEFORE;
	same = lhi_key_match(v, n->slot, aim->name, &aim->gen);
	return same < 0 ? CHANGING : same ? FOUND : BEFORE;
}

/*
 * Walks from bucket b, which is made, to the target (1, *at leads to it), or to
 * its place (0); unlinks marked slots up to there.  -EAGAIN, for a key only:
 * *at leads to a slot that may be it, and has no key now.  -EUCLEAN.
 */
static int
find_place_from(struct lhi_view *v, uint32_t b, struct aim *aim,
    struct spot *at)
{
	uint32_t set_out = lhi_mutant_on(limit_of_before) ?
	    lhi_slots_ready(v) + lhi_buckets_ready(v) : 0;

	for (uint32_t pass = 0, bad = 0; pass < PASSES_MAX && bad < BAD_MAX;
	    pass++) {
		uint32_t limit = lhi_mutant_on(limit_of_before) ? set_out :
		    lhi_slots_ready(v) + lhi_buckets_ready(v);
		uint64_t place = reverse_bits(b);
		uint32_t hops = 0;

		for (start_at_bucket(v, b, at); hops <= limit; hops++) {
			enum verdict verdict;
			struct node n;
			bool there;

			if (at->cur == 0)
				return 0;
			there = read_node(v, at->cur, &n);
			lhi_point("index.node_read");
			if (sh64_load(at->pred) != at->pred_link)
				break;				/* I4 */
			lhi_point("index.validated");
			if (!there || n.place < place) {
				bad++;
				break;
			}
			place = n.place;
			if (slink_marked(n.next)) {
				if (!unlink_marked(&n, at))
					break;
				continue;
			}
			verdict = compare_node(v, at->cur, &n, aim);
			if (verdict == FOUND &&
			    sh64_load(at->pred) != at->pred_link &&
			    !lhi_mutant_on(found_unlinked))
				break;				/* I4 */
			if (verdict == FOUND)
				return 1;
			if (verdict == BEHIND)
				return 0;
			if (verdict == CHANGING)
				return -EAGAIN;
			advance_past(&n, at);
		}
		bad += hops > limit;
	}
	return lhi_damaged(v, "the list of keys cannot be walked", b, at->cur);
}

/* Makes bucket b; its parent is made. */
static int
make_bucket(struct lhi_view *v, uint32_t parent, uint32_t b)
{
	struct aim aim = { .place = reverse_bits(b),
	    .node = SLINK_BUCKET | b };
	shm_u64 *word = &v->buckets[b];

	for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
		struct spot at;
		int found = find_place_from(v, parent, &aim, &at); /* step 1 */
		uint64_t w = sh64_load(word), init;		/* step 2 */

		if (found != 0 || is_made(w))
			return found < 0 ? found : 0;
		if (sh64_load(at.pred) != at.pred_link)		/* step 3 */
			continue;
		lhi_point("index.preparing");
		init = slink_after(w, at.cur) | SLINK_MARK;
		if (!sh64_cas(word, w, init))			/* step 4 */
			continue;
		lhi_point("index.prepared");
		if (!sh64_cas(at.pred, at.pred_link,		/* step 5 */
		    slink_after(at.pred_link, SLINK_BUCKET | b)))
			continue;
		lhi_point("index.bucket_linked");
		/* step 6 */
		(void)sh64_cas(word, init, slink_after(init, at.cur));
		return 0;
	}
	return lhi_damaged(v, "a bucket cannot be made", b, parent);
}

/* Returns the bucket that b's part of the list was split off from. */
static uint32_t
parent_of(uint32_t b)
{
	return b == 0 ? 0 : b ^ 1u << (31 - __builtin_clz(b));
}

/* Makes a bucket, and those that it needs. Returns 0; -EUCLEAN. */
static __attribute__((noinline, cold)) int
make_bucket_path(struct lhi_view *v, uint32_t b)
{
	uint64_t head = sh64_load(&v->buckets[0]);
	uint32_t child, n = 0;
	int error = 0;

	/* the head is behind nothing: a swap makes it */
	if (!is_made(head) && (head != 0 || (!sh64_cas(&v->buckets[0], 0,
	    slink_after(0, 0)) && !is_made(sh64_load(&v->buckets[0])))))
		return lhi_damaged(v, "the head of the list of keys", head, 0);
	/* each round makes one; no bucket has more than 32 above it */
	while (error == 0 && !is_made(sh64_load(&v->buckets[b])) &&
	    LHI_WITHIN(n, PATH_MAX_ROUNDS)) {
		child = b;
		/* ends: parent_of(child) < child, and 0 has no parent */
		while (child != 0 &&
		    !is_made(sh64_load(&v->buckets[parent_of(child)])))
			child = parent_of(child);
		error = child == 0 ? -EUCLEAN :
		    make_bucket(v, parent_of(child), child);
	}
	if (error == -EUCLEAN || LHI_REACHED(n, PATH_MAX_ROUNDS))
		return lhi_damaged(v, "a bucket cannot be made", b, n);
	return error;
}

static int
find_place(struct lhi_view *v, struct aim *aim, struct spot *at)
{
	uint32_t b = bucket_of(v, aim->place);
	int error = 0;

	if (!is_made(sh64_load(&v->buckets[b])))
		error = make_bucket_path(v, b);
	return error != 0 ? error : find_place_from(v, b, aim, at);
}

static void
set_ref(struct lhi_view *v, uint32_t idx, uint32_t gen, struct lhi_ref *ref)
{
	ref->slot = &v->slots[idx];
	ref->slot_ref = lhi_slot_ref(idx, gen);
}

int
lhi_index_find(struct lhi_view *v, const struct lhi_key_name *n,
    struct lhi_ref *ref)
{
	struct aim aim = { .place = n->hash, .name = n };
	struct spot at;
	int found = find_place(v, &aim, &at);

	if (found == 1)
		set_ref(v, at.cur, aim.gen, ref);
	else if (found == -EAGAIN)
		ref->slot = &v->slots[at.cur];
	return found != 0 ? found : lhi_damaged_or(v, 0);
}

int
lhi_index_insert(struct lhi_view *v, struct shm_slot *s,
    const struct lhi_key_name *n, struct lhi_ref *ref)
{
	struct aim aim = { .place = n->hash, .name = n };
	uint32_t idx = lhi_slot_idx(v, s);
	/* once it is linked it may be evicted, and get another key */
	uint32_t gen = sh32_load(&s->gen);
	struct spot at;
	uint32_t n_lost = 0;

	while (LHI_WITHIN(n_lost, PASSES_MAX)) {
		int found = find_place(v, &aim, &at);

		if (found != 0) {
			if (found == 1)
				set_ref(v, at.cur, aim.gen, ref);
			else if (found == -EAGAIN)
				ref->slot = &v->slots[at.cur];
			return found;
		}
		lhi_point("slot.placed");
		/* with the floor of keys evicted before its place was found
		 * empty */
		found = lhi_slot_publish(v, s);
		if (found != 0)
			return found;
		/*
		 * no other process writes the link of a slot that is not linked
		 */
		sh64_store(&s->next, slink_after(sh64_load(&s->next), at.cur));
		lhi_point("slot.linking");
		if (sh64_cas(at.pred, at.pred_link,
		    slink_after(at.pred_link, idx))) {
			lhi_point("slot.linked");
			if (lhi_mutant_on(next_life))
				gen = sh32_load(&s->gen);
			set_ref(v, idx, gen, ref);
			return 0;
		}
	}
	return lhi_damaged_restless(v, "the place of a key", idx);
}

int
lhi_index_linked(struct lhi_view *v, struct shm_slot *s, uint64_t hash)
{
	struct aim aim = { .place = hash, .node = lhi_slot_idx(v, s) };
	struct spot at;

	return find_place(v, &aim, &at);
}

int
lhi_index_walk(struct lhi_view *v, uint32_t b,
    bool (*fn)(struct lhi_view *v, uint32_t idx, void *arg), void *arg)
{
	const uint32_t limit = lhi_slots_ready(v);
	uint32_t hops = 0;
	uint64_t place = reverse_bits(b);
	struct spot at;
	struct node n;

	if (!is_made(sh64_load(&v->buckets[b])))
		return -ENOENT;
	start_at_bucket(v, b, &at);
	while (at.cur != 0) {
		bool there = read_node(v, at.cur, &n);

		if (sh64_load(at.pred) != at.pred_link)
			return -EAGAIN;
		if (!there || n.place < place || !LHI_WITHIN(hops, limit))
			return -EUCLEAN;
		/* the next bucket; one that leads back is none */
		if (n.slot == NULL)
			return n.place > reverse_bits(b) ? 0 : -EUCLEAN;
		place = n.place;
		if (slink_marked(n.next)) {
			if (!unlink_marked(&n, &at))
				return -EAGAIN;
			continue;
		}
		if (!fn(v, at.cur, arg))
			return 0;
		advance_past(&n, &at);
	}
	return 0;
}
