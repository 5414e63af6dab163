/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, invariants of op/token_ceiling.c: with ranges of 64 tokens, a
 * key goes from one range to the next all the time, on each path that leads to
 * a grant.  Its tokens must always grow, and each must be in a range that this
 * table had on disk by then; with adjacent ranges, with ranges that others
 * claimed in between, and with gaps so large that the key must skip.
 *
 * When the disk fails, keys in scope local must stop with -EIO, also when they
 * were evicted and made again; others go on.  Otherwise a token would be given
 * that is on no disk, and given again after a crash.
 */
#include <fcntl.h>
#include "ranges.h"
#include "fence/range.h"

#define BITS 6
#define MOST 4096		/* ranges that are recorded */

static uint64_t had[MOST];	/* numbers that this table has linked */
static int n_had;
static int (*real_link)(int dir, const char *from, const char *to);
static bool disk_fails;
static uint64_t last;
static uint64_t bad_order, bad_range;

static int
noting_link(int dir, const char *from, const char *to)
{
	int r;

	if (disk_fails) {
		errno = EIO;
		return -1;
	}
	r = real_link(dir, from, to);
	if (r == 0 && n_had < MOST)
		had[n_had++] = strtoull(to, NULL, 10);
	return r;
}

static void
seen(uint64_t token)
{
	bool ours = false;

	for (int i = n_had - 1; i >= 0 && !ours; i--)
		ours = had[i] == token >> BITS;
	bad_order += token <= last;
	bad_range += !ours;
	last = token;
}

static void
verdict(const char *what, uint64_t ranges)
{
	is(bad_order, 0, "%s: every token is larger than the one before", what);
	is(bad_range, 0, "%s: every token is in a range of ours", what);
	cmp(last >> BITS, >=, ranges, "%s: several ranges were used", what);
	bad_order = bad_range = 0;
}

/* Claims numbers as another table would, so that the next is that much
 * higher. */
