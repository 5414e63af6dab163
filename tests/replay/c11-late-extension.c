/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3, crash row E1, amendment C11: an extension that wins its swap
 * after the deadline is undone.
 *
 * The extender looks at the clock, has time left, and is stopped until the
 * deadline has passed.  Nobody has noticed the expiry, so the swap succeeds.
 * Once the extender is another thread than the holder (slow path), once the
 * holder itself (fast path).
 *
 * Otherwise a lease that had expired would be extended, although its holder had
 * no right to the key in between.
 */
#include "replay.h"

#define TTL_MS t_long(300)

static struct lh *other;

static void
late(const char *by, struct replay_call *c, const char *where)
{
	struct lh_lease l;
	int r;

	replay_wait_held(by);
	replay_sleep_past(&c->lease);
	is(replay_finish(by), -ESTALE, "the extension by the %s is late (%s)",
	    by, where);
	r = replay_try(other, "k", &l);
	is(r, 0, "the key can be acquired at once");
	if (r == 0)
		is(lh_release(other, &l), 0, "release");
	is(lh_verify(c->lh, &c->lease), -ESTALE, "the lease stays lost");
	is(lh_extend(c->lh, &c->lease, 1000), -ESTALE,
	    "and cannot be extended");
}

static int
hold_and_extend(void *arg)
{
	struct replay_call *c = arg;

	c->lease = (struct lh_lease){ 0 };
	if (replay_acquire(c) != 0)
		return -EINVAL;
	replay_hold("holder", "cas");
	return replay_extend(c);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0);
	struct replay_call c = REPLAY_CALL(lh, "k", TTL_MS, 0);

	other = replay_open(table, 0);
	is(replay_acquire(&c), 0, "k is held");
	replay_hold("stranger", "extend.checked");
	replay_go("stranger", replay_extend, &c);
	late("stranger", &c, "stopped before the swap");

	is(replay_acquire(&c), 0, "k is held");
	replay_hold("stranger", "extend.swapped");
	replay_go("stranger", replay_extend, &c);
	late("stranger", &c, "stopped after the swap");

	replay_go("holder", hold_and_extend, &c);
	late("holder", &c, "stopped before the swap");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "late extension");
	return done();
}
