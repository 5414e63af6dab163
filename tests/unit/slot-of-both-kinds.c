/* SPDX-License-Identifier: MIT */
/*
 * G1: a slot that was an ordinary key's, then a cluster key's, then another
 * ordinary one's does not come back to a word that it had.  A process that
 * remembers the first key's last release would take the third key for it, while
 * another has the first one, which was made anew elsewhere.
 *
 * Nor is a cluster key's free word ever an ordinary one's, whatever its base.
 */
#include <errno.h>
#include <pthread.h>
#include "op/cluster_check.h"
#include "op/lease_check.h"
#include "proc/attachment.h"
#include "shm/cluster_right.h"
#include "support/support.h"
#include "tap.h"

#define GRANTS 6000
#define NAME_MAX_ 32

static const char *table;
static struct lh *one, *two;
static struct lh_key *k;
static uint64_t left;		/* its version when it was last released */
static uint32_t slot;
static struct lh_lease held;

static struct lh *
attach(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;

	o.max_keys = 40;	/* so that a slot is soon used again */
	if (lh_open(&lh, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	lh->serves = true;	/* no cluster is asked */
	return lh;
}

static uint64_t
take(const char *key, uint32_t *in)
{
	struct lh_lease l = t_hold(two, key);

	*in = (uint32_t)l.key;
	if (lh_release(two, &l) != 0)
		fail("%s: %s", key, lh_error_detail());
	return l.token;
}

/* A key of that kind in the slot, or none. */
static uint64_t
make(const char *kind, char name[NAME_MAX_])
{
	uint32_t in;
	uint64_t t;

	for (int i = 0; i < 200; i++) {
		snprintf(name, NAME_MAX_, "%s%d", kind, i);
		t = take(name, &in);
		if (in == slot)
			return t;
		(void)lh_destroy(two, name);
	}
	fail("no key of that kind in the slot");
	return 0;
}

/* The slot belongs to others, and the first key is held, made anew. */
static void *
others(void *bits)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	uint64_t last = left, t, w;
	char name[NAME_MAX_];
	uint32_t in;

	is(lh_destroy(two, "first"), 0, "the first key goes");
	for (int turn = 0; turn < 4; turn++) {
		t = make("cluster:", name);
		ok(token_cluster(t), "a cluster key has its slot");
		w = sh64_load(&two->v.slots[slot].word);
		is(word_mode(w), WORD_FREE, "which is free");
		is(word_idx(w), FREE_CLUSTER, "and tells the kind");
		if (bits != NULL) {	/* the first one's versions, its own */
			struct lh_lease l = t_hold(two, name);
			struct lhi_ref ref = lhi_lease_ref(&two->v, &l);

			is(lhi_right_raise(&two->v, &ref, cluster_base(left >>
			    CLUSTER_SEQ_BITS)), 0, "a base that looks alike");
			is(lh_release(two, &l), 0, "released");
			do {
				t = take(name, &in);
			} while (t < cluster_base(0) + left);
			is_u64(t & MASK(VER_BITS), left & MASK(VER_BITS),
			    "it has the version that the first one had");
			break;
		}
		is(lh_destroy(two, name), 0, "it goes");
		t = make("third-", name);
		cmp(t, >, last, "an ordinary one has it, with larger tokens");
		last = t;
		is(lh_destroy(two, name), 0, "it goes");
	}
	is(lh_acquire(two, "first", &o, &held), 0, "the first is held again");
	cmp((uint32_t)held.key, !=, slot, "elsewhere");
	return NULL;
}

static void
play(void *bits)
{
	struct lh_acquire_opts o = t_opts(30000, 0);
	pthread_t thread;
	struct lh_lease l;

	table = t_table();
	one = attach();
	two = attach();
	is(lh_key_open(one, "first", 0, &k), 0, "an opened key");
	for (int i = 0; i < GRANTS; i++) {
		if (lh_key_acquire(k, &o, &l) != 0 || lh_release(one, &l) != 0)
			fail("%s", lh_error_detail());
	}
	left = l.token;
	slot = (uint32_t)l.key;
	if (pthread_create(&thread, NULL, others, bits) != 0)
		bail_out("pthread_create");
	pthread_join(thread, NULL);
	is(lh_key_acquire(k, &o, &l), -EAGAIN, "so another does not get it");
	is(lh_verify(two, &held), 0, "who holds it has it still");
	is(lh_release(two, &held), 0, "and releases it");
	is(lh_key_acquire(k, &o, &l), 0, "then it is granted");
	cmp(l.token, >, held.token, "with a larger token");
	is(lh_release(one, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
	is(lh_close(two), 0, "the other closes");
	t_close(one);
}

int
main(void)
{
	play(NULL);
	play(&slot);
	return done();
}
