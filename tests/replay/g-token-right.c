/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: a cluster key's token that was reported invalid is
 * never valid again, nor is its lease handed over.  A token whose lease is over
 * is never reported valid, though this host's right came back during the call.
 *
 * Otherwise a server would accept a request under a lease that is over, while
 * another host may hold the key.
 */
#include <errno.h>
#include "lent.h"

static struct lh *lh, *looker;
static uint64_t token;

static struct lh_lease
take(struct lh *at, uint32_t mode, int64_t ttl_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	struct lh_lease l;

	o.mode = mode;
	if (lh_acquire(at, LENT_KEY, &o, &l) != 0)
		bail_out("not acquired: %s", lh_error_detail());
	token = l.token;
	return l;
}

static int
look(void *unused)
{
	(void)unused;
	return lh_verify_token(looker, LENT_KEY, token);
}

/* The right comes back between two reads of it, and the lease that was found
 * between them expires. */
static void
runs_out(uint32_t mode)
{
	struct lh_lease l;

	lent_give(REPLAY_LONG_MS);
	l = take(lh, mode, t_ms(100));
	lent_pass();
	replay_stop_nth("looker", "right.read", 3, look, NULL);
	lent_until_in_ms(REPLAY_LONG_MS);
	replay_hold_nth("looker", "right.read", 2);
	replay_release("looker");
	replay_wait_held("looker");
	replay_sleep_past(&l);
	is(replay_finish("looker"), -ESTALE,
	    "mode %u: the token's lease has expired", mode);
	is(lh_verify(lh, &l), -ESTALE, "the lease is lost");
}

/* A process that calls itself the shim is not the shim. */
static void
so_called(uint32_t mode, const char *table)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh *called;
	struct lh_lease l;

	o.application = "leasehold-shimd";
	is(lh_open(&called, table, &o), 0,
	    "a process that calls itself the shim");
	lent_give(REPLAY_LONG_MS);
	l = take(called, mode, REPLAY_LONG_MS);
	is(look(NULL), 0, "its token verifies");
	lent_pass();
	is(look(NULL), -ESTALE, "past D it does not");
	lent_until_in_ms(REPLAY_LONG_MS);
	is(look(NULL), -ESTALE, "nor when D has come back");
	is(lh_verify(called, &l), -ESTALE, "and its lease is lost");
	t_close(called);
}

/* The shim keeps its own lease without a right. */
static void
the_shims(void)
{
	struct lh_lease l;

	(void)lhi_cluster_end(&lent_shim->v);
	l = take(lent_shim, LH_EXCLUSIVE, REPLAY_LONG_MS);
	is(look(NULL), -ESTALE, "the shim's token does not verify");
	is(lh_verify(lent_shim, &l), 0, "its lease is held");
	is(lh_release(lent_shim, &l), 0, "and released");
}

struct hand {
	struct lh_session *to;
	struct lh_lease l;
};

static int
hand_over(void *arg)
{
	struct hand *h = arg;

	return lh_handoff(lh, &h->l, h->to);
}

/* Stops a hand-over, and a looker after the right has ended. */
static void
begin_hand_over(struct hand *h, uint32_t mode, const char *seen_at)
{
	lent_give(REPLAY_LONG_MS);
	h->l = take(lh, mode, REPLAY_LONG_MS);
	replay_stop("giver", "handoff.taken", hand_over, h);
	lent_pass();
	replay_stop("looker", seen_at, look, NULL);
}

static void
free_in_the_end(void)
{
	struct lh_lease l;

	is(replay_try(looker, LENT_KEY, &l), 0, "the key is free");
	is(lh_release(looker, &l), 0, "release");
	is(t_findings(lh), 0, "the table is sound");
}

/* The looker has seen the lease during its hand-over, which is undone because a
 * reader has come. */
