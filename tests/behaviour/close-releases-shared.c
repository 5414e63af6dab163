/* SPDX-License-Identifier: MIT */
/*
 * Timing T3, lh_close(): a close releases the attachment's shared leases like
 * its exclusive ones, several on one key included.  A writer that waits for
 * nothing else acquires the key within T3, without a note; where others still
 * read, the count of readers falls by the closed ones.
 *
 * Otherwise a clean close would look like a death, and writers would wait for
 * readers that are gone.
 */
#include <errno.h>
#include "readers.h"

#define KEYS 60

static struct lh *lh;

static bool
close_hands_over(void *arg)
{
	const char *table = arg;
	struct t_actor *w = t_actor(table), *a = t_actor(table);
	int64_t took;

	is(t_do_read(a, "k", HOUR_MS, 0), 0, "a reader");
	t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	t_sleep_ms(t_ms(10));
	ok(!t_answered(w), "a writer waits");
	is(t_do_close(a), 0, "the reader closes");
	is(t_result(w), 0, "the writer gets it");
	took = t_after_ms(w, a->began_ns);
	is(w->lease.notes, 0, "without a note");
	is(t_do_release(w), 0, "and releases");
	t_actor_end(a);
	t_actor_end(w);
	return took <= T3_MS;
}

static void
name_of(char *name, int i)
{
	snprintf(name, 16, "key-%d", i);
}

int
main(void)
{
	const char *table = t_table();
	struct lh_lease mine[KEYS], theirs[KEYS], several[3], l;
	struct lh *closing = t_open(table);
	int held = 0, free_now = 0, clean = 0, larger = 0;
	char name[16];

	lh = t_open(table);
	for (int i = 0; i < KEYS; i++) {
		name_of(name, i);
		mine[i] = t_read_hold(closing, name);
		/* every other key has another reader as well */
		if (i % 2)
			theirs[i] = t_read_hold(lh, name);
		if (i % 4 == 3) {
			is(lh_release(closing, &mine[i]), 0, "released");
			mine[i] = t_read_hold(closing, name);
		}
		if (i % 4 == 2)
			is(lh_release(closing, &mine[i]), 0, "released");
	}
	for (int i = 0; i < 3; i++)
		several[i] = t_read_hold(closing, "several");
	l = t_read_hold(lh, "several");
	is(t_holders(lh, "several"), 4, "four read one key");
	is(lh_release(closing, &several[1]), 0, "one releases");
	is(lh_close(closing), 0, "closed, reading %d keys", KEYS * 3 / 4 + 1);
	is(t_holders(lh, "several"), 1, "one of the four is left");
	is(lh_verify(lh, &l), 0, "who holds on");
	is(t_try(lh, "several", LH_EXCLUSIVE, 0), -EAGAIN, "writers wait");
	is(lh_release(lh, &l), 0, "and releases");
	for (int i = 0; i < KEYS; i++) {
		name_of(name, i);
		if (i % 2) {
			held += t_holders(lh, name) == 1 &&
			    lh_verify(lh, &theirs[i]) == 0 &&
			    lh_release(lh, &theirs[i]) == 0;
		}
		free_now += t_acquire(lh, name, HOUR_MS, 0, &l) == 0;
		clean += l.notes == 0;
		larger += l.token > mine[i].token;
		lh_release(lh, &l);
	}
	is(held, KEYS / 2, "other readers hold on");
	is(free_now, KEYS, "the keys are free for writers");
	is(clean, KEYS, "without a note");
	is(larger, KEYS, "with larger tokens");
	ok(t_tries(3, close_hands_over, (void *)(uintptr_t)table),
	    "a waiter gets it within %lld ms", (long long)T3_MS);
	t_close(lh);
	return done();
}
