/* SPDX-License-Identifier: MIT */
/*
 * Who asks about a key is told about that key, also when it goes while he
 * looks, and another one, which is held, comes in its place.
 */
#include <errno.h>
#include "replay.h"

#define KEYS 1		/* whoever comes next comes to the same place */

static struct lh *asking, *other;

static int
never(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	fail("told of '%s', of which there are %u holders", info->key,
	    info->n_holders);
	return 0;
}

static int
ask(void *arg)
{
	(void)arg;
	return lh_status(asking, "a", NULL, never, NULL);
}

static void
play_all(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = replay_begin();
	struct lh_lease a, b;

	o.max_keys = KEYS;
	if (lh_open(&asking, table, &o) != 0 || lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	is(replay_try(other, "a", &a), 0, "a");
	is(lh_release(other, &a), 0, "is free");
	replay_stop("asking", "snapshot.found", ask, NULL);
	is(lh_evict(other, "a", 0), 1, "and evicted");
	is(replay_try(other, "b", &b), 0, "b is in its place, and held");
	is(replay_finish("asking"), -ENOENT, "there is no a");
	is(lh_release(other, &b), 0, "b is released");
	t_close(other);
	t_close(asking);
}

int
main(void)
{
	t_part(play_all, 290, "status of another");
	return done();
}
