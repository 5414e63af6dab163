/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9, invariants of shm/value_record.c: a value that is set when its
 * lease has already been lost is undone: the key keeps the old value, or the
 * one that the present holder has set.  A record that was judged free is not
 * overwritten when it is another key's value by then, and a reader reads one
 * whole value.
 *
 * Otherwise a holder that is too late would overwrite the value of the next
 * holder, or of another key.
 */
#include <errno.h>
#include <string.h>
#include "replay.h"

#define TTL_MS t_long(200)

static struct lh *lh, *other;
static struct replay_call holder;

static int
set_late(void *arg)
{
	struct replay_call *c = arg;

	return lh_value_set(c->lh, &c->lease, "late", 4);
}

static int
read_it(void *arg)
{
	char buf[LH_VALUE_MAX];
	size_t len;

	(void)arg;
	return lh_value_get(other, "k", buf, &len, NULL) == 0 &&
		       len == 5
		   ? buf[0]
		   : 0;
}

static bool
has(const char *value)
{
	char buf[LH_VALUE_MAX];
	size_t len;

	return lh_value_get(other, "k", buf, &len, NULL) == 0 &&
	       len == strlen(value) && memcmp(buf, value, len) == 0;
}

static void
put(struct lh *by, struct lh_lease *l, const char *value)
{
	is(lh_value_set(by, l, value, strlen(value)), 0, "set %s", value);
}

/* Gives k a value, and stops a holder at `point` of setting another one. */
static void
begin(const char *point)
{
	struct lh_lease l;

	is(replay_try(other, "k", &l), 0, "k is acquired");
	put(other, &l, "first");
	is(lh_release(other, &l), 0, "has a value");
	holder =
	    (struct replay_call)REPLAY_CALL(lh, "k", TTL_MS, 0);
	is(replay_acquire(&holder), 0, "k is held");
	replay_stop("setter", point, set_late, &holder);
	replay_sleep_past(&holder.lease);
}

static void
end(struct lh_lease *l, const char *value)
{
	is(replay_finish("setter"), -ESTALE,
	    "the late call reports the lost lease");
	ok(has(value), "the value is %s", value);
	is(lh_release(other, l), 0, "released");
	is(t_findings(other), 0, "the table is sound");
}

static void
late_swap(void)
{
	struct lh_lease l;

	begin("value.held");
	is(replay_try(other, "k", &l), 0,
	    "another process holds k by now");
	end(&l, "first");
}

static void
late_swap_of_old(void)
{
	struct lh_lease l;

	begin("value.held");
	is(replay_try(other, "k", &l), 0,
	    "another process holds k by now");
	put(other, &l, "second");
	end(&l, "second");
}

static void
late_look(void)
{
	struct lh_lease l;

	begin("value.taken");
	is(replay_try(other, "k", &l), 0,
	    "another process holds k by now");
	put(other, &l, "second");
	end(&l, "second");
}

/* The late value is stored, and another one on top before it is undone. */
static void
on_top(void)
{
	struct lh_lease l;

	begin("value.swapped");
	is(replay_try(other, "k", &l), 0,
	    "another process holds k by now");
	put(other, &l, "second");
	end(&l, "second");
}

static void
taken_back(void)
{
	struct lh_lease l;

	begin("value.swapped");
	ok(has("late"), "the late value is visible for a moment");
	is(replay_try(other, "k", &l), 0,
	    "another process holds k by now");
	end(&l, "first");
}

/* The key is destroyed and made again before the late call goes on. */
static void
other_life(void)
{
	struct lh_lease l;

	begin("value.held");
	is(replay_try(other, "k", &l), 0,
	    "another process holds k");
	is(lh_release(other, &l), 0, "releases it");
	is(lh_destroy(other, "k"), 0, "and destroys it");
	is(replay_try(other, "k", &l), 0, "it is made again");
	end(&l, "");
}

/* A caller that has judged a record free goes on when the record holds a
 * value. */
static void
late_taker(void)
{
	struct replay_call mine = REPLAY_CALL(lh, "m", REPLAY_LONG_MS, 0);
	struct lh_lease l;

	is(replay_acquire(&mine), 0, "m is held");
	is(replay_try(other, "k", &l), 0, "and k");
	replay_stop("taker", "value.judged", set_late, &mine);
	for (int i = 0; i < 3; i++)
		put(other, &l, i & 1 ? "other" : "third");
	is(replay_finish("taker"), 0, "the caller uses another record");
	ok(has("third"), "the value that was set meanwhile is unchanged");
	is(lh_release(other, &l), 0, "released");
	is(lh_release(lh, &mine.lease), 0, "released");
}

/* The record that a reader is reading becomes another value. */
static void
late_reader(void)
{
	struct lh_lease l;

	is(replay_try(other, "k", &l), 0, "k is held");
	put(other, &l, "aaaaa");
	replay_stop("reader", "value.reading", read_it, NULL);
	for (int i = 0; i < 9; i++)
		put(other, &l, i & 1 ? "ccccc" : "bbbbb");
	is(replay_finish("reader"), 'b',
	    "the reader reads a later value, whole");
	is(lh_release(other, &l), 0, "released");
}

static void
play_all(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	late_swap();
	late_swap_of_old();
	late_look();
	on_top();
	taken_back();
	other_life();
	late_taker();
	late_reader();
	is(lh_close(lh), 0, "close");
	t_close(other);
}

int
main(void)
{
	t_part(play_all, 190, "value late");
	return done();
}
