/* SPDX-License-Identifier: MIT */
/*
 * A closed handle returns -EINVAL while it is one of the last 64 of its kind
 * (spec section 6). That holds for an opened key whose last reference has gone,
 * a handle whose table was closed, and a live handle that its own callback has
 * closed.  The memory of older ones is freed.  (All functions:
 * tests/command/arguments.t.)
 *
 * Otherwise a second close would crash the program or close a handle of
 * somebody else.
 */
#include <errno.h>
#include <stdatomic.h>
#include "support/support.h"
#include "tap.h"

#define KEPT 64
#define MORE 200

static const char *table;

static void
keys(void)
{
	struct lh *lh = t_open(table);
	struct lh_key *k, *again, *left;
	struct lh_lease l;

	is(lh_key_open(lh, "k", 0, &k), 0, "a key is opened");
	is(lh_key_open(lh, "k", 0, &again), 0, "twice");
	is(lh_key_open(lh, "left", 0, &left), 0, "and another");
	is(lh_key_close(k), 0, "closed once");
	is(lh_key_acquire(again, NULL, &l), 0, "the other reference works");
	is(lh_release(lh, &l), 0, "and its lease is released");
	is(lh_key_close(again), 0, "closed");
	is(lh_key_close(again), -EINVAL, "once too often");
	is(lh_key_acquire(again, NULL, &l), -EINVAL, "not to be acquired");
	ok(lh_key_name(again) == NULL, "nor has it a name");
	t_close(lh);
	is(lh_key_acquire(left, NULL, &l), -EINVAL, "the table is closed");
	is(lh_key_close(left), -EINVAL, "and with it its keys");
	is(lh_acquire(lh, "k", NULL, &l), -EINVAL, "the table's handle");
	is(lh_acquire(NULL, "k", NULL, &l), -EINVAL, "and none");
	is(lh_release(lh, &l), -EINVAL, "nothing to release");
}

static void
many(void)
{
	struct lh *lh = t_open(table);
	struct lh_lock *l[MORE];
	int good = 0;

	for (int i = 0; i < MORE; i++) {
		if (lh_lock_open(lh, "k", NULL, &l[i]) != 0 ||
		    lh_lock_close(l[i]) != 0)
			bail_out("no handle: %s", lh_error_detail());
		for (int k = i < KEPT ? 0 : i - KEPT + 1; k <= i; k++)
			good += lh_lock_release(l[k]) == -EINVAL;
	}
	is(good, KEPT * (KEPT + 1) / 2 + (MORE - KEPT) * KEPT,
	    "the last 64 are refused each time");
	t_close(lh);
}

static _Atomic int inside = 1;

static void
closes(struct lh_lock *l, const struct lh_event *event, void *arg)
{
	(void)event;
	(void)arg;
	if (lh_lock_close(l) == 0)
		atomic_store(&inside, lh_lock_valid(l));
}

static void
callback(void)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh *lh = t_open(table);
	struct lh_lock *l;

	o.event = closes;
	is(lh_lock_open(lh, "called", &o, &l), 0, "a handle with a callback");
	is(lh_lock_acquire(l, NULL), 0, "that is called");
	ok(t_until(T_HANG_MS, atomic_load(&inside) != 1), "and closes it");
	is(atomic_load(&inside), -EINVAL, "which it is at once");
	is(lh_lock_valid(l), -EINVAL, "and stays");
	t_close(lh);
}

static void
sessions(void)
{
	struct lh *lh = t_open(table);
	struct lh_session *s, *late;

	is(lh_session_open(lh, "s", NULL, &s), 0, "a session");
	is(lh_session_open(lh, "s", NULL, &late), 0, "twice");
	lh_session_close(s);
	lh_session_close(s);
	is((int)lh_session_renew(s), -EINVAL, "closed: not to be renewed");
	is(lh_session_destroy(late), 0, "the other handle works");
	t_close(lh);
	is((int)lh_session_renew(late), -EINVAL, "until its table is closed");
	lh_session_close(late);
	is(lh_session_keep(late, 1), -EINVAL, "and then it is, too");
}

int
main(void)
{
	table = t_table();
	keys();
	many();
	callback();
	sessions();
	return done();
}
