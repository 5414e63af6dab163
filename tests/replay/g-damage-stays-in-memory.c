/* SPDX-License-Identifier: MIT */
/*
 * G12: one bit of a key's hint is wrong, so that its token seems to be 2^29
 * ranges ahead.  The next local acquire claimed that range, on disk and for
 * ever; a second such bit, and the name had no ranges left: the damage outlived
 * the table.  Now a range that far beyond those on disk is not claimed, and the
 * table is said to be damaged.
 *
 * The same for the end of the latest range: whoever opened the table claimed
 * what follows it, or, the bit being too high, found that all was used up, and
 * a repair found nothing wrong.
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
	is_u64(now, was, "no range was claimed for that");
	is(lh_close(lh), 0, "closed");
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "it is repaired");
	lh = fence_open(table);
	fence_larger(lh, "k", &last, "then");
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
		ok(t_has_detail(), "which is said");
	}
	(void)fence_count(table, &now);
	is_u64(now, was, "no range was claimed for that");
	fence_larger(lh, "other", &last, "the other key goes on");
	is(last >> 32, now, "in the range that there was");
	is(lh_close(lh), 0, "closed");
	is(lh_table_remove(table, 0), 0, "the table is removed");
	lh = fence_open(table);
	fence_larger(lh, "k", &last, "a new one");
	cmp(last >> 32, <, now + 10, "in a range not far from it");
	t_close(lh);
	for (int bit = 54; bit < 64; bit++)
		wrong_end(bit);
	return done();
}
