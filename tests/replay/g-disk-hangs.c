/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G5: a disk that hangs, rather than fails, stops only callers that
 * need it.  A caller that claims the next range ahead of need hangs in
 * fdatasync(). Keys in scope ephemeral must never wait for the disk; of the
 * callers in scope local, at most one in 5 s may try ahead of need.
 *
 * Otherwise one caller after the other would hang, until nobody could acquire
 * any key.
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

/* Acquires ephemeral keys beyond the range: nobody may wait for the disk. */
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
	/* with options that lead to the check of the range each time */
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
	cmp(token, >=, end, "ephemeral: tokens go on beyond the range");
	is(atomic_load(&inside), 0, "nobody waits for the disk");
	atomic_store(&hangs, false);
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

/* One caller claims ahead of need; others go on in the present range. */
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
	ok(t_until(REPLAY_MS, atomic_load(&inside) == 1),
	    "one caller waits for the disk");
	for (; token < end - 2 && n < 1 << BITS; n++)
		if (fence_token(lh, "k", LH_LOCAL, &token) != 0)
			break;
	is_u64(token, end - 2, "others go on while it hangs");
	is(fence_token(lh, "plain", LH_EPHEMERAL, &token), 0,
	    "so do ephemeral keys");
	is(atomic_load(&inside), 1, "none of them waits for the disk");
	atomic_store(&hangs, false);
	is(replay_result("one"), 0,
	    "the disk works again, and the caller ends");
	cmp(one.lease.token, >, 0, "with a token");
	is(fence_token(lh, "k", LH_LOCAL, &token), 0, "local keys go on");
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
