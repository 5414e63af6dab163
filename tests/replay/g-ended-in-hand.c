/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9, crash rows SE5 and SE6: a lease that is ended during a hand-off
 * is not handed over.  It is broken, released, shortened or expires while the
 * giver is stopped between the steps of the hand-off, also when the giver's
 * claim is free or in use again by the time the giver looks.  A hand-off whose
 * old lease merely ran out, because others had found the new one and extended
 * it, must succeed.
 *
 * Otherwise the receiver would hold a key whose lease had been broken, or would
 * lose one that was rightly extended.
 */
#include <errno.h>
#include "replay.h"

static struct lh *lh, *other;
static struct lh_session *s;

struct hand {
	int64_t ttl_ms;
	uint32_t mode;
	struct lh_lease l;
};

/* Acquires in a thread that ends, so that the next thread uses its claims. */
static int
take(void *arg)
{
	struct hand *h = arg;
	struct lh_acquire_opts o = t_opts(h->ttl_ms, 0);

	o.mode = h->mode;
	return lh_acquire(lh, "k", &o, &h->l);
}

static int
hand_over(void *arg)
{
	return lh_handoff(lh, &((struct hand *)arg)->l, s);
}

static int
break_it(void *unused)
{
	(void)unused;
	return lh_break(other, "k", NULL, 0);
}

static void
begin(struct hand *h, const char *point)
{
	replay_go("taker", take, h);
	is(replay_result("taker"), 0, "a lease");
	replay_stop("giver", point, hand_over, h);
}

static void
free_in_the_end(void)
{
	struct lh_lease l;

	is(replay_try(other, "k", &l), 0, "the key is free");
	is(lh_release(other, &l), 0, "release");
	is(t_findings(lh), 0, "the table is sound");
}

/* The lease is broken before the word's swap, and the giver finds its claim
 * free or in use again. */
static void
broken(const char *next_at)
{
	struct replay_call c = REPLAY_CALL(lh, "x", REPLAY_LONG_MS, 0);
	struct hand h = { .ttl_ms = REPLAY_LONG_MS };

	begin(&h, "handoff.taken");
	replay_stop("breaker", "break.broken", break_it, NULL);
	replay_stop_next("giver", "handoff.swapped");
	if (next_at != NULL)
		replay_hold("next", next_at);
	replay_go("next", replay_acquire, &c);
	if (next_at != NULL)
		replay_wait_held("next");
	else
		is(replay_result("next"), 0, "its claim is used again");
	is(replay_finish("giver"), -ESTALE,
	    "a broken lease is not handed over");
	if (next_at != NULL) {
		is(replay_finish("next"), 0, "its claim is used again");
	}
	is(replay_finish("breaker"), 1, "it was broken");
	is(lh_release(lh, &c.lease), 0, "release");
	free_in_the_end();
}

/* Finds the holder's lease, as status reports it. */
static int
find(const struct lh_key_info *info, void *arg)
{
	const struct lh_party *h = &info->holders[0];

	/* the newest reader is the first */
	return info->n_holders == 0 ? -ENOENT :
	    lh_lease_recall(other, "k", h->id, h->token, arg);
}

/* The lease is broken, and another process finds and extends the new one just
 * when the giver is about to end it. */
static void
broken_and_extended(uint32_t mode)
{
	struct hand h = { .ttl_ms = REPLAY_LONG_MS, .mode = mode };
	struct lh_lease n;

	begin(&h, "handoff.taken");
	replay_stop("breaker", "break.broken", break_it, NULL);
	replay_stop_next("giver", "handoff.let_go");
	replay_stop_next("giver", "cas");
	is(lh_status(other, "k", NULL, find, &n), 0,
	    "another process finds the new lease");
	is(lh_extend(other, &n, REPLAY_LONG_MS / 2), 0, "and extends it");
	is(replay_finish("giver"), -ESTALE,
	    "a broken lease is not handed over");
	is(lh_verify(other, &n), -ESTALE,
	    "and lost for the process that extended it");
	is(replay_finish("breaker"), 1, "it was broken");
	free_in_the_end();
}

