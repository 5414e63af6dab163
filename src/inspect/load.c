/* SPDX-License-Identifier: MIT */
/*
 * Counts what a table does at the moment: keys that are held, and waits.
 * lh_stats() calls it, and so do the metrics of the reaper.
 *
 * It answers "is somebody stuck?", so it must be cheap enough to be asked
 * twice a second: it allocates nothing, and asks the kernel about no process.
 * Each key and each wait is true when it is read; the sum is of no single
 * moment.
 *
 * These are not counted:
 *
 * - a lease that is past its deadline, or whose session is known to be dead,
 *   or whose right of this host to a cluster key has ended;
 * - a cluster key that the shim keeps from this host's processes;
 * - a wait of a session that is known to be dead.
 *
 * `leasehold list` judges in the same way (tools/show_state.c).
 */
#include <errno.h>
#include "inspect/load.h"
#include "shm/cluster_right.h"
#include "shm/readers.h"
#include "shm/session_liveness.h"

struct holder {
	int64_t now_ns;
	struct shm_slot *slot;
	bool found;
};

/* True if claim ci holds the key. */
static bool
is_holding(struct lhi_view *v, uint32_t ci, const struct holder *h)
{
	struct shm_claim *c = lhi_claim(v, ci);
	uint64_t st = c == NULL ? 0 : sh64_load(&c->state), owner;
	int64_t end_ns;

	/* under policy live whoever sees the holder run extends the deadline */
	if (!state_held(st) || (!state_live(st) &&
	    lhi_deadline_passed(v, state_deadline(st), h->now_ns)))
		return false;
	owner = lhi_claim_owner(v, ci);
	if (lhi_cluster_serves(v, owner) || lhi_session_dead(v, owner, false))
		return false;
	return !lhi_right_has(h->slot) || lhi_right_bound(v, h->slot,
	    state_kind(st) == ST_READ, lhi_claim_since_ns(v, c), &end_ns) !=
	    BOUND_ENDED;
}

/* Stops the walk at the first reader that holds the key. */
static bool
look_for_holder(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct holder *h = arg;

	h->found = is_holding(v, ci, h);
	return !h->found;
}

bool
lhi_load_is_held(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns)
{
	struct holder h = { .now_ns = now_ns, .slot = s };

	if (word_mode(w) == WORD_X)
		return is_holding(v, word_idx(w), &h);
	if (word_mode(w) != WORD_S)
		return false;
	/* a chain that changes while it is read has readers */
	return lhi_readers_walk(v, s, look_for_holder, &h) == -EAGAIN ||
	    h.found;
}

/* Counts the wait of claim ci, if it waits. */
static void
count_wait(struct lhi_view *v, uint32_t ci, int64_t now_ns,
    struct lhi_load *load)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state);
	int64_t waited_ns;

	if (state_st(st) != ST_WAIT)
		return;
	waited_ns = now_ns - lhi_claim_since_ns(v, c);
	if (sh64_load(&c->state) != st)
		return;		/* the time may be that of another use */
	load->waiters++;
	if (waited_ns > load->longest_wait_ns)
		load->longest_wait_ns = waited_ns;
}

void
lhi_load_count_waiters(struct lhi_view *v, int64_t now_ns,
    struct lhi_load *load)
{
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		uint64_t owner = sh64_load(&v->chunks[ch].owner);

		if (owner == 0 || lhi_session_dead(v, owner, false))
			continue;
		for (uint32_t i = 0; i < SHM_CHUNK; i++)
			count_wait(v, ch * SHM_CHUNK + i, now_ns, load);
	}
}
