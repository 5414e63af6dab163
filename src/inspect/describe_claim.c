/* SPDX-License-Identifier: MIT */
/* Describes the owner of a claim: see describe_claim.h. */
#include <stdlib.h>
#include <string.h>
#include "inspect/describe_claim.h"
#include "proc/claim_cache.h"
#include "shm/claim_note.h"
#include "shm/session_named.h"

_Static_assert(SHM_INFO_MAX == LH_INFO_MAX + 1, "info in both worlds");

static void
describe_party(struct lhi_view *v, uint32_t ci, struct lh_party *p)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t owner = lhi_claim_owner(v, ci);
	struct lhi_claim_note aside;

	memset(p, 0, sizeof(*p));
	p->id[0] = lhi_view_session_id(v, owner);
	p->id[1] = lhi_claim_cache_id(v, ci);
	p->tid = lhi_claim_tid(c);
	p->mode = LH_EXCLUSIVE;
	p->since_ns = lhi_claim_since_ns(v, c);
	if (sid_idx(owner) < v->geo.max_sessions) {
		struct shm_session *se = &v->sessions[sid_idx(owner)];

		p->pid = sh32_load_rlx(&se->pid);
		p->uid = sh32_load_rlx(&se->uid);
		memcpy(p->application, se->application, LH_APPLICATION_MAX);
		if (lhi_named_is(v, owner)) {
			/* a named session's lease belongs to no thread */
			p->flags |= LH_PARTY_SESSION |
			    (sh32_load_rlx(&se->ttl_ms) == 0 ?
			    LH_PARTY_BOUND : 0);
			p->tid = 0;
		}
		if (lhi_session_is_foreign(v, owner))
			p->flags |= LH_PARTY_FOREIGN;
	}
	if (lhi_claim_note_read(v, p->id[1], &aside)) {
		memcpy(p->request, aside.request, sizeof(p->request));
		memcpy(p->info, aside.info, sizeof(p->info));
	}
}

void
lhi_describe_claim_ends(const struct lhi_view *v, struct lh_party *p, uint64_t
    st)
{
	char name[NAMED_NAME_MAX + 1];
	int64_t until_ns;

	p->expires_ns = lhi_ends_ns(v, st);
	if ((p->flags & LH_PARTY_SESSION) != 0 &&
	    lhi_named_describe(v, lhi_view_session_of(v, p->id[0]),
	    name, &until_ns) &&
	    until_ns < p->expires_ns) {
		p->expires_ns = until_ns;
		p->flags |= LH_PARTY_ENDS_WITH_SESSION;
	}
	p->policy = state_strict(st) ? LH_POLICY_STRICT :
	    state_live(st) ? LH_POLICY_LIVE : LH_POLICY_LEASE;
}

struct lh_party *
lhi_describe_claim_add(struct lhi_view *v, struct lhi_crowd *crowd, uint32_t ci)
{
	struct lh_party *p;

	if (crowd->n == crowd->room) {
		uint32_t room = crowd->room * 2 + 8;

		p = realloc(crowd->p, room * sizeof(*p));
		if (p == NULL) {
			crowd->no_memory = true;
			return NULL;
		}
		crowd->p = p;
		crowd->room = room;
	}
	p = &crowd->p[crowd->n++];
	describe_party(v, ci, p);
	return p;
}

void
lhi_describe_claim_rights(const struct lhi_view *v, const struct shm_slot *s,
    struct lhi_crowd *holders)
{
	for (uint32_t i = 0; lhi_right_has(s) && i < holders->n; i++) {
		struct lh_party *p = &holders->p[i];

		if (lhi_cluster_serves(v, lhi_view_session_of(v, p->id[0]))) {
			p->flags |= LH_PARTY_FOR_CLUSTER;
			continue;
		}
		switch (lhi_right_bound(v, s, p->mode == LH_SHARED,
		    p->since_ns, &p->expires_ns)) {
		case BOUND_NONE:
			continue;
		case BOUND_BY_RIGHT:
			p->flags |= LH_PARTY_ENDS_WITH_RIGHT;
			break;
		case BOUND_ENDED:
			p->flags |= LH_PARTY_RIGHT_ENDED;
			break;
		}
		p->flags &= ~LH_PARTY_ENDS_WITH_SESSION;
	}
}
