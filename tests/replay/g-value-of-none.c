/* SPDX-License-Identifier: MIT */
/*
 * G12: a sound table is never said to be damaged.  A reader of a value is
 * stopped when it has seen where that stands; the key is removed, and the
 * record taken for the values of another one.
 */
#include <errno.h>
#include <string.h>
#include "replay.h"

static struct lh *reading, *other;

static int
read_it(void *arg)
{
	char buf[LH_VALUE_MAX];
	size_t len;

	(void)arg;
	return lh_value_get(reading, "a", buf, &len, NULL);
}

static void
set(struct lh_lease *l, const char *value)
{
	is(lh_value_set(other, l, value, strlen(value)), 0, "set %s", value);
}

static void
play_all(void)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = replay_begin();
	struct lh_lease a, b;
	char value[8];

	o.max_keys = 4;		/* and few records */
	if (lh_open(&reading, table, &o) != 0 ||
	    lh_open(&other, table, &o) != 0)
		bail_out("no table: %s", lh_error_detail());
	is(replay_try(other, "b", &b), 0, "b is held");
	is(replay_try(other, "a", &a), 0, "a");
	set(&a, "one");
	is(lh_release(other, &a), 0, "has a value");
	replay_stop("reader", "value.reading", read_it, NULL);
	is(lh_destroy(other, "a"), 0, "which is removed with it");
	for (int i = 0; i < 200; i++) {
		snprintf(value, sizeof(value), "v%d", i);
		set(&b, value);
	}
	is(replay_finish("reader"), -ENOENT, "there is no such key: %s",
	    lh_error_detail());
	is(t_findings(other), 0, "and the table is sound");
	is(lh_release(other, &b), 0, "released");
	t_close(other);
	t_close(reading);
}

int
main(void)
{
	t_part(play_all, 290, "value of none");
	return done();
}
