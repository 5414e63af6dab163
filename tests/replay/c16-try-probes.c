/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2, amendment C16: a caller that only tries finds out
 * that the holder is dead.
 *
 * The holder is killed right after its swap of the lock word, before its
 * acquire has returned.  Nobody waits; another process tries every 2 ms, and
 * must acquire the key within T2. A living holder that is stopped at the same
 * point must keep its lease.
 *
 * Otherwise programs that only try would see the key of a dead holder busy
 * until its deadline.
 */
#include "replay.h"

struct shared {
	const char *table;
	struct replay_call call;
};

static int
hold(void *arg)
{
	struct shared *sh = arg;

	sh->call.lh = replay_open(sh->table, 0);
	return replay_acquire(&sh->call);
}

/* Tries for that long: what the last try returned. */
static int
keep_trying(struct lh *lh, int64_t ms, struct lh_lease *l)
{
	int64_t began_ns = t_now_ns();
	int r;

	do {
		r = replay_try(lh, "k", l);
		if (r != -EAGAIN)
			break;
		t_sleep_ms(2);
	} while (t_since_ms(began_ns) < ms);
	return r;
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh *lh = replay_open(table, 0);
	struct lh_lease l;
	int r;

	*sh = (struct shared){ table, REPLAY_CALL(NULL, "k", REPLAY_LONG_MS,
	    0) };
	replay_hold("holder", "acquire.granted");
	replay_fork("holder", hold, sh);
	replay_wait_held("holder");
	is(keep_trying(lh, 100, &l), -EAGAIN, "a stopped holder is not dead");
	replay_kill("holder");
	r = keep_trying(lh, T2_MS, &l);
	is(r, 0, "the death of a killed holder is found by trying");
	if (r == 0) {
		ok(l.notes & LH_NOTE_PREVIOUS_DIED,
		    "and noted in the next lease");
		is(lh_release(lh, &l), 0, "release");
	}
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 500, "try probes");
	return done();
}
