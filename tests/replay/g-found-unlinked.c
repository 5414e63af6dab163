/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G2, crash row NK2: a lookup finds keys that are in the
 * table, and not a key that is only being made in the slot that the lookup has
 * reached.  The finder is stopped when it has seen that the slot is linked,
 * before it reads the slot's name.  Meanwhile the key is evicted and made again
 * in that slot by a maker that is stopped before it links the slot.
 *
 * Otherwise the finder would hold the key in one slot, and a third caller would
 * make it in another: two holders of one key.
 */
#include <errno.h>
#include "replay.h"

static struct lh *finding, *making, *other;

static int
find(void *arg)
{
	return replay_try(finding, "a", arg);
}

static int
make(void *arg)
{
	return replay_try(making, "a", arg);
}

static void
begin(uint32_t keys, struct lh_lease *found, struct lh_lease *made)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = replay_begin();
	struct lh_lease first;

	o.max_keys = keys;
	if (lh_open(&finding, table, &o) != 0 ||
	    lh_open(&making, table, &o) != 0 || lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	is(replay_try(other, "a", &first), 0, "the key exists");
	is(lh_release(other, &first), 0, "released");
	replay_stop("finder", "index.validated", find, found);
	is(lh_evict(other, "a", 0), 1, "evicted");
	replay_stop("maker", "slot.linking", make, made);
}

static void
end(void)
{
	t_close(other);
	t_close(making);
	t_close(finding);
}

/* A third caller acquires the key, which may be made in another slot. */
static void
two_holders(void)
{
	struct lh_lease found, made, third;
	int held = 0;

	begin(4, &found, &made);
	replay_release("finder");
	held += replay_result("finder") == 0;
	held += replay_try(other, "a", &third) == 0;
	replay_release("maker");
	held += replay_result("maker") == 0;
	is(held, 1, "exactly one holds the key");
	is(t_holders(other, "a"), 1, "and the table reports one holder");
	is(t_findings(other), 0, "and the table is sound");
	end();
}

/* Others make keys next to it, so that the maker must look for its place
 * again. */
static void
freed_by_its_maker(void)
{
	struct lh_lease found, made, l;
	char key[8];
	int got;

	begin(64, &found, &made);
	replay_release("finder");
	got = replay_result("finder");
	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "n%d", i);
		is(replay_try(other, key, &l), 0, "a neighbouring key");
		is(lh_release(other, &l), 0, "released");
	}
	is(replay_finish("maker"), got == 0 ? -EAGAIN : 0,
	    "exactly one holds the key");
	if (got == 0)
		is(lh_verify(finding, &found), 0, "and still holds it");
	is(t_holders(other, "a"), 1, "one holder");
	is(t_findings(other), 0, "the table is sound");
	end();
}

int
main(void)
{
	t_part(two_holders, 290, "two holders");
	t_part(freed_by_its_maker, 290, "freed by its maker");
	return done();
}