/* The old lease runs out after the new one was extended. */
static void
extended(uint32_t mode, const char *next_at)
{
	struct replay_call c = REPLAY_CALL(lh, "x", REPLAY_LONG_MS, 0);
	struct hand h = { .ttl_ms = t_ms(300), .mode = mode };
	struct lh_lease n, was;

	begin(&h, "handoff.swapped");
	was = h.l;
	is(lh_status(other, "k", NULL, find, &n), 0,
	    "another process finds the new lease");
	is(lh_extend(other, &n, REPLAY_LONG_MS), 0, "and extends it");
	replay_sleep_past(&was);
	if (next_at != NULL)
		replay_hold("next", next_at);
	replay_go("next", replay_acquire, &c);
	if (next_at != NULL)
		replay_wait_held("next");
	else
		is(replay_result("next"), 0, "the old claim is used again");
	is(replay_finish("giver"), 0, "it is handed over: %s",
	    lh_error_detail());
	is(lh_verify(other, &n), 0, "the process that extended it holds it");
	if (next_at != NULL) {
		is(replay_finish("next"), 0, "the old claim is used again");
	}
	is(lh_release(lh, &c.lease), 0, "release");
	is(lh_release(other, &n), 0, "release");
	free_in_the_end();
}

static int
extend(void *arg)
{
	return lh_extend(lh, arg, REPLAY_LONG_MS);
}

/* The same, and another thread extends the old lease too late. */
static void
late_extension(void)
{
	struct hand h = { .ttl_ms = t_ms(300) };
	struct lh_lease n, was;

	begin(&h, "handoff.taken");
	was = h.l;
	replay_stop("extender", "extend.checked", extend, &was);
	replay_stop_next("giver", "handoff.swapped");
	is(lh_status(other, "k", NULL, find, &n), 0,
	    "another process finds the new lease");
	is(lh_extend(other, &n, REPLAY_LONG_MS), 0, "and extends it");
	replay_sleep_past(&h.l);
	is(replay_finish("extender"), -ESTALE,
	    "the extension of the old lease is too late");
	is(replay_finish("giver"), 0, "it is handed over");
	is(lh_verify(other, &n), 0, "the process that extended it holds it");
	is(lh_release(other, &n), 0, "release");
	free_in_the_end();
}

/* The same, but the late extension would have shortened the lease: its caller
 * learns that the lease ran out. */
static void
late_shortening(void)
{
	struct replay_call c = REPLAY_CALL(lh, "k", t_ms(50), 0);
	struct hand h = { .ttl_ms = REPLAY_LONG_MS };

	begin(&h, "handoff.taken");
	c.lease = h.l;
	replay_stop("extender", "extend.swapped", replay_extend, &c);
	t_sleep_until(t_now_ns() + t_ms(60) * T_NS_PER_MS);
	replay_stop_next("extender", "lock.word_loaded");
	is(replay_finish("giver"), -ESTALE,
	    "a lease that was reported expired is not handed over");
	is(replay_finish("extender"), -ESTALE, "the extension is too late");
	free_in_the_end();
}

/* The lease is shortened during the hand-off: the new lease ends then, too, and
 * is not handed over after that. */
static void
shortened(uint32_t mode, const char *point, bool over)
{
	struct hand h = { .ttl_ms = REPLAY_LONG_MS, .mode = mode };
	struct lh_lease was;

	begin(&h, point);
	was = h.l;
	is(lh_extend(lh, &was, over ? t_ms(20) : REPLAY_LONG_MS / 2), 0,
	    "shortened");
	if (over)
		replay_sleep_past(&was);
	replay_release("giver");
	if (over) {
		is(replay_result("giver"), -ESTALE,
		    "an expired lease is not handed over");
	} else {
		is(replay_result("giver"), 0, "it is handed over");
		cmp(h.l.expires_ns, ==, was.expires_ns, "with that deadline");
		is(lh_release(lh, &h.l), 0, "release");
	}
	free_in_the_end();
}

/* The lease is extended during the hand-off: the key stays held past the old
 * deadline, though the giver is stopped after its swap. */
