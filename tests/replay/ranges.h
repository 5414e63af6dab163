/* SPDX-License-Identifier: MIT */
/* Shared by replays of token ranges. */
#ifndef REPLAY_RANGES_H
#define REPLAY_RANGES_H

#include "behaviour/fence.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"
#include "replay.h"

/* Claims another range, as if half of the latest one was used. */
TAP_UNUSED static int
claim_ahead(struct lhi_view *v)
{
	sh64_store(&v->hdr->token_seen,
	    sh64_load(&v->hdr->durable_ceiling) - 1);
	sh64_store(&v->hdr->raised_ms, 0);
	return lhi_token_ceiling_keep_ahead(v);
}

struct late_maker {
	const char *table;
	char away[FENCE_PATH + 200];	/* where its disk is */
	struct lh *lh;
};

TAP_UNUSED static int
make_table(void *arg)
{
	struct late_maker *m = arg;
	struct lh_open_opts o = fence_opts();

	return lh_open(&m->lh, m->table, &o);
}

TAP_UNUSED static void
disk_goes_away(const struct late_maker *m)
{
	is(rename(fence_ranges(m->table), m->away), 0, "the disk is away");
}

TAP_UNUSED static void
disk_comes_back(const struct late_maker *m)
{
	is(rename(m->away, fence_ranges(m->table)), 0,
	    "the disk is there again");
}

/*
 * Makes a late table: its maker is stopped between the claim of its first
 * range and the naming of the object, while another table is made, used and
 * lost.  The disk is away when the maker goes on.  Returns the last token of
 * the lost table's key k.
 */
TAP_UNUSED static uint64_t
come_late(struct late_maker *m)
{
	uint64_t lost = 0;
	struct lh *lh;

	m->table = replay_begin();
	(void)fence_dir();
	replay_stop("maker", "object.filled", make_table, m);
	lh = fence_open(m->table);
	fence_larger(lh, "k", &lost, "another table");
	is(lh_close(lh), 0, "closed");
	is(unlink(t_object(m->table)), 0, "and lost");
	snprintf(m->away, sizeof(m->away), "%s.away", fence_ranges(m->table));
	disk_goes_away(m);
	is(replay_finish("maker"), 0, "the late one is there");
	return lost;
}

#endif
