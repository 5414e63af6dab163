/* SPDX-License-Identifier: MIT */
/*
 * G6, G7: a disk that hangs, rather than fails.  Whoever came by in the second
 * half of a range claimed the next one ahead of need, for keys in scope
 * ephemeral too, one more every 100 ms; so that in the end everybody stood in
 * fdatasync, who had only tried.  Now keys that are not local never wait for a
 * disk; and of those that are, ahead of need, one in 5 s.
 */
#include <stdatomic.h>
#include "replay.h"
#include "behaviour/fence.h"
#include "proc/attachment.h"
#include "fence/range.h"

#define KEYS	4
#define BITS	8

static atomic_int inside;
static atomic_bool hangs;
static int (*real_fdatasync)(int fd);

static int
hanging(int fd)
{
	if (atomic_load(&hangs))
		atomic_fetch_add(&inside, 1);
	while (atomic_load(&hangs))
		t_nap();
	return real_fdatasync(fd);
}

static int
use_local(void *arg)
{
	struct replay_call *c = arg;

	return fence_token(c->lh, c->key, LH_LOCAL, &c->lease.token);
}

/* Nobody who does that stands in the hanging call afterwards. */
static void
ephemeral(const char *table)
{
	struct replay_call use = REPLAY_CALL(NULL, NULL, 1000, 0);
	const char *const keys[KEYS] = { "a", "b", "c", "d" };
	uint64_t end, token = 0;
	struct lh *lh = fence_open(table);

	end = sh64_load(&lh->v.hdr->durable_ceiling);
	atomic_store(&hangs, true);
	use.lh = lh;
	/* with options that every time lead to where ranges are looked at */
	for (int i = 0; token < end + 10 && i < 4 << BITS; i++) {
		sh64_store(&lh->v.hdr->raised_ms, 0);
		use.key = keys[i % KEYS];
		use.ttl_ms = 1000 + i;
		replay_go("user", replay_acquire, &use);
		if (replay_result("user") != 0)
			break;
		token = use.lease.token;
		if (lh_release(lh, &use.lease) != 0)
			fail("not released");
	}
	cmp(token, >=, end, "ephemeral: on beyond the range");
	is(atomic_load(&inside), 0, "nobody has asked the disk");
	atomic_store(&hangs, false);
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

/* One claims ahead of need; others go on in the range that there is. */
static void
local(const char *table)
{
	struct replay_call one = REPLAY_CALL(NULL, "k", 1000, 0);
	uint64_t token = 0, half, end;
	struct lh *lh = fence_open(table);
	int n = 0;

	end = sh64_load(&lh->v.hdr->durable_ceiling);
	half = end - (UINT64_C(1) << (BITS - 1));
	sh64_store(&lh->v.hdr->raised_ms,
	    (uint64_t)(t_now_ns() / T_NS_PER_MS));
	while (token < half)
		if (fence_token(lh, "k", LH_LOCAL, &token) != 0)
			bail_out("%s", lh_error_detail());
	sh64_store(&lh->v.hdr->raised_ms, 0);
	atomic_store(&hangs, true);
	one.lh = lh;
	replay_go("one", use_local, &one);
	ok(t_until(REPLAY_MS, atomic_load(&inside) == 1), "one asks the disk");
	for (; token < end - 2 && n < 1 << BITS; n++)
		if (fence_token(lh, "k", LH_LOCAL, &token) != 0)
			break;
	is_u64(token, end - 2, "others go on while it hangs");
	is(fence_token(lh, "plain", LH_EPHEMERAL, &token), 0, "ephemeral too");
	is(atomic_load(&inside), 1, "none of them asks");
	atomic_store(&hangs, false);
	is(replay_result("one"), 0, "it is well again: so is the one");
	cmp(one.lease.token, >, 0, "with a token");
	is(fence_token(lh, "k", LH_LOCAL, &token), 0, "on");
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	const char *table = replay_begin();

	lhi_range_bits = BITS;
	real_fdatasync = lhi_range_sys.fdatasync;
	lhi_range_sys.fdatasync = hanging;
	ephemeral(table);
	atomic_store(&inside, 0);
	local(t_table());
	return done();
}
