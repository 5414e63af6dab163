/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of keys that come and go, and of tables that grow: see
 * scenario.h.
 *
 * Usual keys are made for good; with SC_LOOSE they may be evicted.  What
 * growing takes is brought about, not waited for: the hint where to look for
 * room is set to where there is none, or all groups of claims are taken.
 */
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "shm/claim_chunk.h"
#include "crash/subject.h"
#include "proc/attachment.h"

#define GROW_KEYS 4200u		/* a little more than a table begins with */

/* KEY has been used, and is free. */
static void
prep_used(struct trial *p)
{
	prep_warm(p);
	sub_hold(p, SUB_LONG_MS);
	sub_must(p, lh_release(sub.lh, &p->lease), "release");
	p->has_lease = false;
}

static void
evict_one(struct trial *p, const char *name)
{
	int64_t n = lh_evict(sub.lh, name, 0);

	if (n != 1)
		blame(p, "staging: %lld keys were evicted", (long long)n);
}

/* KEY is away. */
static void
prep_evicted(struct trial *p)
{
	prep_used(p);
	evict_one(p, KEY);
}

/* Made, and left to itself. */
static void
make_loose(struct trial *p, const char *name)
{
	struct lh_key *k;

	sub_must(p, lh_key_open(sub.lh, name, 0, &k), name);
	sub_must(p, lh_key_close(k), name);
}

/* ... and somebody else is in its place. */
static void
prep_squatted(struct trial *p)
{
	prep_evicted(p);
	make_loose(p, "squatter");
}

static void
prep_squatted_reader(struct trial *p)
{
	prep_squatted(p);
	sub.opts.mode = LH_SHARED;
}

/* Another key's place is empty. */
static void
prep_vacant(struct trial *p)
{
	prep_warm(p);
	evict_one(p, THIRD);
}

/* A long key was here before. */
static void
prep_long_evicted(struct trial *p)
{
	prep_warm(p);
	make_loose(p, sub.long_key);
	evict_one(p, sub.long_key);
}

/* Not used since the look. */
static void
prep_aged(struct trial *p)
{
	prep_used(p);
	if (lh_evict(sub.lh, KEY, 1) != 0)
		blame(p, "staging: evicted at the first look");
	trial_nap_us(3000);
}

/* Free, with somebody in the queue who is dead. */
static void
prep_forsaken(struct trial *p)
{
	prep_warm(p);
	flag_set(&p->part[0].order, ORDER_RELEASE);
	if (!flag_wait(&p->part[0].state, PART_LEFT, 2000))
		blame(p, "staging: the holder does not go");
}

static int
count(const struct lh_key_info *info, void *arg)
{
	(void)info;
	++*(uint32_t *)arg;
	return 0;
}

/* As many keys as there is room for, idle. */
static void
prep_full(struct trial *p)
{
	char name[32];
	uint32_t n = 0;

	prep_used(p);
	sub_must(p, lh_list(sub.lh, NULL, count, &n), "list");
	for (; n < p->opts.max_keys; n++) {
		(void)snprintf(name, sizeof(name), "idle-%u", n);
		make_loose(p, name);
	}
}

/* As in shm/key_index.c. */
static uint32_t
bucket_of(struct lhi_view *v, uint64_t hash)
{
	uint32_t b = 0;

	for (int i = 0; i < 32; i++)
		b |= (uint32_t)(hash >> (63 - i) & 1) << i;
	return b & (lhi_buckets_ready(v) - 1);
}

static bool
is_made(struct lhi_view *v, uint32_t bucket)
{
	return sh64_load(&v->buckets[bucket]) != 0;
}

/* A name whose bucket, and that bucket's parent, are not made yet. */
static void
prep_remote(struct trial *p)
{
	struct lhi_view *v;

	prep_warm(p);
	v = &sub.lh->v;
	for (int i = 0; i < 10000; i++) {
		int len = snprintf(sub.long_key, sizeof(sub.long_key),
		    "remote-%d", i);
		uint32_t b = bucket_of(v, lhi_hash(sub.long_key,
		    (size_t)len));

		if (b > 1 && !is_made(v, b) &&
		    !is_made(v, b ^ 1u << (31 - __builtin_clz(b))))
			return;
	}
	blame(p, "staging: every bucket has been made");
}

/* There is nothing where room for a key is looked for. */
static void
prep_grow(struct trial *p)
{
	struct lhi_view *v;

	prep_warm(p);
	v = &sub.lh->v;
	sh32_store_rlx(&v->hdr->slot_next, lhi_slots_ready(v));
}

/* All records for the rest of a long key are in use. */
static void
prep_grow_long(struct trial *p)
{
	struct lhi_view *v;
	char name[80];

	prep_warm(p);
	v = &sub.lh->v;
	for (uint32_t i = 1; i < lhi_longs_ready(v); i++) {
		(void)snprintf(name, sizeof(name), "%060u", i);
		make_loose(p, name);
	}
}

/* All claims are given out. */
static void
prep_grow_claims(struct trial *p)
{
	struct lhi_view *v;
	uint32_t free = 0;

	prep_bare(p);
	v = &sub.lh->v;
	for (uint32_t i = 1; i < lhi_chunks_ready(v); i++)
		free += sh64_load(&v->chunks[i].owner) == 0;
	while (free-- > 0)
		if (lhi_chunk_take(v, sub.lh->sid) < 0)
			blame(p, "staging: no claims");
}

static void
act_create(struct trial *p)
{
	p->result = lh_key_create(sub.lh, KEY);
}

static void
act_create_new(struct trial *p)
{
	p->result = lh_key_create(sub.lh, "brand-new");
}

