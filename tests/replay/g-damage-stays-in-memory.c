/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: one wrong bit in a key's hint, or in the end of the latest
 * range, makes a token seem to be up to 2^29 ranges ahead.  Such a range must
 * not be claimed on disk: the call fails, and the table counts as damaged.
 *
 * Otherwise the claim would stay on disk for ever.  A second such bit would use
 * up all ranges of the table's name: damage in memory would outlive the table.
 */
#include <leasehold/repair.h>
#include "replay.h"
#include "behaviour/fence.h"
#include "proc/attachment.h"

static void
wrong_end(int bit)
{
	const char *table = t_table();
	struct lh *lh = fence_open(table);
	uint64_t last = 0, token = 0, was, now;

	fence_larger(lh, "k", &last, "a key");
	(void)sh64_fetch_or(&lh->v.hdr->durable_ceiling, UINT64_C(1) << bit);
	(void)fence_count(table, &was);
	is(lh_close(lh), 0, "closed");
	lh = fence_open(table);
	is(fence_token(lh, "k", LH_LOCAL, &token), -EUCLEAN,
	    "bit %d of the latest range's end is wrong", bit);
	(void)fence_count(table, &now);
	is_u64(now, was, "no range was claimed for it");
	is(lh_close(lh), 0, "closed");
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "it is repaired");
	lh = fence_open(table);
	fence_larger(lh, "k", &last, "after the repair");
	cmp(last >> 32, <, now + 10, "in a range not far from it");
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = fence_open(table);
	uint64_t token = 0, last = 0, was, now;
	struct lh_lease l;

	fence_larger(lh, "other", &last, "another key");
	(void)fence_count(table, &was);
	for (int bit = 61; bit > 56; bit--) {
		char key[16];
		struct shm_slot *s;

		snprintf(key, sizeof(key), "k%d", bit);
		is(lh_acquire(lh, key, NULL, &l), 0, "a key");
		s = &lh->v.slots[(uint32_t)l.key];
		is(lh_release(lh, &l), 0, "released");
		(void)sh64_fetch_or(&s->hint, UINT64_C(1) << bit);
		is(fence_token(lh, key, LH_LOCAL, &token), -EUCLEAN,
		    "bit %d of its hint is wrong", bit);
		ok(t_has_detail(), "and the error says so");
	}
	(void)fence_count(table, &now);
	is_u64(now, was, "no range was claimed for it");
	fence_larger(lh, "other", &last, "the other key goes on");
	is(last >> 32, now, "in the range that there is");
	is(lh_close(lh), 0, "closed");
	is(lh_table_remove(table, 0), 0, "the table is removed");
	lh = fence_open(table);
	fence_larger(lh, "k", &last, "a new table");
	cmp(last >> 32, <, now + 10, "in a range not far from it");
	t_close(lh);
	for (int bit = 54; bit < 64; bit++)
		wrong_end(bit);
	return done();
}
