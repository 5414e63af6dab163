/* SPDX-License-Identifier: MIT */
/*
 * Takes a snapshot of a key, with its holders and waiters, as it was at one
 * moment.  lh_status(), lh_list() and lh_explain() call it.
 *
 * The key's word, readers and queue are read twice, and again until both
 * readings agree.  If the key is too busy for that, the last attempt is used,
 * and the result says so (`moved`).  Each part of it was true when it was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "shm/consistency.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "inspect/snapshot.h"
#include "shm/cluster_right.h"
#include "shm/readers.h"
#include "shm/key_bytes.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/value_record.h"

#define SNAPSHOT_TRIES 20
#define WHOLE_TRIES 100000

static void
add_to_sum(struct lhi_snapshot *sn, uint32_t ci, uint64_t st)
{
	sn->sum = sn->sum * UINT64_C(0x9e3779b97f4a7c15) +
	    ((st >> ST_SHIFT) ^ (uint64_t)ci << 32);
}

static bool
add_waiter(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct lhi_snapshot *sn = arg;
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state), owner = lhi_claim_owner(v, ci);
	bool held = state_held(st);
	uint32_t flags = sh32_load(&c->wflags);
	bool reader = flags & WAITER_SHARED;
	struct lh_party *p;

	add_to_sum(sn, ci, st);
	if (held && (reader || ci == word_idx(sh64_load(&sn->slot->word))))
		return true;	/* granted, about to leave the queue */
	if (lhi_session_dead(v, owner, true))
		return true;	/* the first waiter will reclaim it */
	p = lhi_describe_claim_add(&sn->lh->v, &sn->waiters, ci);
	if (p == NULL)
		return false;
	p->mode = reader ? LH_SHARED : LH_EXCLUSIVE;
	p->priority = sh32_load_rlx(&c->priority);
	p->rank = sn->waiters.n;
	p->flags = (flags & WAITER_SUSPECT ? LH_PARTY_SUSPECT : 0) |
	    (flags & WAITER_STARVING ? LH_PARTY_STARVING : 0) |
	    (flags & WAITER_UPGRADE ? LH_PARTY_UPGRADE : 0);
	if (sn->rank == 0 && (sn->mine == 0 ? owner == sn->lh->sid :
	    sn->mine == ci))
		sn->rank = p->rank;
	return true;
}

static bool
add_reader(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct lhi_snapshot *sn = arg;
	uint64_t st = sh64_load(&v->claims[ci].state);
	struct lh_party *p;

	add_to_sum(sn, ci, st);
	if (!state_held(st))
		return true;	/* idle, or about to leave */
	p = lhi_describe_claim_add(&sn->lh->v, &sn->holders, ci);
	if (p == NULL)
		return false;
	p->mode = LH_SHARED;
	p->token = lhi_reader_token(sn->slot, &v->claims[ci]);
	lhi_describe_claim_ends(v, p, st);
	return true;
}

static int
add_holders(struct lhi_snapshot *sn, uint64_t w)
{
	struct lhi_view *v = &sn->lh->v;
	struct lh_party *p;
	int error;

	switch (word_mode(w)) {
	case WORD_X:
		p = lhi_describe_claim_add(&sn->lh->v, &sn->holders,
		    word_idx(w));
		if (p == NULL)
			return 0;
		p->token = lhi_lock_token(sn->slot, w);
		lhi_describe_claim_ends(v, p,
		    sh64_load(&v->claims[word_idx(w)].state));
		return 0;
	case WORD_S:
		error = lhi_readers_purge(v, sn->slot, lhi_now_ns(v), true, 0);
		return error != 0 ? error :
		    lhi_readers_walk(v, sn->slot, add_reader, sn);
	default:
		return 0;
	}
}

/* Collects all holders and waiters, and a sum over them.  Returns 0, -EAGAIN or
 * -EUCLEAN. */
static int
collect_parties(struct lhi_snapshot *sn, uint64_t w)
{
	int moved;

	sn->holders.n = sn->waiters.n = 0;
	sn->rank = 0;
	sn->sum = 0;
	moved = add_holders(sn, w);
	return moved != 0 ? moved :
	    lhi_queue_walk(&sn->lh->v, sn->slot, add_waiter, sn);
}

