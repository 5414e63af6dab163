/* SPDX-License-Identifier: MIT */
/*
 * The leases that a thread holds by lh_key_lock(): what op/key_lock.c does not
 * do itself.  Claim 0 is one while it is held and has an odd mark; the others
 * are in a list.  claim_cache.c moves the one to the other when it takes the
 * mark away.
 */
#include <stdlib.h>
#include "proc/key_holds.h"
#include "proc/claim_cache.h"

void
lhi_key_holds_lease(struct lhi_claim_cache *m, struct lh_lease *l)
{
	const struct lhi_cached_claim *r = &m->rec[0];
	const struct shm_claim *c = m->claims;
	uint64_t st = sh64_load(&c->state);

	lhi_claim_cache_lease(m, sh64_own(&c->slot_ref), l);
	l->id[1] = r->id;
	l->token = r->token;
	l->expires_ns = state_held(st) && state_seq(st) == lid_seq(r->id) ?
	    lhi_ends_ns(&m->lh->v, st) : 0;
}

void
lhi_key_holds_unmark(struct lhi_claim_cache *m)
{
	struct lhi_cached_claim *r = &m->rec[0];
	struct lhi_key_hold *h = m->spare;

	if (r->mark != NO_MARK && (r->mark & 1) && h != NULL &&
	    lhi_cached_claim_now(r) == CACHED_HELD &&
	    !lhi_mutant_on(lock_not_kept)) {
		h->mark = r->mark;
		lhi_key_holds_lease(m, &h->lease);
		h->next = m->holds;
		m->holds = h;
		m->spare = NULL;
	}
	r->mark = NO_MARK;
}

void
lhi_key_holds_free(struct lhi_claim_cache *m)
{
	struct lhi_key_hold *h;

	while ((h = m->holds) != NULL) {	/* ends: a list of our own */
		m->holds = h->next;
		free(h);
	}
	free(m->spare);
	m->spare = NULL;
}