static void
others_claim(const char *table, uint64_t more)
{
	char path[FENCE_PATH + 200];
	uint64_t highest;

	(void)fence_count(table, &highest);
	snprintf(path, sizeof(path), "%s/%llu", fence_ranges(table),
	    (unsigned long long)(highest + more));
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void
acquired(int error, struct lh *lh, struct lh_lease *l)
{
	if (error != 0) {
		fail("not acquired: %d, %s", error, lh_error_detail());
		return;
	}
	seen(l->token);
	if (lh_release(lh, l) != 0)
		fail("not released: %s", lh_error_detail());
}

/* Lets the next caller claim ahead of need again. */
static void
again(struct lh *lh)
{
	sh64_store(&lh->v.hdr->raised_ms, 0);
}

static void
in_every_way(struct lh *lh, struct lh *other, const char *key, int rounds)
{
	struct lh_acquire_opts local = t_opts(30000, 0), short_ = t_opts(50, 0);
	struct lh_lease l, m;
	struct lh_key *k;

	local.scope = short_.scope = LH_LOCAL;
	is(lh_key_open(lh, key, 0, &k), 0, "opened");
	for (int i = 0; i < rounds; i++) {
		again(lh);
		for (int j = 0; j < 7; j++)
			acquired(lh_key_acquire(k, &local, &l), lh, &l);
		for (int j = 0; j < 5; j++)	/* on the fast path */
			acquired(lh_key_acquire(k, NULL, &l), lh, &l);
		acquired(lh_acquire(lh, key, NULL, &l), lh, &l);
		acquired(lh_key_acquire(k, &short_, &l), lh, &l);
		acquired(lh_acquire(other, key, &local, &l), other, &l);
		local.mode = LH_SHARED;
		is(lh_acquire(lh, key, &local, &l), 0, "a reader");
		seen(l.token);
		if (lh_acquire(other, key, &local, &m) == 0) {
			seen(m.token);
			is(lh_release(other, &m), 0,
			    "the second reader releases");
		}
		is(lh_release(lh, &l), 0, "released");
		local.mode = LH_EXCLUSIVE;
		is(lh_key_acquire(k, &local, &l), 0, "a lease to convert");
		seen(l.token);
		for (int j = 0; j < 6; j++) {
			if (lh_convert(lh, &l, (uint32_t)(j + 1) % 2) != 0)
				break;
			seen(l.token);
		}
		is(lh_verify(lh, &l), 0, "it is held");
		is(lh_release(lh, &l), 0, "released");
	}
	is(lh_key_close(k), 0, "closed");
}

/* Claims a range that is not the next one, and lets another key use it, which
 * raises the ceiling in memory. */
static void
raised(const char *table, struct lh *other)
{
	uint64_t token;

	others_claim(table, 3);
	if (claim_ahead(&other->v) != 0 ||
	    fence_token(other, "ahead", LH_LOCAL, &token) != 0)
		fail("%s", lh_error_detail());
	t_sleep_ms(9);		/* the clock ticks */
}

/* Evicts the key often: its version grows without a grant. */
static void
evicted(const char *table, struct lh *lh, struct lh *other)
{
	uint64_t token;

	(void)fence_token(lh, "e", LH_LOCAL, &token);
	for (int i = 0; i < 600; i++) {
		if (i % 17 == 0)
			raised(table, other);
		if (fence_token(lh, "e", i / 17 % 4 ? LH_EPHEMERAL :
		    LH_LOCAL, &token) != 0)
			fail("%s", lh_error_detail());
		else
			seen(token);
		if (i % 3 == 0 && lh_evict(lh, "e", 0) != 1)
			fail("not evicted");
	}
}

/* Acquires in one range while another is claimed, and goes on from there. */
static int
go_on(void *arg)
{
	struct lh_acquire_opts local = t_opts(30000, 0);
	struct replay_call *c = arg;
	struct lh *lh = c->lh;
	struct lh_key *k;
	struct lh_lease l;

	local.scope = LH_LOCAL;
	is(lh_acquire(lh, "warm", NULL, &l), 0, "the fast path");
	is(lh_release(lh, &l), 0, "is ready");
	is(lh_key_open(lh, c->key, 0, &k), 0, "opened");
	last = 0;
	is(lh_key_acquire(k, &local, &l), 0, "acquired");
	seen(l.token);
	/* until the clock ticks, the fast path goes by this limit alone */
	cmp((lhi_claim_cache_current->rec[0].limit >> VER_SHIFT) + 1, <=,
	    (l.token | MASK(BITS)) + 1,
	    "it ends with the range that it was granted in");
	is(lh_release(lh, &l), 0, "released");
	for (int i = 1; i < 200; i++)
		acquired(lh_key_acquire(k, NULL, &l), lh,
		    &l);
	return lh_key_close(k);
}

static void
raised_meanwhile(const char *table, struct lh *lh, struct lh *other)
{
	static const char *const keys[] = { "m1", "m2", "m3", "m4" };

	for (int i = 0; i < 4; i++) {
		struct replay_call c = { .lh = lh, .key = keys[i] };

		/* the first is "warm"; it was not granted local yet */
		replay_stop_nth("granted", "acquire.granted", 2, go_on, &c);
		raised(table, other);
		is(replay_finish("granted"), 0,
		    "the stopped caller goes on");
	}
}

static void
ways(const char *table, struct lh *lh, struct lh *other)
{
	in_every_way(lh, other, "k", 40);
	verdict("adjacent ranges", 10);
	for (int i = 0; i < 30; i++) {
		others_claim(table, 1 + (uint64_t)i % 3);
		in_every_way(lh, other, "k", 2);
	}
	verdict("with gaps", 50);
	last = 0;
	evicted(table, lh, other);
	verdict("evicted in between", 50);
	last = 0;
	raised_meanwhile(table, lh, other);
	verdict("raised meanwhile", 50);
	last = 0;
	others_claim(table, RANGE_MAX / 2);
	in_every_way(lh, other, "k", 10);
	verdict("far away", RANGE_MAX / 2);
}

/* Acquires as a reader, in scope local. */
static int
acquire_local(void *arg)
{
	struct lh_acquire_opts o = t_opts(30000, 0);
	struct replay_call *c = arg;

	o.scope = LH_LOCAL;
	o.mode = LH_SHARED;
	return lh_acquire(c->lh, c->key, &o, &c->lease);
}

static int
see_token(const struct lh_key_info *info, void *arg)
{
	*(uint64_t *)arg = info->token;
	return 0;
}

/* A gap of 2^40 tokens, which one grant cannot jump over. */
static void
far_skip(const char *table)
{
	struct lh *lh, *reader;
	struct lh_acquire_opts local = t_opts(30000, 0);
	struct replay_call jump = { .key = "k" };
	struct lh_lease r, l;
	uint64_t skipped = 0;

	lhi_range_bits = 32;
	lh = fence_open(table);
	reader = fence_open(table);
	local.scope = LH_LOCAL;
	jump.lh = lh;
	is(lh_acquire(lh, "k", &local, &l), 0, "a first token");
	last = l.token;
	is(lh_release(lh, &l), 0, "released");
	local.mode = LH_SHARED;
	is(lh_acquire(reader, "k", &local, &r), 0, "a reader stays");
	cmp(r.token, >, last, "with a larger token");
	others_claim(table, 1000);
	is(claim_ahead(&lh->v), 0, "the table claims far ahead");
	is(lh_acquire(lh, "k", &local, &l), -EAGAIN,
	    "another reader has to wait");
	is(lh_convert(reader, &r, LH_EXCLUSIVE), 0, "an upgrade need not");
	is(lh_convert(reader, &r, LH_SHARED), 0, "nor a downgrade");
	cmp(r.token, >, last, "with a larger token");
	is(lh_verify(reader, &r), 0, "it is held");
	last = r.token;
	is(lh_release(reader, &r), 0, "the reader leaves");
	/* others see its token as soon as it has swapped the word */
	replay_stop("jumper", "acquire.granted", acquire_local, &jump);
	is(lh_status(reader, "k", NULL, see_token, &skipped), 0,
	    "others read the status");
	is(replay_finish("jumper"), 0, "the stopped caller is granted the key");
	l = jump.lease;
	is_u64(skipped, l.token, "with the token that others saw");
	cmp(l.token - last, >, UINT64_C(999) << 32, "far ahead");
	is(l.token >> 32, (sh64_load(&lh->v.hdr->durable_ceiling) >> 32) - 1,
	    "in the latest range");
	is(lh_verify_token(lh, "k", l.token), 0, "it verifies");
	is(lh_acquire(reader, "k", &local, &r), 0,
	    "and the other reader again");
	is(r.token, l.token + 1, "with the next token");
	is(lh_release(reader, &r), 0, "released");
	is(lh_release(lh, &l), 0, "released");
	skipped = r.token;
	is(fence_token(reader, "k", LH_LOCAL, &last), 0, "exclusively");
	is(last, skipped + 1, "with the next token");
	t_close(reader);
	t_close(lh);
}

static int
use_up(struct lh *lh, const char *key, uint32_t scope, int most)
{
	int error = 0;

	for (int i = 0; i < most && error == 0; i++)
		error = fence_token(lh, key, scope, &last);
	return error;
}

static void
disk_error(const char *table)
{
	struct lh *lh = fence_open(table);
	uint64_t end, before;
	struct lh_acquire_opts a = t_opts(30000, 0);
	struct lh_lease l;

	is(fence_token(lh, "local", LH_LOCAL, &last), 0,
	    "a key in scope local");
	is(fence_token(lh, "gone", LH_LOCAL, &last), 0, "another");
	is(fence_token(lh, "plain", LH_EPHEMERAL, &last), 0,
	    "a key in scope ephemeral");
	disk_fails = true;
	is(use_up(lh, "local", LH_LOCAL, 1000), -EIO, "the local key stops");
	ok(t_has_detail(), "and the error says so");
	end = sh64_load(&lh->v.hdr->durable_ceiling);
	before = last;
	cmp(before, <, end, "below the durable ceiling");
	is(before, end - 1, "having used up its range");
	is(use_up(lh, "local", LH_EPHEMERAL, 1), -EIO,
	    "and stops in scope ephemeral, too");
	is(use_up(lh, "plain", LH_EPHEMERAL, 1000), 0,
	    "the ephemeral key goes on");
	cmp(last, >, end, "beyond the durable ceiling");
	is(use_up(lh, "plain", LH_LOCAL, 1), -EIO, "but not in scope local");

	is(use_up(lh, "gone", LH_LOCAL, 1000), -EIO,
	    "the other local key stops");
	is(lh_evict(lh, "gone", 0), 1, "it is evicted");
	is(use_up(lh, "gone", LH_EPHEMERAL, 1), -EIO,
	    "and is still bound when it is made again");
	is(lh_acquire(lh, "local", NULL, &l), -EIO,
	    "the local key stops without options, too");
	a.mode = LH_SHARED;
	is(lh_acquire(lh, "local", &a, &l), -EIO, "and as a reader");

	disk_fails = false;
	is(fence_token(lh, "local", LH_LOCAL, &last), 0,
	    "the disk works again");
	cmp(last, >, before, "the local key goes on above");
	ok(last >= end, "in another range");
	is(fence_token(lh, "gone", LH_LOCAL, &last), 0, "so does the other");
	is(fence_token(lh, "plain", LH_LOCAL, &before), 0,
	    "the ephemeral key in scope local");
	cmp(before, >, end + 1000 - 64, "has a token above all it had before");
	t_close(lh);
}

int
main(void)
{
	const char *table = replay_begin(), *far = t_table();
	const char *failing = t_table();
	struct lh *lh, *other;

	lhi_range_bits = BITS;
	real_link = lhi_range_sys.link;
	lhi_range_sys.link = noting_link;
	lh = fence_open(table);
	other = fence_open(table);
	ways(table, lh, other);
	t_close(other);
	t_close(lh);
	disk_error(failing);
	far_skip(far);
	return done();
}