static void
extended_before(uint32_t mode, bool over)
{
	struct hand h = { .ttl_ms = t_ms(300), .mode = mode };
	struct lh_lease was, at_first, n;

	begin(&h, "handoff.taken");
	was = at_first = h.l;
	is(lh_extend(lh, &was, over ? t_ms(600) : REPLAY_LONG_MS), 0,
	    "extended");
	replay_stop_next("giver", "handoff.swapped");
	replay_sleep_past(&at_first);
	is(replay_try(other, "k", &n), -EAGAIN, "the key is held");
	if (over)
		replay_sleep_past(&was);
	replay_release("giver");
	if (over) {
		is(replay_result("giver"), -ESTALE, "it has expired");
	} else {
		is(replay_result("giver"), 0, "it is handed over");
		cmp(h.l.expires_ns, ==, was.expires_ns, "with that deadline");
		is(lh_release(lh, &h.l), 0, "release");
	}
	free_in_the_end();
}

static int
policy(const struct lh_key_info *info, void *unused)
{
	(void)unused;
	return (int)info->holders[0].policy;
}

static int
take_over(void *arg)
{
	return lh_handoff(lh, arg, NULL);
}

/* The lease is extended during the hand-off: its policy stays the same. */
static void
live(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(t_ms(5000), 0);
	struct lh_lease l, was;

	more.policy = LH_POLICY_LIVE;
	o.more = &more;
	is(lh_acquire(lh, "k", &o, &l), 0, "a lease under policy live");
	was = l;
	replay_stop("taker", "handoff.taken", take_over, &l);
	is(lh_extend(lh, &was, REPLAY_LONG_MS), 0, "extended");
	is(replay_finish("taker"), 0, "it is handed over");
	cmp(l.expires_ns, ==, was.expires_ns, "with that deadline");
	is(lh_status(lh, "k", NULL, policy, NULL), LH_POLICY_LIVE,
	    "under policy live");
	is(lh_release(lh, &l), 0, "release");
	free_in_the_end();
}

/* Another caller finds that a reader's old lease has run out. */
static void
reader(bool presented)
{
	struct hand h = { .ttl_ms = t_ms(300), .mode = LH_SHARED };
	struct lh_lease n, was;

	begin(&h, "handoff.swapped");
	was = h.l;
	is(lh_status(other, "k", NULL, find, &n), 0,
	    "another process finds the new lease");
	cmp(n.token, !=, was.token, "the lease of the receiver");
	is(lh_extend(other, &n, REPLAY_LONG_MS), 0, "and extends it");
	replay_sleep_past(&was);
	is(presented ? lh_verify(lh, &was) : lh_verify_token(other, "k",
	    was.token), -ESTALE, "the old lease is over");
	is(replay_finish("giver"), 0, "it is handed over");
	is(lh_verify(other, &n), 0, "the process that extended it holds it");
	is(lh_release(other, &n), 0, "release");
	free_in_the_end();
}

/* A lease that was released during the hand-off is not handed over. */
static void
released(void)
{
	struct hand h = { .ttl_ms = REPLAY_LONG_MS, .mode = LH_SHARED };
	struct lh_lease was;

	begin(&h, "handoff.swapped");
	was = h.l;
	is(lh_release(lh, &was), 0, "released");
	is(replay_finish("giver"), -ESTALE,
	    "a released lease is not handed over");
	free_in_the_end();
}

int
main(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	const char *table = replay_begin();

	so.ttl_ms = REPLAY_LONG_MS;
	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	is(lh_session_open(lh, "s", &so, &s), 0, "a session");
	broken("claim.left");
	broken("claim.reclaimed");
	broken("acquire.announced");
	broken(NULL);
	broken_and_extended(LH_EXCLUSIVE);
	broken_and_extended(LH_SHARED);
	extended(LH_EXCLUSIVE, "claim.left");
	extended(LH_EXCLUSIVE, "acquire.announced");
	extended(LH_EXCLUSIVE, NULL);
	extended(LH_SHARED, "claim.reclaimed");
	extended(LH_SHARED, "acquire.announced");
	extended(LH_SHARED, NULL);
	late_extension();
	late_shortening();
	shortened(LH_EXCLUSIVE, "handoff.taken", true);
	shortened(LH_EXCLUSIVE, "handoff.taken", false);
	shortened(LH_SHARED, "handoff.taken", true);
	shortened(LH_SHARED, "handoff.swapped", true);
	shortened(LH_SHARED, "handoff.swapped", false);
	extended_before(LH_EXCLUSIVE, false);
	extended_before(LH_EXCLUSIVE, true);
	extended_before(LH_SHARED, false);
	live();
	reader(false);
	reader(true);
	released();
	lh_session_close(s);
	t_close(other);
	t_close(lh);
	return done();
}
