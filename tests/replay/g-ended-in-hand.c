/* SPDX-License-Identifier: MIT */
/*
 * G9: a lease that was ended in the midst of being handed over is not handed
 * over, an exclusive one also not when its claim has been taken back before the
 * giver looks.  One that has only run out, since the new one was found and
 * extended, has nothing to do with that; but one that was shortened has.
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

/* By a thread that ends: another one has its claims next. */
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

/* Broken before the word's swap, seen by the giver when the claim is free, or
 * in use again. */
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
		is(replay_result("next"), 0, "its claim has been had again");
	is(replay_finish("giver"), -ESTALE,
	    "what is broken is not handed "
	    "over");
	if (next_at != NULL) {
		is(replay_finish("next"), 0, "its claim is had again");
	}
	is(replay_finish("breaker"), 1, "it was broken");
	is(lh_release(lh, &c.lease), 0, "release");
	free_in_the_end();
}

/* Who holds it, as anybody may see. */
static int
find(const struct lh_key_info *info, void *arg)
{
	const struct lh_party *h = &info->holders[0];

	/* the last comer is the first */
	return info->n_holders == 0 ? -ENOENT :
	    lh_lease_recall(other, "k", h->id, h->token, arg);
}

/* Broken, and the new one is extended by who found it, just as the giver is to
 * end that. */
static void
broken_and_extended(uint32_t mode)
{
	struct hand h = { .ttl_ms = REPLAY_LONG_MS, .mode = mode };
	struct lh_lease n;

	begin(&h, "handoff.taken");
	replay_stop("breaker", "break.broken", break_it, NULL);
	replay_stop_next("giver", "handoff.let_go");
	replay_stop_next("giver", "cas");
	is(lh_status(other, "k", NULL, find, &n), 0, "it is found");
	is(lh_extend(other, &n, REPLAY_LONG_MS / 2), 0, "and extended");
	is(replay_finish("giver"), -ESTALE,
	    "what is broken is not handed "
	    "over");
	is(lh_verify(other, &n), -ESTALE, "nor had by who has extended it");
	is(replay_finish("breaker"), 1, "it was broken");
	free_in_the_end();
}

/* The old one runs out when the new one has been extended. */
static void
extended(uint32_t mode, const char *next_at)
{
	struct replay_call c = REPLAY_CALL(lh, "x", REPLAY_LONG_MS, 0);
	struct hand h = { .ttl_ms = t_ms(300), .mode = mode };
	struct lh_lease n, was;

	begin(&h, "handoff.swapped");
	was = h.l;
	is(lh_status(other, "k", NULL, find, &n), 0, "it is found");
	is(lh_extend(other, &n, REPLAY_LONG_MS), 0, "and extended");
	replay_sleep_past(&was);
	if (next_at != NULL)
		replay_hold("next", next_at);
	replay_go("next", replay_acquire, &c);
	if (next_at != NULL)
		replay_wait_held("next");
	else
		is(replay_result("next"), 0, "the old claim is had again");
	is(replay_finish("giver"), 0, "it is handed over: %s",
	    lh_error_detail());
	is(lh_verify(other, &n), 0, "who has extended it has it");
	if (next_at != NULL) {
		is(replay_finish("next"), 0, "the old claim is had again");
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

/* As that, and somebody tries to extend the old one when it is too late. */
static void
late_extension(void)
{
	struct hand h = { .ttl_ms = t_ms(300) };
	struct lh_lease n, was;

	begin(&h, "handoff.taken");
	was = h.l;
	replay_stop("extender", "extend.checked", extend, &was);
	replay_stop_next("giver", "handoff.swapped");
	is(lh_status(other, "k", NULL, find, &n), 0, "it is found");
	is(lh_extend(other, &n, REPLAY_LONG_MS), 0, "and extended");
	replay_sleep_past(&h.l);
	is(replay_finish("extender"), -ESTALE, "too late for the old one");
	is(replay_finish("giver"), 0, "it is handed over");
	is(lh_verify(other, &n), 0, "who has extended it has it");
	is(lh_release(other, &n), 0, "release");
	free_in_the_end();
}

/* As that, but what comes too late would have shortened it: who is told that it
 * has run out is told so before the new one would have. */
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
	    "what is told to have run out is "
	    "not handed over");
	is(replay_finish("extender"), -ESTALE, "it came too late");
	free_in_the_end();
}

/* Shortened in the midst of that: the new one does not last longer, and is not
 * had when that has passed, though nobody has noticed. */
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
		is(replay_result("giver"), -ESTALE, "what has run out is not "
		    "handed over");
	} else {
		is(replay_result("giver"), 0, "it is handed over");
		cmp(h.l.expires_ns, ==, was.expires_ns, "with that deadline");
		is(lh_release(lh, &h.l), 0, "release");
	}
	free_in_the_end();
}

/* Extended in the midst of that: then the key is not to be had at the deadline
 * of before, though the giver is stopped behind the swap. */
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
		is(replay_result("giver"), -ESTALE, "it has run out then");
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

/* Extended in the midst of that: it is under the same policy afterwards. */
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
	cmp(l.expires_ns, ==, was.expires_ns, "until then");
	is(lh_status(lh, "k", NULL, policy, NULL), LH_POLICY_LIVE,
	    "under policy live");
	is(lh_release(lh, &l), 0, "release");
	free_in_the_end();
}

/* Of a reader's the old one is seen to run out by whoever looks. */
static void
reader(bool presented)
{
	struct hand h = { .ttl_ms = t_ms(300), .mode = LH_SHARED };
	struct lh_lease n, was;

	begin(&h, "handoff.swapped");
	was = h.l;
	is(lh_status(other, "k", NULL, find, &n), 0, "it is found");
	cmp(n.token, !=, was.token, "the new one");
	is(lh_extend(other, &n, REPLAY_LONG_MS), 0, "and extended");
	replay_sleep_past(&was);
	is(presented ? lh_verify(lh, &was) : lh_verify_token(other, "k",
	    was.token), -ESTALE, "the old one is over");
	is(replay_finish("giver"), 0, "it is handed over");
	is(lh_verify(other, &n), 0, "who has extended it has it");
	is(lh_release(other, &n), 0, "release");
	free_in_the_end();
}

/* Not so one that somebody has released. */
static void
released(void)
{
	struct hand h = { .ttl_ms = REPLAY_LONG_MS, .mode = LH_SHARED };
	struct lh_lease was;

	begin(&h, "handoff.swapped");
	was = h.l;
	is(lh_release(lh, &was), 0, "released");
	is(replay_finish("giver"), -ESTALE,
	    "what is released is not handed "
	    "over");
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
