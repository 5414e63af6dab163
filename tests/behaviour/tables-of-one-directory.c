/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: two tables of one name share a fence directory (two containers
 * with one home).  A process that opens one claims a range for it if the other
 * has claimed one since.  A reaper claims only when its own table needs tokens,
 * or when its own file is missing.
 *
 * Otherwise the two reapers would drive each other on, two ranges a second,
 * although nobody uses a token.
 */
#include "fence.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"

#define ROUNDS 10

static void
swap(const char *a, const char *b, const char *by)
{
	if (rename(a, by) != 0 || rename(b, a) != 0 || rename(by, b) != 0)
		bail_out("rename: %s", strerror(errno));
}

int
main(void)
{
	const char *table = t_table(), *object = t_object(table);
	char other[FENCE_PATH + 100], by[FENCE_PATH + 100];
	uint64_t n, m, last = 0;
	struct lh *a, *b, *again;

	snprintf(other, sizeof(other), "%s.other", object);
	snprintf(by, sizeof(by), "%s.by", object);
	t_remove_at_exit(other);
	t_remove_at_exit(by);
	a = fence_open(table);
	is(rename(object, other), 0, "the one is another container's");
	b = fence_open(table);
	fence_larger(b, "k", &last, "the other, which is above it");
	is(last >> 32, fence_count(table, &n), "there are two ranges");
	for (int i = 0; i < ROUNDS; i++) {
		swap(object, other, by);
		again = fence_open(table);
		is(lh_close(again), 0, "somebody opens it");
		is(lhi_token_ceiling_keep_ahead(&a->v), 0, "one's reaper");
		is(lhi_token_ceiling_keep_ahead(&b->v), 0, "the other's");
	}
	(void)fence_count(table, &m);
	is_u64(m, n + ROUNDS, "each who opened it claimed one, no reaper did");
	fence_larger(b, "k", &last, "the one that was opened last goes on");
	/* as after a repair of each, before anybody opens them */
	(void)sh32_fetch_and(&a->v.hdr->flags, ~SHM_SEALED);
	(void)sh32_fetch_and(&b->v.hdr->flags, ~SHM_SEALED);
	(void)fence_count(table, &n);
	for (int i = 0; i < ROUNDS; i++) {
		swap(object, other, by);
		is(lhi_token_ceiling_keep_ahead(&a->v), 0, "one's reaper");
		swap(object, other, by);
		is(lhi_token_ceiling_keep_ahead(&b->v), 0, "the other's");
	}
	(void)fence_count(table, &m);
	is_u64(m, n, "unsealed, with nobody to use a token: no range");
	t_close(b);
	t_close(a);
	return done();
}
