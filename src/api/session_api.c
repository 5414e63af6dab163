/* SPDX-License-Identifier: MIT */
/* Questions about named sessions and their leases: see session.h. */
#include <errno.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "live/session_handle.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "op/handoff.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/session_named.h"

#define RECALL_LOOKS 100	/* reads of a lease that moves */

/* True if the lease of claim c, in state st, ended with this host's right to
 * the key. */
static bool
has_lost_right(struct lhi_view *v, const struct shm_claim *c, uint64_t st)
{
	const uint64_t slot_ref = sh64_load(&c->slot_ref);
	const struct lhi_ref ref = { lhi_slot(v, (uint32_t)slot_ref),
	    slot_ref };

	return ref.slot != NULL && lhi_right_has(ref.slot) &&
	    !lhi_right_is_valid(v, &ref, state_kind(st) == ST_READ, NULL) &&
	    sh64_load(&c->state) == st && sh64_load(&c->slot_ref) == slot_ref;
}

static void
count_leases(struct lhi_view *v, uint64_t sid, struct lh_session_info *info)
{
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		if (sh64_load(&v->chunks[ch].owner) != sid)
			continue;
		for (uint32_t i = 0; i < SHM_CHUNK; i++) {
			struct shm_claim *c = &v->claims[ch * SHM_CHUNK + i];
			uint64_t st = sh64_load(&c->state);

			if (!state_held(st))
				continue;
			if (has_lost_right(v, c, st))
				info->lost++;
			else
				info->leases++;
		}
	}
}

static int
fill_info(struct lhi_view *v, uint64_t sid, struct lh_session_info *info)
{
	const struct shm_session *se = &v->sessions[sid_idx(sid)];
	struct lh_session_info i = {
		.size = sizeof(i),
		.id = lhi_view_session_id(v, sid),
		.ttl_ms = sh32_load_rlx(&se->ttl_ms),
		.lock_delay_ms = sh32_load_rlx(&se->lock_delay_ms),
		.made_ns = (int64_t)sh64_load_rlx(&se->attached_ns),
		.maker = lhi_view_session_id(v, sh64_load_rlx(&se->maker)),
		.on_end = sh32_load_rlx(&se->on_end),
		.pid = sh32_load_rlx(&se->pid),
		.uid = sh32_load_rlx(&se->uid),
		.foreign = sh32_load_rlx(&se->ttl_ms) == 0 &&
		    lhi_session_is_foreign(v, sid),
	};

	count_leases(v, sid, &i);
	if (lhi_session_dead(v, sid, true) ||
	    !lhi_named_describe(v, sid, i.name, &i.expires_ns))
		return -ESTALE;
	*info = i;
	return 0;
}

int
lh_session_info(const struct lh_session *s, struct lh_session_info *info)
{
	int error = lhi_session_check(s);

	if (error == 0 && info == NULL)
		error = lhi_fail(-EINVAL, "nowhere to put it (NULL)");
	if (error != 0)
		return error;
	return fill_info(&s->lh->v, s->sid, info) != 0 ?
	    lhi_session_fail_ended(s) : lhi_damaged_or(&s->lh->v, 0);
}

int
lh_session_list(struct lh *lh, const char *prefix,
    int (*fn)(const struct lh_session_info *info, void *arg), void *arg)
{
	const char *begins = prefix == NULL ? "" : prefix;
	size_t len = strlen(begins);
	struct lh_session_info info;
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	for (uint32_t i = 0; error == 0 && i < lh->v.geo.max_sessions; i++) {
		uint64_t s = sh64_load(&lh->v.sessions[i].state);
		uint64_t sid = sid_make(sess_inc(s), i);

		if (sess_st(s) == SESS_NAMED && !sess_marked(s) &&
		    fill_info(&lh->v, sid, &info) == 0 &&
		    strncmp(info.name, begins, len) == 0)
			error = fn(&info, arg);
	}
	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}

int
lh_lease_recall(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token, struct lh_lease *lease)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	struct lhi_held h;
	uint32_t rounds = 0;
	uint64_t st = 0;
	bool has = false;
	int error = lhi_own(lh), found;

	if (error == 0 && (id == NULL || lease == NULL))
		error = lhi_fail(-EINVAL, "no id, or no lease to fill, was "
		    "given (NULL)");
	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error == 0)
		error = lhi_lease_check_table(lh, id);
	if (error != 0)
		return error;
	found = lhi_slot_find(&lh->v, &n, &ref);
	if (found <= 0)
		return found < 0 ? found : lhi_fail(-ENOENT, "there is no key "
		    "'%.64s' in table %s", key, lh->name);
	lhi_point("recall.found");
	for (uint32_t mode = LH_EXCLUSIVE; mode <= LH_SHARED; mode++) {
		struct lh_lease l = { .mode = (uint8_t)mode,
		    .id = { id[0], id[1] }, .token = token };

		lhi_lease_set_key(&l, ref.slot_ref);

		error = lhi_lease_find(lh, &l, &h);
		if (error != 0 && !lhi_mutant_on(recall_goes_on))
			break;
		/* (one that is only announced is not in the chain yet; and what
		 * is there may be a later use of its claim) */
		for (int i = 0; i < RECALL_LOOKS; i++) {
			st = sh64_load(&h.claim->state);
			if (!lhi_cluster_check_lease(&h) &&
			    lhi_lease_is_current(lh, &l, &h, st))
				return lhi_lease_lose_right(lh, &l, &h);
			has = lhi_lease_status(lh, &l, &h, st) != LEASE_OVER &&
			    (!h.shared || lhi_mutant_on(recalls_announced) ||
			    lhi_readers_has(&lh->v, h.slot, h.ci) == 1);
			if (!has || sh64_load(&h.claim->state) == st ||
			    lhi_mutant_on(recalls_later_use))
				break;
			has = false;
		}
		if (!has)
			continue;
		l.expires_ns =
		    lhi_cluster_check_end_ns(&h, lhi_ends_ns(&lh->v, st));
		do
			found = lhi_lease_verify_again(lh, &l, &h);
		while (found == LEASE_LIVES &&
		    LHI_WITHIN(rounds, LHI_SWAPS_MAX));
		if (found == LEASE_LIVES)
			return lhi_damaged_restless(&lh->v, "a lease", h.ci);
		if (found != 0)
			continue;
		*lease = l;
		return 0;
	}
	if (error != 0 && error != -ESTALE)
		return error;
	return lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "no lease with that id "
	    "and token holds '%.64s'%s", key, !lhi_right_has(ref.slot) ||
	    lh->serves || lhi_right_is_valid(&lh->v, &ref, true, NULL) ? "" :
	    ": this host's right to it in the cluster has ended, and another "
	    "host may have it"));
}
