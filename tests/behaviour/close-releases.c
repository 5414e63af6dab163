/* SPDX-License-Identifier: MIT */
/*
 * Timing T3, lh_close(): a close releases the leases that the attachment still
 * holds, as cleanly as a release does: waiters acquire within T3 and without a
 * note.  Leases that had expired or been released make no difference.
 *
 * Otherwise the next holder would be warned of a death that did not happen.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define KEYS 100

static bool
close_hands_over(void *arg)
{
	const char *table = arg;
	struct t_actor *w = t_actor(table), *a = t_actor(table);
	int64_t took;

	is(t_do_acquire(a, "waited-for", 3600000, 0), 0, "held");
	t_begin_acquire(w, "waited-for", 3600000, 3600000);
	t_sleep_ms(t_ms(30));
	is(t_do_close(a), 0, "the holder closes");
	is(t_result(w), 0, "the waiter gets it");
	took = (w->ended_ns - a->began_ns) / T_NS_PER_MS;
	is(w->lease.notes, 0, "without a note");
	t_actor_end(a);
	t_actor_end(w);
	return took <= T3_MS;
}

int
main(void)
{
	const char *table = t_table();
	struct lh_lease mine[KEYS], l;
	struct lh *lh = t_open(table), *other = t_open(table);
	char name[16];
	int taken = 0, clean = 0, larger = 0;

	for (int i = 0; i < KEYS; i++) {
		snprintf(name, sizeof(name), "key-%d", i);
		mine[i] = t_hold(lh, name);
	}
	for (int i = 0; i < KEYS; i += 4)
		is(lh_release(lh, &mine[i]), 0, "some are released before");
	is(lh_extend(lh, &mine[1], t_ms(20)), 0, "one is shortened");
	t_sleep_until(mine[1].expires_ns + T_NS_PER_MS);
	is(lh_close(lh), 0, "closed, holding %d", KEYS * 3 / 4);
	for (int i = 0; i < KEYS; i++) {
		snprintf(name, sizeof(name), "key-%d", i);
		taken += t_acquire(other, name, 3600000, 0, &l) == 0;
		clean += i == 1 || l.notes == 0;
		larger += l.token > mine[i].token;
	}
	is(taken, KEYS, "every key can be taken at once");
	is(clean, KEYS, "without a note");
	is(larger, KEYS, "with larger tokens");
	ok(t_tries(3, close_hands_over, (void *)(uintptr_t)table),
	    "a waiter gets it within %lld ms", (long long)T3_MS);
	t_close(other);
	return done();
}