static void
taken_back(struct lh_session *s)
{
	struct hand h = { .to = s };
	uint64_t was;
	struct lh_lease r;

	begin_hand_over(&h, LH_SHARED, "token.without_right");
	was = token;
	r = take(lent_shim, LH_SHARED, REPLAY_LONG_MS);
	token = was;
	lent_until_in_ms(REPLAY_LONG_MS);
	replay_stop_next("giver", "handoff.announced");
	lent_pass();
	is(replay_finish("looker"), -ESTALE, "the token has no right");
	lent_until_in_ms(REPLAY_LONG_MS);
	is(look(NULL), -ESTALE, "and still does not verify");
	is(replay_finish("giver"), -ESTALE,
	    "a lease that is over is not handed over");
	is(lh_release(lent_shim, &r), 0, "release");
	free_in_the_end();
}

/* The looker has ended the lease, and is stopped before the word. */
static void
handed_over(uint32_t mode, struct lh_session *s)
{
	struct hand h = { .to = s };
	int error;

	begin_hand_over(&h, mode, "right.expired");
	lent_until_in_ms(REPLAY_LONG_MS);
	error = replay_finish("giver");
	is(replay_finish("looker"), -ESTALE, "the token had no right");
	is(error, -ESTALE, "mode %u: a lease that is over is not handed over",
	    mode);
	free_in_the_end();
}

static int
break_it(void *unused)
{
	(void)unused;
	return lh_break(looker, LENT_KEY, NULL, 0);
}

/* A broken lease is not handed over. */
static void
broken(uint32_t mode, struct lh_session *s)
{
	struct hand h = { .to = s };
	struct lh_lease l;

	lent_give(REPLAY_LONG_MS);
	h.l = take(lh, mode, REPLAY_LONG_MS);
	replay_stop("giver", "handoff.taken", hand_over, &h);
	replay_stop("breaker", "break.broken", break_it, NULL);
	is(replay_finish("giver"), -ESTALE,
	    "mode %u: a broken lease is not handed over",
	    mode);
	is(replay_finish("breaker"), 1, "it was broken");
	is(replay_try(looker, LENT_KEY, &l), 0, "the key is free");
	if (mode == LH_EXCLUSIVE)
		is(l.notes, LH_NOTE_PREVIOUS_BROKEN,
		    "the next lease notes the break");
	is(lh_release(looker, &l), 0, "release");
	is(t_findings(lh), 0, "the table is sound");
}

/* Ids come again after millions of leases: a lease with the same id is still
 * another lease. */
static void
same_id(void)
{
	struct lh_lease l, m;
	struct shm_claim *c;

	lent_give(REPLAY_LONG_MS);
	l = take(lh, LH_EXCLUSIVE, REPLAY_LONG_MS);
	lent_pass();
	replay_stop("looker", "token.without_right", look, NULL);
	lent_until_in_ms(REPLAY_LONG_MS);
	is(lh_release(lh, &l), 0, "released: D has come back");
	c = &lh->v.claims[lid_claim(l.id[1])];
	sh64_store(&c->state, state_make(ST_FREE, lid_seq(l.id[1]) - 1, 0));
	m = take(lh, LH_EXCLUSIVE, REPLAY_LONG_MS);
	is_u64(m.id[1], l.id[1], "another lease has that id");
	is(replay_finish("looker"), -ESTALE, "the token was without a right");
	is(lh_verify(lh, &m), 0, "the younger lease is held: %s",
	    lh_error_detail());
	is(lh_release(lh, &m), 0, "released");
}

int
main(void)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	const char *table = replay_begin();
	struct lh_session *s;

	so.ttl_ms = REPLAY_LONG_MS;
	lh = replay_open(table, 0);
	looker = replay_open(table, 0);
	lent_begin(table);
	is(lh_session_open(lh, "s", &so, &s), 0, "a session");
	runs_out(LH_SHARED);
	runs_out(LH_EXCLUSIVE);
	so_called(LH_SHARED, table);
	so_called(LH_EXCLUSIVE, table);
	the_shims();
	taken_back(s);
	handed_over(LH_SHARED, s);
	handed_over(LH_EXCLUSIVE, s);
	broken(LH_SHARED, s);
	broken(LH_EXCLUSIVE, s);
	same_id();
	lh_session_close(s);
	t_close(lh);
	t_close(looker);
	t_close(lent_shim);
	return done();
}
