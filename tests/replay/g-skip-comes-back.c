/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G3: a key crosses many ranges by skips of its free word
 * (word W16), and the caller that makes the skips is stopped after one of them,
 * before its grant.  Each skip must go to a place in the range that the key has
 * not reached yet.
 *
 * Otherwise the free word would be, 256 ranges on, the very word that the last
 * holder had left.  An idle holder's late swap would succeed with an old token:
 * it would hold a lease that others count as lost, and that nobody can release.
 */
#include "replay.h"
#include "behaviour/fence.h"

static const char *table;

static int
see_token(const struct lh_key_info *info, void *arg)
{
	*(uint64_t *)arg = info->token;
	return 0;
}

/* Stops a caller after its nth skip, on its way over that many ranges. */
static void
stopped(uint64_t ranges, int n)
{
	struct replay_call q = REPLAY_CALL(NULL, "k", REPLAY_LONG_MS, 0);
	uint64_t token = 0;
	struct lh_lease l;
	struct lh_key *k;
	struct lh *lh;

	table = t_table();
	(void)fence_idle(table, 3, &lh, &k);
	(void)fence_gap(table, ranges);
	q.lh = fence_open(table);
	replay_stop_nth("Q", "fence.skipped", n, replay_acquire, &q);
	is(lh_key_acquire(k, NULL, &l), 0,
	    "%d ranges, skip %d: the idle holder acquires it", (int)ranges, n);
	is(lh_status(q.lh, "k", NULL, see_token, &token), 0,
	    "others read the status");
	is_u64(l.token, token, "its token is the one that others see");
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_extend(lh, &l, REPLAY_LONG_MS), 0, "it can be extended");
	is(lh_release(lh, &l), 0, "and released");
	replay_release("Q");
	if (replay_result("Q") == 0) {
		cmp(q.lease.token, >, l.token,
		    "the stopped caller has a larger token");
		is(lh_release(q.lh, &q.lease), 0, "released");
	}
	is(lh_key_close(k), 0, "closed");
	t_close(q.lh);
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	(void)replay_begin();
	for (int n = 1; n <= 5; n++)
		stopped(256, n);
	for (int n = 255; n <= 257; n++)
		stopped(20000, n);
	return done();
}
