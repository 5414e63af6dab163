/* SPDX-License-Identifier: MIT */
/*
 * Chunks: finds 64 free claims for a session.
 *
 * A chunk of 64 claims names the session that owns it; 0: it has no owner.  It
 * is taken by one swap of that word, and returned by another once its claims
 * are all FREE (claim_record.c, I3). The process that reclaims a dead session
 * returns its chunks (session_reclaim.c).
 *
 * Room is searched for
 *	1 among the chunks that have memory, behind the one taken last
 *	2 by reclaiming the sessions that are dead
 *	3 by growing (backing_grow.c)
 *
 * A crash after the swap leaves a chunk of a dead session.
 */
#include <errno.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/backing_grow.h"
#include "shm/claim_chunk.h"
#include "shm/counters.h"
#include "shm/session_limit.h"
#include "shm/session_reclaim.h"

static int
find_free_chunk(struct lhi_view *v, uint64_t sid)
{
	uint32_t n = lhi_chunks_ready(v);
	uint32_t from = sh32_load_rlx(&v->hdr->chunk_next) % n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t ch = (from + i) % n;

		if (ch == 0 || sh64_load(&v->chunks[ch].owner) != 0)
			continue;
		if (sh64_cas(&v->chunks[ch].owner, 0, sid)) {
			lhi_point("claim.chunk_taken");
			sh32_store_rlx(&v->hdr->chunk_next, (ch + 1) % n);
			return (int)ch;
		}
	}
	return -ENOSPC;
}

int
lhi_chunk_take(struct lhi_view *v, uint64_t sid)
{
	int ch = lhi_lease_limit(v, sid), grown = 1;
	uint32_t n = 0;

	if (ch != 0 && lhi_session_reclaim_dead(v) > 0)
		ch = lhi_lease_limit(v, sid);
	if (ch != 0)
		return ch;
	ch = find_free_chunk(v, sid);
	if (ch < 0 && lhi_session_reclaim_dead(v) > 0)
		ch = find_free_chunk(v, sid);
	while (ch < 0 && grown == 1 && LHI_WITHIN(n, LHI_GROWS_MAX)) {
		uint32_t from = lhi_chunks_ready(v);

		lhi_point("claim.no_chunk");
		grown = lhi_grow_chunks(v);
		if (grown == 1)
			sh32_store_rlx(&v->hdr->chunk_next, from);
		/* if it cannot grow any more: others may have grown it
		 * meanwhile */
		if (grown == 1 || (grown == 0 && !lhi_mutant_on(grown_by_me)))
			ch = find_free_chunk(v, sid);
	}
	if (LHI_REACHED(n, LHI_GROWS_MAX))
		return lhi_damaged_restless(v, "the count of chunks", n);
	if (ch >= 0)
		lhi_counters_chunk(v, (uint32_t)ch, sid);
	if (ch >= 0 || grown < 0)
		return ch >= 0 ? ch : grown;
	return lhi_fail(-ENOSPC, "all %u leases of %s are given out to living "
	    "sessions, %u at a time: use a table with more leases, or fewer "
	    "processes and threads", v->geo.n_claims - SHM_CHUNK, v->path,
	    SHM_CHUNK);
}

static bool
has_only_free(struct lhi_view *v, uint32_t ch)
{
	for (uint32_t i = 0; i < SHM_CHUNK; i++) {
		uint64_t st = sh64_load(&v->claims[ch * SHM_CHUNK + i].state);

		if (state_st(st) != ST_FREE)
			return false;
	}
	return true;
}

void
lhi_chunk_return_all(struct lhi_view *v, uint64_t sid)
{
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		if (sh64_load(&v->chunks[ch].owner) == sid &&
		    has_only_free(v, ch))
			(void)sh64_cas(&v->chunks[ch].owner, sid, 0);
	}
}
