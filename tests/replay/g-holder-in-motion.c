/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, counted re-entry: a holder has entered a key twice, and its
 * lease is just being converted, when other holders come and go.  The count of
 * the first holder must survive: its second release frees the key, not its
 * first.
 *
 * Otherwise another process would acquire the key while the holder still uses
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include "replay.h"

#define OTHERS 3000		/* enough to reach each list of holders */

static struct lh *lh, *other;

static int
as(const char *holder, const char *key, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.holder = holder;
	o.more = &more;
	return lh_acquire(lh, key, &o, l);
}

static int
downgrade(void *arg)
{
	return lh_convert(lh, arg, LH_SHARED);
}

static int
others_come(void)
{
	struct lh_lease l;
	char name[32];
	int bad = 0;

	for (int i = 0; i < OTHERS; i++) {
		(void)snprintf(name, sizeof(name), "other %d", i);
		bad += as(name, "x", &l) != 0 || lh_release(lh, &l) != 0;
	}
	return bad;
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_lease first, second, n;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(as("me", "k", &first), 0, "acquire");
	is(as("me", "k", &second), 0, "entered again");
	replay_stop("presenter", "convert.announced", downgrade, &first);
	is(others_come(), 0, "others come and go");
	is(replay_finish("presenter"), 0, "converted");
	second = first;
	is(lh_release(lh, &first), 0, "released once");
	is(lh_verify(lh, &second), 0, "it is still held");
	is(replay_try(other, "k", &n), -EAGAIN, "nobody else acquires the key");
	is(lh_release(lh, &second), 0, "released twice");
	is(replay_try(other, "k", &n), 0, "now the key is free");
	is(lh_release(other, &n), 0, "release");
	t_close(other);
	t_close(lh);
	return done();
}
