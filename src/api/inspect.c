/* SPDX-License-Identifier: MIT */
/*
 * Looking in: list, status, stats.  See inspect.h.
 *
 * A key's report is made from one reading of its word and queue: the word is
 * read before and after the holder and the waiters, and the report is made anew
 * until both agree (a busy key: the last attempt is taken, of which every part
 * was true when it was read).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "proc/lh.h"
#include "proc/magazine.h"
#include "shm/lock.h"
#include "shm/queue.h"
#include "shm/session.h"

#define SNAPSHOT_TRIES 20

struct snapshot {
	struct lh *lh;
	struct shm_slot *slot;
	struct lh_party holder;
	struct lh_party *waiters;
	uint32_t n_waiters;
	uint32_t room;
	bool no_memory;
	char key[SHM_KEY_MAX + 1];
	struct lh_key_info info;
};

static void
describe(struct lh *lh, uint32_t ci, struct lh_party *p)
{
	struct lhi_view *v = &lh->v;
	struct shm_claim *c = &v->claims[ci];
	uint64_t owner = lhi_claim_owner(v, ci);

	memset(p, 0, sizeof(*p));
	p->id[0] = owner;
	p->id[1] = lhi_mag_claim_id(v, ci);
	p->tid = sh32_load_rlx(&c->tid);
	p->mode = LH_EXCLUSIVE;
	p->since_ns = (int64_t)sh64_load_rlx(&c->since_ns);
	if (sid_idx(owner) < v->geo.max_sessions) {
		struct shm_session *se = &v->sessions[sid_idx(owner)];

		p->pid = sh32_load_rlx(&se->pid);
		p->uid = sh32_load_rlx(&se->uid);
		memcpy(p->application, se->application, LH_APPLICATION_MAX);
	}
}

static bool
add_waiter(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct snapshot *sn = arg;
	struct shm_claim *c = &v->claims[ci];
	struct lh_party *p;

	if (ci == word_idx(sh64_load(&sn->slot->word)) &&
	    state_st(sh64_load(&c->state)) == ST_HELD)
		return true;	/* granted, about to leave the queue */
	if (lhi_session_dead(v, lhi_claim_owner(v, ci), true))
		return true;	/* whoever is first will bury it */
	if (sn->n_waiters == sn->room) {
		uint32_t room = sn->room * 2 + 8;

		p = realloc(sn->waiters, room * sizeof(*p));
		if (p == NULL) {
			sn->no_memory = true;
			return false;
		}
		sn->waiters = p;
		sn->room = room;
	}
	p = &sn->waiters[sn->n_waiters++];
	describe(sn->lh, ci, p);
	p->priority = sh32_load_rlx(&c->priority);
	p->rank = sn->n_waiters;
	return true;
}

static int
take_snapshot(struct snapshot *sn, struct shm_slot *s)
{
	struct lhi_view *v = &sn->lh->v;
	struct lh_key_info *info = &sn->info;
	uint64_t w, st;
	int error;

	sn->slot = s;
	for (int i = 0; i < SNAPSHOT_TRIES; i++) {
		error = lhi_lock_settle(v, s, lhi_now_ns(), true, &w);
		if (error != 0)
			return error;
		sn->n_waiters = 0;
		memset(info, 0, sizeof(*info));
		info->size = sizeof(*info);
		info->key = sn->key;
		info->token = lhi_lock_token(s, w);
		if (word_mode(w) == WORD_X) {
			describe(sn->lh, word_idx(w), &sn->holder);
			st = sh64_load(&v->claims[word_idx(w)].state);
			sn->holder.expires_ns = lhi_deadline_ns(v,
			    state_deadline(st));
			info->n_holders = 1;
			info->holders = &sn->holder;
		}
		error = lhi_queue_walk(v, s, add_waiter, sn);
		if (error == -EUCLEAN)
			return lhi_damaged(v, "wait queue cannot be walked",
			    lhi_slot_idx(v, s), 0);
		info->n_waiters = sn->n_waiters;
		info->waiters = sn->waiters;
		if (error == 0 && sh64_load(&s->word) == w)
			break;
	}
	return sn->no_memory ? lhi_fail(-ENOMEM, "out of memory") : 0;
}

int
lh_list(struct lh *lh, const char *prefix, lh_key_fn fn, void *arg)
{
	struct snapshot sn = { .lh = lh };
	size_t len = prefix == NULL ? 0 : strlen(prefix);
	int error = lhi_own(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	for (uint32_t i = 1; error == 0 && i < lhi_slots_ready(&lh->v); i++) {
		struct shm_slot *s = &lh->v.slots[i];

		if (lhi_slot_key(&lh->v, s, sn.key) == 0 ||
		    strncmp(sn.key, prefix == NULL ? "" : prefix, len) != 0)
			continue;
		error = take_snapshot(&sn, s);
		if (error == 0)
			error = fn(&sn.info, arg);
	}
	free(sn.waiters);
	return error;
}

int
lh_status(struct lh *lh, const char *key, const uint64_t id[2], lh_key_fn fn,
    void *arg)
{
	struct snapshot sn = { .lh = lh };
	struct lhi_name n;
	struct lhi_ref ref;
	int error = lhi_own(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error != 0)
		return error;
	error = lhi_slot_find(&lh->v, &n, &ref);
	if (error < 0)
		return error;
	if (error == 0)
		return lhi_fail(-ENOENT, "there is no key '%.64s' in table %s",
		    key, lh->name);
	memcpy(sn.key, key, n.len + 1);
	error = take_snapshot(&sn, ref.slot);
	if (error == 0 && id != NULL && (sn.info.n_holders == 0 ||
	    sn.holder.id[0] != id[0] || sn.holder.id[1] != id[1]))
		error = lhi_fail(-ESTALE, "that lease does not hold '%.64s'",
		    key);
	if (error == 0)
		error = fn(&sn.info, arg);
	free(sn.waiters);
	return error;
}

int
lh_stats(struct lh *lh, struct lh_stats *stats)
{
	struct lh_stats st = { .size = sizeof(st) };
	int error = lhi_own(lh);
	struct lhi_view *v;

	if (error != 0)
		return error;
	v = &lh->v;
	if (stats == NULL || stats->size != sizeof(st))
		return lhi_fail(-EINVAL, "set stats.size to "
		    "sizeof(struct lh_stats)");
	st.max_keys = v->geo.n_slots - 1;
	for (uint32_t i = 1; i < lhi_slots_ready(v); i++)
		st.keys += word_mode(sh64_load(&v->slots[i].word)) != WORD_NONE;
	st.max_sessions = v->geo.max_sessions;
	for (uint32_t i = 0; i < v->geo.max_sessions; i++)
		st.sessions += sess_st(sh64_load(&v->sessions[i].state)) !=
		    SESS_UNUSED;
	st.max_leases = v->geo.n_claims - SHM_CHUNK;
	for (uint32_t i = 1; i < lhi_chunks_ready(v); i++)
		st.leases_reserved += sh64_load(&v->chunks[i].owner) != 0 ?
		    SHM_CHUNK : 0;
	st.order = v->order;
	st.damaged = (sh32_load(&v->hdr->flags) & SHM_DAMAGED) != 0;
	st.bytes = v->geo.object_len;
	st.token_base = sh64_load(&v->hdr->token_base);
	st.token_ceiling = sh64_load(&v->hdr->ceiling);
	*stats = st;
	return 0;
}