static void
evict(struct trial *p, const char *prefix, int64_t idle_ms)
{
	int64_t n = lh_evict(sub.lh, prefix, idle_ms);

	p->result = n < 0 ? (int)n : 0;
}

static void
act_evict(struct trial *p)
{
	evict(p, KEY, 0);
}

static void
prep_kept(struct trial *p)
{
	prep_used(p);
	sub_must(p, lh_key_create(sub.lh, KEY), "keep it");
}

static void
act_destroy(struct trial *p)
{
	p->result = lh_destroy(sub.lh, KEY);
}

static void
act_evict_aged(struct trial *p)
{
	evict(p, KEY, 1);
}

static void
act_evict_all(struct trial *p)
{
	evict(p, NULL, 0);
}

const struct scenario scenario_evicting = {
	.name = "evicting", .what = "evicts a key", .flags = SC_LOOSE,
	.prepare = prep_used, .act = act_evict
};

static const struct scenario scenarios_keys[] = {
	{ .name = "key-first", .what = "the table's first key",
	  .roles = { FOUNDER }, .flags = SC_EMPTY, .prepare = prep_bare,
	  .act = act_acquire_name, .finish = finish_acquire },
	{ .name = "key-bucket", .what = "one that needs a bucket and its "
	  "parent made", .max_keys = 64, .prepare = prep_remote,
	  .act = act_acquire_long, .finish = finish_alone },
	{ .name = "key-create", .what = "make a key for good",
	  .prepare = prep_warm, .act = act_create_new,
	  .finish = finish_plain },
	{ .name = "key-keep", .what = "keep a key that is there",
	  .flags = SC_LOOSE, .prepare = prep_used, .act = act_create,
	  .finish = finish_plain },
	{ .name = "grow-keys", .what = "a key for which there is no room yet, "
	  "nor buckets", .max_keys = GROW_KEYS, .prepare = prep_grow,
	  .act = act_acquire_new, .finish = finish_alone },
	{ .name = "grow-long", .what = "a long key for which there is no room "
	  "yet", .max_keys = GROW_KEYS, .prepare = prep_grow_long,
	  .act = act_acquire_long, .finish = finish_alone },
	{ .name = "grow-claims", .what = "a lease for which there is no claim "
	  "yet", .roles = { FOUNDER }, .max_leases = 17000,
	  .prepare = prep_grow_claims, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "evict", .what = "a key on demand", .flags = SC_LOOSE,
	  .prepare = prep_used, .act = act_evict, .finish = finish_plain },
	{ .name = "destroy", .what = "a key that was made for good",
	  .flags = SC_LOOSE, .prepare = prep_kept, .act = act_destroy,
	  .finish = finish_plain },
	{ .name = "evict-aged", .what = "a key that was long idle",
	  .flags = SC_LOOSE, .prepare = prep_aged, .act = act_evict_aged,
	  .finish = finish_plain },
	{ .name = "evict-all", .what = "all keys on demand",
	  .flags = SC_LOOSE, .prepare = prep_used, .act = act_evict_all,
	  .finish = finish_plain },
	{ .name = "evict-forsaken", .what = "a key that a dead one waits for",
	  .roles = { HOLDER, DEAD_WAITER }, .flags = SC_LOOSE,
	  .prepare = prep_forsaken, .act = act_evict,
	  .finish = finish_plain },
	{ .name = "evict-pressure", .what = "make a key when there is no room",
	  .max_keys = 8, .flags = SC_LOOSE, .prepare = prep_full,
	  .act = act_acquire_new, .finish = finish_alone },
	{ .name = "evict-half-1", .what = "acquire what a dead one was "
	  "evicting: it was dying", .roles = { DEAD_EVICTOR(1) },
	  .flags = SC_LOOSE, .prepare = prep_bare, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "evict-half-3", .what = "... committed",
	  .roles = { DEAD_EVICTOR(3) }, .flags = SC_LOOSE,
	  .prepare = prep_bare, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "evict-half-4", .what = "... marked",
	  .roles = { DEAD_EVICTOR(4) }, .flags = SC_LOOSE,
	  .prepare = prep_bare, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "evict-half-5", .what = "... unlinked",
	  .roles = { DEAD_EVICTOR(5) }, .flags = SC_LOOSE,
	  .prepare = prep_bare, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "evict-half-evict", .what = "evict all, one of them half "
	  "evicted", .roles = { DEAD_EVICTOR(3) }, .flags = SC_LOOSE,
	  .prepare = prep_bare, .act = act_evict_all,
	  .finish = finish_plain },
	{ .name = "evict-half-full", .what = "make a key when there is no room "
	  "but one half evicted", .roles = { DEAD_EVICTOR(5) },
	  .flags = SC_LOOSE, .max_keys = 3, .prepare = prep_bare,
	  .act = act_acquire_new, .finish = finish_alone },
	{ .name = "evicted-opened", .what = "acquire an opened key that is "
	  "away", .flags = SC_LOOSE, .prepare = prep_evicted,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "evicted-squatted", .what = "... with another key in its "
	  "place", .flags = SC_LOOSE, .prepare = prep_squatted,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "evicted-shared", .what = "the same, to read",
	  .flags = SC_LOOSE, .prepare = prep_squatted_reader,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "key-recycled", .what = "make a key where another was",
	  .flags = SC_LOOSE, .prepare = prep_vacant, .act = act_acquire_new,
	  .finish = finish_alone },
	{ .name = "key-recycled-long", .what = "make a long key where one was",
	  .flags = SC_LOOSE, .prepare = prep_long_evicted,
	  .act = act_acquire_long, .finish = finish_alone },
};

SCENARIOS(scenarios_keys)
