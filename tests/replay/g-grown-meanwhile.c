/* SPDX-License-Identifier: MIT */
/*
 * lh_acquire() fails with -ENOSPC only if the table has no free claim.  Another
 * process makes the table grow, as far as it can, between this process's search
 * for free claims and its attempt to grow the table.
 *
 * Otherwise an acquire would be refused in a table that has room.
 */
#include "shm/claim_chunk.h"
#include "proc/attachment.h"
#include "replay.h"
#include "shm/backing_grow.h"

int
main(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct replay_call late = { .key = "k", .ttl_ms = REPLAY_LONG_MS };
	struct lh *lh;
	uint32_t n = 0;

	o.max_leases = (GROW_CHUNKS + 8) * SHM_CHUNK;
	is(lh_open(&lh, replay_begin(), &o), 0, "a table that can grow once");
	late.lh = lh;
	for (uint32_t ch = 1; ch < lhi_chunks_ready(&lh->v); ch++)
		n += lhi_chunk_take(&lh->v, lh->sid) >= 0;
	is(n, GROW_CHUNKS - 1, "all the claims that it has are given out");
	replay_stop("late", "claim.no_chunk", replay_acquire, &late);
	cmp(lhi_chunk_take(&lh->v, lh->sid), >, 0,
	    "another process makes the table grow");
	is(replay_finish("late"), 0, "the late acquire finds a claim");
	is(lh_release(lh, &late.lease), 0, "release");
	t_close(lh);
	return done();
}