/* Adds this host's right to a cluster key. */
static void
add_right(struct lhi_snapshot *sn)
{
	struct lhi_view *v = &sn->lh->v;
	const struct lhi_ref ref = { sn->slot, lhi_slot_ref(lhi_slot_idx(v,
	    sn->slot), sh32_load(&sn->slot->gen)) };
	struct lh_key_info *info = &sn->info;
	struct lhi_right_end end = { 0, 0 };

	if (!lhi_right_has(sn->slot))
		return;
	info->cluster = LH_CLUSTER_NONE;
	if (lhi_right_is_valid(v, &ref, true, &end)) {
		info->cluster = lhi_right_is_valid(v, &ref, false, NULL) ?
		    LH_CLUSTER_EXCLUSIVE : LH_CLUSTER_SHARED;
		info->cluster_left_ns = end.left_ns;
	}
	lhi_describe_claim_rights(v, sn->slot, &sn->holders);
}

/*
 * Makes one attempt.  Returns 0, -EUCLEAN, or -EAGAIN if the key changed
 * meanwhile.
 *
 * Readers come and go without changing the word, so all parties are read
 * twice.  If both readings found the same uses and states, then these were also
 * current at one moment in between.
 */
static int
read_key(struct lhi_snapshot *sn)
{
	struct lhi_view *v = &sn->lh->v;
	struct lh_key_info *info = &sn->info;
	uint64_t w, sum;
	int error = lhi_lock_settle(v, sn->slot, lhi_now_ns(v), SETTLE_PROBE,
	    &w), moved;

	if (error != 0)
		return error;
	moved = collect_parties(sn, w);
	sum = sn->sum;
	if (moved == 0)
		moved = collect_parties(sn, w);
	sn->whole = moved == 0;
	if (moved == 0 && sn->sum != sum)
		moved = -EAGAIN;
	if (moved == -EUCLEAN)
		return lhi_damaged(v, "readers or waiters of a key cannot be "
		    "walked", lhi_slot_idx(v, sn->slot), w);
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->key = sn->key;
	info->token = lhi_lock_token(sn->slot, w);
	info->scope = sh32_load(&sn->slot->key_info) & KEY_LOCAL ? LH_LOCAL :
	    lhi_right_has(sn->slot) ? LH_QUORUM : LH_EPHEMERAL;
	info->value_len = (uint32_t)lhi_value_len(v, sn->slot);
	info->n_holders = sn->holders.n;
	info->holders = sn->holders.p;
	info->n_waiters = sn->waiters.n;
	info->waiters = sn->waiters.p;
	info->rank = sn->rank;
	info->delayed_ns = lhi_named_delayed(v, sn->slot, w);
	info->inconsistent = lhi_consistency_lost(sn->slot, w);
	info->mode = word_mode(w) == WORD_S && sn->holders.n > 0 ?
	    LH_SHARED : LH_EXCLUSIVE;
	add_right(sn);
	return moved != 0 || sh64_load(&sn->slot->word) != w ? -EAGAIN : 0;
}

int
lhi_snapshot_take(struct lhi_snapshot *sn, struct shm_slot *s)
{
	int error = -EAGAIN;

	sn->slot = s;
	sn->whole = false;
	for (int i = 0; error == -EAGAIN && i < (sn->whole ? SNAPSHOT_TRIES :
	    WHOLE_TRIES); i++)
		error = read_key(sn);
	if (error == -EAGAIN && !sn->whole)
		return lhi_fail(-EAGAIN, "key '%.64s' kept changing while it "
		    "was read; try again", sn->key);
	if (sn->holders.no_memory || sn->waiters.no_memory)
		return lhi_fail(-ENOMEM, "out of memory");
	if (error != 0 && error != -EAGAIN)
		return error;
	sn->info.moved = error == -EAGAIN;
	return 0;
}

int
lhi_snapshot_of(struct lhi_snapshot *sn, const char *key)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	int error = lhi_name_set(&n, key);

	for (int i = 0; error == 0 && i < SNAPSHOT_TRIES; i++) {
		error = lhi_slot_find(&sn->lh->v, &n, &ref);
		if (error < 0)
			return error;
		if (error == 0)
			return lhi_fail(-ENOENT, "there is no key '%.64s' in "
			    "table %s", key, sn->lh->name);
		memcpy(sn->key, key, n.len + 1);
		lhi_point("snapshot.found");
		error = lhi_snapshot_take(sn, ref.slot);
		if (error == 0 && (lhi_mutant_on(any_life) ||
		    sh32_load(&ref.slot->gen) == ref.slot_ref >> 32))
			return 0;	/* and the slot still belongs to that
					 * key */
	}
	return error != 0 ? error : lhi_fail(-EAGAIN, "key '%.64s' is created "
	    "and removed again and again; try again", key);
}

void
lhi_snapshot_drop(struct lhi_snapshot *sn)
{
	free(sn->holders.p);
	free(sn->waiters.p);
}
