/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2 in scope local: an idle reader's claim is revived on a fast
 * path, which must go by the scope that is asked for.  A reader is idle beside
 * another reader; its next acquire asks for scope local, in a table without
 * ranges, or while the disk is away.
 *
 * Otherwise a grant in scope local would have a token that is on no disk, and
 * the same token would be given again after memory is lost.
 */
#include <pthread.h>
#include "replay.h"
#include "behaviour/fence.h"
#include "fence/range.h"

static struct lh *lh;
static struct lh_key *k;
static struct lh_lease beside;

static void *
stay(void *arg)
{
	struct lh_acquire_opts a = t_opts(REPLAY_LONG_MS, 0);

	a.mode = LH_SHARED;
	is(lh_key_acquire(k, &a, &beside), 0, "another reader");
	return arg;
}

/* Revives the idle reader in that scope. */
static int
again(uint32_t scope, uint64_t *token)
{
	struct lh_acquire_opts a = t_opts(30000, 0);
	struct lh_lease l;
	int error;

	a.mode = LH_SHARED;
	a.scope = scope;
	error = lh_key_acquire(k, &a, &l);
	if (error == 0) {
		*token = l.token;
		is(lh_release(lh, &l), 0, "released: idle");
	}
	return error;
}

static void
idle_among_others(uint64_t *token)
{
	pthread_t t;

	is(lh_key_open(lh, "k", 0, &k), 0, "opened");
	if (pthread_create(&t, NULL, stay, NULL) != 0)
		bail_out("pthread_create");
	pthread_join(t, NULL);
	for (int i = 0; i < 2; i++)
		is(again(LH_EPHEMERAL, token), 0,
		    "a reader in scope ephemeral");
}

static void
end(const char *table)
{
	is(lh_release(lh, &beside), 0, "the other reader leaves");
	is(lh_key_close(k), 0, "closed");
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

static void
no_ranges(const char *table)
{
	uint64_t token = 0;

	lh = replay_open(table, 0);
	idle_among_others(&token);
	is(again(LH_LOCAL, &token), -EOPNOTSUPP,
	    "without ranges there is no scope local");
	ok(t_has_detail(), "and the error says so");
	is(again(LH_EPHEMERAL, &token), 0, "scope ephemeral is granted");
	end(table);
}

/* A key that only this reader has used in scope local. */
static void
bound_by_it(const char *table)
{
	uint64_t token = 0, local = 0;
	char away[FENCE_PATH + 200];
	int error = 0;

	lh = fence_open(table);
	snprintf(away, sizeof(away), "%s.away", fence_ranges(table));
	idle_among_others(&token);
	is(again(LH_LOCAL, &local), 0, "scope local, with a disk");
	is(lh_release(lh, &beside), 0, "the other reader leaves");
	is(rename(fence_ranges(table), away), 0, "the disk is away");
	for (int i = 0; i < 200 && error == 0; i++)
		error = fence_token(lh, "k", LH_EPHEMERAL, &token);
	is(error, -EIO, "the key is bound to its range");
	is(rename(away, fence_ranges(table)), 0, "the disk is there again");
	is(lh_key_close(k), 0, "closed");
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

static void
disk_away(const char *table)
{
	uint64_t token = 0, last = 0;
	char away[FENCE_PATH + 200];

	lh = fence_open(table);
	snprintf(away, sizeof(away), "%s.away", fence_ranges(table));
	is(rename(fence_ranges(table), away), 0, "the disk is away");
	for (int i = 0; i < 100; i++)
		(void)fence_token(lh, "k", LH_EPHEMERAL, &token);
	idle_among_others(&token);
	is(again(LH_LOCAL, &last), -EIO,
	    "beyond all ranges there is no scope local");
	ok(t_has_detail(), "and the error says so");
	is(rename(away, fence_ranges(table)), 0, "the disk is there again");
	is(lh_release(lh, &beside), 0, "the other reader leaves");
	fence_larger(lh, "k", &token, "with the disk");
	is(lh_key_close(k), 0, "closed");
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	const char *table = replay_begin();

	lhi_range_bits = 6;
	no_ranges(table);
	bound_by_it(t_table());
	disk_away(t_table());
	return done();
}
