/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G4 and G6, timing T2: when a holder is killed, exactly one of the
 * waiters acquires the key, soon, with the note and a larger token.  No daemon
 * is involved, and the lease has an hour left, so only the proof of death can
 * free it.  The others then acquire one after another, without a note.
 *
 * Otherwise two waiters would succeed the dead holder, or none.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 3

static struct t_actor *waiters[WAITERS];

static int
granted(void)
{
	int n = 0;

	for (int i = 0; i < WAITERS; i++)
		n += t_answered(waiters[i]);
	return n;
}

/* The time from the kill to the one grant, checked for everything else. */
static bool
kill_and_succeed(void *arg)
{
	struct lh *lh = arg;
	struct t_actor *holder = t_actor(lh_table_name(lh)), *w;
	uint64_t token;
	int64_t killed_ns, took;
	bool done_with[WAITERS] = { false };

	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds it");
	token = holder->lease.token;
	for (int i = 0; i < WAITERS; i++)
		t_begin_acquire(waiters[i], "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", WAITERS), "others wait");
	t_sleep_ms(t_ms(30));
	is(granted(), 0, "nobody gets it while the holder lives");

	killed_ns = t_now_ns();
	t_actor_kill(holder);
	t_actor_free(holder);
	ok(t_until(T_HANG_MS, granted() > 0), "killed: one gets it");
	t_sleep_ms(t_ms(60));
	is(granted(), 1, "and only one");
	took = INT64_MAX;
	for (int n = 0; n < WAITERS; n++) {
		ok(t_until(T_HANG_MS, granted() == n + 1), "grant %d", n + 1);
		w = NULL;
		for (int i = 0; i < WAITERS && w == NULL; i++)
			if (!done_with[i] && t_answered(waiters[i])) {
				done_with[i] = true;
				w = waiters[i];
			}
		if (w == NULL || !is(w->result, 0, "it is a grant"))
			return true;	/* told; nothing more to measure */
		if (n == 0)
			took = (w->ended_ns - killed_ns) / T_NS_PER_MS;
		is(w->lease.notes, n == 0 ? LH_NOTE_PREVIOUS_DIED : 0,
		    n == 0 ? "noted that the one before died" :
		    "without a note: the one before released");
		cmp(w->lease.token, >, token, "with a larger token");
		token = w->lease.token;
		is(t_do_release(w), 0, "and releases");
	}
	diag("%lld ms from kill to grant", (long long)took);
	return took <= T2_MS;
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh;

	for (int i = 0; i < WAITERS; i++)
		waiters[i] = t_actor(table);
	lh = t_open(table);
	ok(t_tries(3, kill_and_succeed, lh),
	    "the successor came within %lld ms", (long long)T2_MS);
	for (int i = 0; i < WAITERS; i++)
		t_actor_end(waiters[i]);
	is(t_holders(lh, "k"), 0, "nobody holds it in the end");
	is(t_waiters(lh, "k"), 0, "nobody waits");
	t_close(lh);
	return done();
}
