/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G3 and G9: a call that returns a deadline of a cluster key's
 * lease is stopped before each of its loads.  Meanwhile the lease is lost with
 * this host's right, and another process holds the key under the next right.
 * The call must not return a deadline that belongs to the next right.
 *
 * Otherwise its caller would rely on the key for as long as the other holder's
 * right lasts.
 */
#include <errno.h>
#include "lent.h"

#define PLACES 45
#define D1_MS 20000	/* lent_pass() ends it earlier */
#define SOON_MS 60000	/* longer than D1, shorter than the next right */

struct caller {
	const char *what;
	int (*fn)(void *arg);
	const char *from;	/* where the counting of its loads begins */
	uint32_t policy;
};

static struct lh *lh, *other;
static struct lh_lease lease;
static struct lh_session *to;

static int
extend(void *unused)
{
	(void)unused;
	return lh_extend(lh, &lease, REPLAY_LONG_MS);
}

static int
hand_over(void *unused)
{
	(void)unused;
	return lh_handoff(lh, &lease, to);
}

static int
recall(void *unused)
{
	struct lh_lease l;
	int e;

	(void)unused;
	e = lh_lease_recall(lh, LENT_KEY, lease.id, lease.token, &l);
	if (e == 0)
		lease = l;
	return e;
}

static int
again(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;
	int e;

	(void)unused;
	more.holder = "me";
	o.more = &more;
	e = lh_acquire(lh, LENT_KEY, &o, &l);
	if (e == 0)
		lease = l;
	return e;
}

static void
take(uint32_t policy)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.policy = policy;
	more.holder = "me";
	o.more = &more;
	if (lh_acquire(lh, LENT_KEY, &o, &lease) != 0)
		bail_out("not acquired: %s", lh_error_detail());
}

/* Stops the call at its nth load.  True if it was stopped. */
static bool
stopped_at(const struct caller *c, int n)
{
	struct lh_lease q;
	bool in_it;
	int e;

	lent_give(D1_MS);
	take(c->policy);
	if (c->from != NULL) {
		replay_stop("caller", c->from, c->fn, NULL);
		replay_hold_nth("caller", "load", n);
		replay_release("caller");
	} else {
		replay_hold_nth("caller", "load", n);
		replay_go("caller", c->fn, NULL);
	}
	in_it = replay_comes("caller");
	/* D passes; then as the shim does it: shim/agent/host.c,
	 * begin_epoch() */
	lent_pass();
	(void)lhi_cluster_end(&lent_shim->v);
	cmp(lh_break(lent_shim, LENT_KEY, NULL, 0), >=, 0, "broken");
	lent_give(REPLAY_LONG_MS);
	is(replay_try(other, LENT_KEY, &q), 0,
	    "another process acquires the key");
	if (in_it)
		replay_release("caller");
	e = replay_result("caller");
	if (in_it)
		ok(e != 0 || lease.expires_ns <= t_now_ns() + t_ms(SOON_MS) *
		    T_NS_PER_MS, "%s, at load %d: %d, for %lld ms more",
		    c->what, n, e, (long long)((lease.expires_ns -
		    t_now_ns()) / T_NS_PER_MS));
	is(lh_verify(other, &q), 0, "and holds it");
	is(lh_release(other, &q), 0, "and releases it");
	(void)lh_release(lh, &lease);
	return in_it;
}

static const struct caller callers[] = {
	{ "extend", extend, "extend.swapped", LH_POLICY_LEASE },
	{ "extend, strict", extend, NULL, LH_POLICY_STRICT },
	{ "handoff", hand_over, "handoff.let_go", LH_POLICY_LEASE },
	{ "recall", recall, NULL, LH_POLICY_LEASE },
	{ "holder", again, NULL, LH_POLICY_LEASE },
};

static const struct caller *now;

static void
play_one(void)
{
	const char *table = replay_begin();
	int n = 1;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	lent_begin(table);
	if (now->fn == hand_over)
		to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	while (n <= PLACES && stopped_at(now, n))
		n++;
	cmp(n, >, 3, "%s: %d places", now->what, n - 1);
	t_close(lh);
	t_close(other);
	t_close(lent_shim);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		now = &callers[i];
		t_part(play_one, 60, "right between");
	}
	return done();
}
