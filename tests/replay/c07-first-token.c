/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, amendment C7: the first version of a slot has the low bits of
 * its hint, and a new key's first token is above the floor of its shard.
 *
 * A maker of "k" is stopped before it publishes the slot.  Another caller makes
 * the same key in another slot, acquires and releases it.  The maker goes on,
 * finds the key there and acquires it: all tokens are from the table's range,
 * and grow.  The same must hold above a floor that evicted keys have left, and
 * for a maker that is stopped at each of its steps while others make the key,
 * use it and evict it.
 *
 * Otherwise a key that is evicted and made again would give tokens that it has
 * given before.
 */
#include "replay.h"
#include "proc/attachment.h"

static void
range(struct lh *lh, uint64_t *low, uint64_t *high)
{
	struct lh_stats st = { .size = sizeof(st) };

	is(lh_stats(lh, &st), 0, "stats");
	*low = st.token_base;
	*high = st.token_ceiling;
}

static void
made_and_evicted_meanwhile(struct lh *lh, struct lh *other)
{
	static const char *const steps[] = {
		"slot.announced", "slot.filled", "slot.placed", "slot.hinted",
		"slot.linking",
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct replay_call maker = REPLAY_CALL(other, "m", 60000, 0);
		uint64_t last = 0;
		struct lh_lease l;

		cmp(lh_evict(lh, NULL, 0), >=, 0, "the key does not exist");
		replay_stop("maker", steps[i], replay_acquire, &maker);
		for (int j = 0; j < 5; j++) {
			is(replay_try(lh, "m", &l), 0, "others make the key");
			cmp(l.token, >, last, "with a larger token");
			last = l.token;
			is(lh_release(lh, &l), 0, "release");
		}
		is(lh_evict(lh, "m", 0), 1, "others evict the key");
		is(replay_finish("maker"), 0,
		    "the maker that was stopped at %s acquires it", steps[i]);
		cmp(maker.lease.token, >, last, "with a larger token");
		is(lh_release(other, &maker.lease), 0, "release");
	}
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0), *other = replay_open(table, 0);
	struct replay_call maker = REPLAY_CALL(other, "k", 60000, 0);
	uint64_t low, high, floor;
	struct lh_lease l;

	range(lh, &low, &high);
	replay_stop("maker", "slot.filled", replay_acquire, &maker);
	is(replay_try(lh, "k", &l), 0, "k is made and acquired meanwhile");
	cmp(l.token, >, low, "its first token is above the table's base");
	cmp(l.token, <, high, "and below the ceiling");
	is(lh_release(lh, &l), 0, "release");
	is(replay_finish("maker"), 0,
	    "the stopped maker acquires the key then");
	is_u64(maker.lease.token, l.token + 1, "with the next token");
	is(lh_release(other, &maker.lease), 0, "release");

	/* more than half of what 40 bits count to: an error of sign or carry
	 * shows here */
	floor = (UINT64_C(5) << 40) + (UINT64_C(1) << 39) + 12345;
	for (unsigned i = 0; i < SHM_SHARDS; i++)
		sh64_store(&lh->v.hdr->floor[i], floor);
	is(replay_try(lh, "new", &l), 0, "a new key over a floor");
	cmp(l.token, >, floor, "its first token is above the floor");
	cmp(l.token, <, floor + 1000, "and close to it");
	range(lh, &low, &high);
	cmp(l.token, <, high, "and below the ceiling");
	is(lh_verify(lh, &l), 0, "it verifies");
	is(lh_release(lh, &l), 0, "release");
	made_and_evicted_meanwhile(lh, other);
	t_close(other);
	t_close(lh);
	return done();
}
