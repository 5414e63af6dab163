/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, amendment C6: callers have read a key's word, and are stopped
 * before they read its hint, while others use the key more than 2^39 tokens
 * further on.  From the old word and the new hint they would compute a token
 * that is 2^40 too high.  They must see that the word has changed.
 *
 * Otherwise they would claim the range of that token, and the key and its hint
 * would jump there.
 */
#include "replay.h"
#include "behaviour/fence.h"

static void
late(const char *table, uint64_t gap)
{
	const char *const roles[] = { "P1", "P2", "P3" };
	struct lh_acquire_opts a = t_opts(REPLAY_LONG_MS, 0);
	struct replay_call op[3];
	struct lh *p[3], *q;
	struct lh_lease l;
	uint64_t last = 0;

	for (int i = 0; i < 3; i++) {
		p[i] = fence_open(table);
		op[i] = (struct replay_call)REPLAY_CALL(p[i], "k",
		    REPLAY_LONG_MS, 0);
	}
	fence_larger(p[0], "k", &last, "a first use");
	for (int i = 0; i < 3; i++) {
		replay_stop(roles[i], "acquire.marked", replay_acquire, &op[i]);
	}
	(void)fence_gap(table, gap);
	q = fence_open(table);
	fence_larger(q, "k", &last, "others use the key");
	a.scope = LH_LOCAL;
	is(lh_acquire(q, "k", &a, &l), 0, "held");
	for (int i = 0; i < 3; i++) {
		is(replay_finish(roles[i]), -EAGAIN,
		    "the stopped caller finds the key busy");
	}
	is(lh_verify(q, &l), 0, "it is held (%d ranges on)", (int)gap);
	is(lh_verify_token(q, "k", l.token), 0, "its token verifies");
	is(lh_release(q, &l), 0, "released");
	last = l.token;
	fence_larger(q, "k", &last, "the next use");
	is_u64(last, l.token + 1, "gives the next token");
	t_close(q);
	for (int i = 0; i < 3; i++)
		t_close(p[i]);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	const char *table = replay_begin();

	for (uint64_t gap = 129; gap < 256; gap += 21, table = t_table())
		late(table, gap);
	return done();
}
