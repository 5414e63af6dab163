/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: when a table's room for values is used up, another one is
 * -ENOSPC, with words that say what to do, also with an acquire, which then
 * holds nothing.  Existing values can be read, replaced and cleared; cleared
 * values, those of destroyed keys, and those of dead processes make room.
 *
 * Otherwise an acquire with a value would hold a key without its value.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "proc/attachment.h"
#include "shm/value_record.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define KEYS 200		/* and 50 + 64 records, one of them nobody's */

static struct lh *lh;
static const char *table;

static int
set(int i, const char *value, size_t len)
{
	char key[16];
	struct lh_lease l;
	int error;

	(void)snprintf(key, sizeof(key), "k%d", i);
	l = t_hold(lh, key);
	error = lh_value_set(lh, &l, value, len);
	is(lh_release(lh, &l), 0, "released");
	return error;
}

/* Takes a record, and is killed. */
static int
taker(void *arg)
{
	struct lhi_setting t;
	struct lh *mine = t_open(table);

	(void)arg;
	if (lhi_value_begin(&mine->v, &t, mine->sid, &mine->v.slots[1], 1,
	    "half", 4) != 0)
		return 1;
	(void)kill(getpid(), SIGKILL);
	return 2;
}

int
main(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts a = t_opts(60000, 0);
	struct lh_open_opts o = t_open_opts();
	char buf[LH_VALUE_MAX];
	struct lh_lease l;
	int n = 0, error;
	size_t len;

	table = t_table();
	o.max_keys = KEYS;
	is(lh_open(&lh, table, &o), 0, "a small table");
	while (n < KEYS && (error = set(n, "value", 5)) == 0)
		n++;
	cmp(n, >=, KEYS / 4, "a value for each fourth key, at least");
	cmp(n, <, KEYS, "then no more");
	is(error, -ENOSPC, "it says so");
	is(set(n, "value", 5), -ENOSPC, "again");
	ok(strstr(lh_error_detail(), "value clear") != NULL,
	    "and what to do: %s", lh_error_detail());
	more.value = "with";
	more.value_len = 4;
	a.more = &more;
	is(lh_acquire(lh, "k199", &a, &l), -ENOSPC, "nor with an acquire");
	ok(strstr(lh_error_detail(), "value clear") != NULL, "the same words");
	is(t_holders(lh, "k199"), 0, "which holds nothing");
	is(lh_value_get(lh, "k0", buf, &len, NULL), 0, "the first is there");
	is(len, 5, "whole");
	is(set(0, "other", 5), -ENOSPC, "another needs a record, too");
	is(set(0, NULL, 0), 0, "it can be cleared");
	is(set(n, "value", 5), 0, "which makes room");
	is(set(1, "other", 5), -ENOSPC, "for one");
	is(lh_destroy(lh, "k2"), 0, "a key that is removed");
	is(set(1, "other", 5), 0, "makes room");
	is(set(1, "again", 5), 0, "in which others can be replaced");
	for (int i = 0; i < 3; i++)
		is(t_reap(t_fork(taker, NULL), T_HANG_MS), 256 + SIGKILL,
		    "who took it was killed");
	is(set(1, "third", 5), 0, "and the room is used again");
	is(lh_value_get(lh, "k1", buf, &len, NULL), 0, "read");
	ok(len == 5 && memcmp(buf, "third", 5) == 0, "the last one");
	t_close(lh);
	return done();
}
