/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G12: a caller is stopped before it chooses the next token
 * of an ordinary key; meanwhile that key is forgotten, and a cluster key is
 * made in its slot.  The caller must not go by the cluster key's tokens.  The
 * same the other way round.
 *
 * Otherwise the ceiling and the last token would rise to where cluster keys'
 * tokens are, and a sound table would count as damaged.
 */
#include <errno.h>
#include <string.h>
#include "behaviour/fence.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"
#include "replay.h"

static struct lh *lh, *other;
static const char *first;

static int
take(void *arg)
{
	return replay_try(lh, first, arg);
}

static void
play(const char *kind, uint32_t flags, const char *before, const char *after)
{
	struct lh_open_opts o = flags & LH_ALL_LOCAL ? fence_opts() :
	    t_open_opts();
	const char *table = replay_begin();
	struct lh_lease l = { 0 }, next;

	o.max_keys = 1;
	o.flags |= flags;
	first = before;
	if (lh_open(&lh, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	o.flags &= ~LH_ALL_LOCAL;
	if (lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	lh->serves = other->serves = true;	/* so that no shim is asked */
	is(lh_key_create(other, before), 0, "the key is made");
	is(lh_destroy(other, before), 0, "and is not kept");
	is(replay_try(other, before, &next), 0, "it is acquired");
	is(lh_release(other, &next), 0, "and released");

	replay_stop("A", "acquire.marked", take, &l);
	/* of its hint, after two of options */
	replay_hold_nth("A", "load", 3);
	replay_release("A");
	replay_wait_held("A");
	is(lh_evict(other, before, 0), 1, "the key is forgotten");
	is(lh_key_create(other, after), 0,
	    "a key of the other kind is made in its slot");
	replay_release("A");
	/* granted again, or refused because there is no room: both are right */
	(void)replay_result("A");
	cmp(sh64_load(&other->v.hdr->ceiling), <, CLUSTER_FIRST,
	    "%s: the ceiling is below cluster keys' tokens", kind);
	cmp(sh64_load(&other->v.hdr->last_token), <, CLUSTER_FIRST,
	    "%s: so is the last token", kind);
	is(sh32_load(&other->v.hdr->flags) & SHM_DAMAGED, 0u,
	    "%s: not damaged", kind);
	/* the next key has an ordinary key's token */
	is(lh_destroy(other, after), 0, "%s: the new key is destroyed", kind);
	is(replay_try(other, "c", &next), 0, "%s: an ordinary key: %s", kind,
	    lh_error_detail());
	cmp(next.token, <, CLUSTER_FIRST, "%s: with a token of its kind", kind);
	is(lh_release(other, &next), 0, "released");
	t_close(other);
	t_close(lh);
}

static void
play_all(void)
{
	play("ephemeral", 0, "a", "cluster:b");
}

static void
play_global(void)
{
	play("global", LH_TOKENS_GLOBAL, "a", "cluster:b");
}

static void
play_local(void)
{
	play("local", LH_ALL_LOCAL, "a", "cluster:b");
}

static void
play_back(void)
{
	play("cluster", 0, "cluster:a", "b");
}

int
main(void)
{
	t_part(play_all, 290, "ephemeral");
	t_part(play_global, 290, "global");
	t_part(play_local, 290, "local");
	t_part(play_back, 290, "back");
	return done();
}
