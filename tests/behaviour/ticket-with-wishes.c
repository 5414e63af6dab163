/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G10: a ticket takes the rarer options of an acquire as
 * well, with the same answers: a session, a request id, a holder id, a value.
 *
 * Otherwise a program would lose an option when it moves from a thread to a
 * ticket.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include "session.h"
#include "support/actor.h"
#include "support/part.h"

#define HOUR_MS 3600000

static struct lh *lh;

static int
start(const struct lh_acquire_more *more, int64_t wait_ms, struct lh_ticket **t)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, wait_ms);

	o.more = more;
	return lh_acquire_start(lh, "k", &o, t);
}

static bool
readable(struct lh_ticket *t, int64_t ms)
{
	struct pollfd p = { .fd = lh_ticket_fd(t), .events = POLLIN };

	return poll(&p, 1, (int)ms) == 1;
}

/* Its lease is the session's; what was given to it is its own copy. */
static void
into_session(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s = open_session(lh, "job", HOUR_MS, 0, 0);
	struct lh_session_info info;
	char value[] = "10.0.0.7", buf[LH_VALUE_MAX];
	struct lh_lease l = t_hold(lh, "k"), got;
	struct lh_ticket *t;
	uint64_t token;
	size_t len;

	is(lh_session_info(s, &info), 0, "its number");
	more.session = s;
	more.value = value;
	more.value_len = 8;
	is(start(&more, HOUR_MS, &t), 0, "a ticket into a session");
	lh_session_close(s);
	memset(&more, 0, sizeof(more));
	memset(value, 'x', 8);
	is(lh_release(lh, &l), 0, "released");
	ok(readable(t, T3_MS), "granted");
	is(lh_ticket_finish(t, &got), 0, "finished");
	ok(got.id[0] == info.id, "the lease is the session's");
	is(lh_verify(lh, &got), 0, "and good");
	ok(got.token > l.token, "with a larger token");
	is(lh_value_get(lh, "k", buf, &len, &token), 0, "the value");
	ok(len == 8 && memcmp(buf, "10.0.0.7", 8) == 0, "is set, as it was");
	s = open_session(lh, "job", HOUR_MS, 0, LH_NO_CREATE);
	is(lh_session_destroy(s), 0, "the session ends");
	is(lh_verify(lh, &got), -ESTALE, "and so does the lease");
	is(t_holders(lh, "k"), 0, "the key is free");
	more = (struct lh_acquire_more)LH_ACQUIRE_MORE_INIT;
	more.session = s;
	is(start(&more, HOUR_MS, &t), -ESTALE, "not into one that has ended");
	ok(t_has_detail(), "and that is said");
	is(t_holders(lh, "k"), 0, "nothing is held");
	l = t_hold(lh, "k");
	is(start(&more, HOUR_MS, &t), 0, "nor when");
	is(lh_release(lh, &l), 0, "its turn");
	ok(readable(t, T3_MS), "has come:");
	is(lh_ticket_finish(t, &got), -ESTALE, "the ticket reports that");
	is(t_holders(lh, "k"), 0, "nothing is held");
	lh_session_close(s);
}

static void
given_up_in_session(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s = open_session(lh, "job2", HOUR_MS, 0, 0);
	struct lh_ticket *t;

	more.session = s;
	is(start(&more, HOUR_MS, &t), 0, "granted at once");
	is(t_holders(lh, "k"), 1, "held");
	is(lh_ticket_cancel(t), 0, "given up");
	is(t_holders(lh, "k"), 0, "free");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
}

static void
by_request(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(HOUR_MS, t_long(50));
	const uint64_t id[2] = { 0x1234, 1 };
	struct lh_lease l = t_hold(lh, "k"), got, again;
	struct lh_ticket *t, *u;

	memcpy(more.request, id, sizeof(id));
	o.more = &more;
	is(start(&more, HOUR_MS, &t), 0, "a ticket with a request id");
	is(lh_acquire(lh, "k", &o, &got), -ETIMEDOUT, "a repeat waits for it");
	is(start(&more, t_long(50), &u), 0, "and so does a ticket");
	is(lh_ticket_rank(u), 1, "which has no place of its own");
	is(t_waiters(lh, "k"), 1, "one waits");
	ok(readable(u, t_long(50) + T4_MS), "within its own time");
	is(lh_ticket_finish(u, &got), -ETIMEDOUT, "timed out");
	ok(t_has_detail(), "and that is said");
	is(start(&more, HOUR_MS, &u), 0, "once more");
	is(lh_release(lh, &l), 0, "released");
	ok(readable(t, T3_MS) && readable(u, T3_MS),
	    "both descriptors are readable");
	is(lh_ticket_finish(t, &got), 0, "the first");
	is(lh_ticket_finish(u, &again), 0, "the repeat");
	ok(got.token == again.token && got.id[1] == again.id[1],
	    "the same lease");
	is(start(&more, HOUR_MS, &u), 0, "yet another");
	is(lh_ticket_cancel(u), 0, "given up:");
	is(lh_verify(lh, &got), 0, "the lease is the first one's");
	is(lh_release_request(lh, NULL, id), 0, "released by the id");
	is(lh_release(lh, &got), 0, "and by the lease");
	is(start(&more, HOUR_MS, &u), -ESTALE,
	    "a late repetition reports the end");
	is(t_holders(lh, "k"), 0, "free");
}

static void
request_given_up(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l = t_hold(lh, "k");
	struct lh_ticket *t;

	more.request[0] = 77;
	is(start(&more, HOUR_MS, &t), 0, "a request");
	is(lh_ticket_cancel(t), 0, "given up");
	is(start(&more, HOUR_MS, &t), -ECANCELED, "is answered so");
	is(lh_release(lh, &l), 0, "released");
	more.request[0] = 78;
	is(start(&more, HOUR_MS, &t), 0, "granted at once");
	is(lh_ticket_cancel(t), 0, "given up");
	is(start(&more, HOUR_MS, &t), -ESTALE, "is answered as released");
	is(t_holders(lh, "k"), 0, "free");
}

/* In another process: a ticket into a session, with an id; and nothing more. */
static int
start_there(struct t_actor *a, void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	struct lh_session *s;
	struct lh_ticket *t;

	(void)arg;
	if (lh_session_open(a->lh, "job3", NULL, &s) != 0)
		return -1;
	more.session = s;
	more.request[1] = 5;
	o.more = &more;
	return lh_acquire_start(a->lh, "k", &o, &t);
}

/* Whether it waits or was granted, another process takes up what the first
 * left when it was killed. */
static void
taken_up(struct t_actor *a, bool granted)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s = open_session(lh, "job3", HOUR_MS, 0, 0);
	struct lh_lease l = t_hold(lh, "k"), got;
	struct lh_ticket *t;

	if (granted)
		is(lh_release(lh, &l), 0, "the key is free");
	is(t_do(a, start_there, NULL), 0, "a ticket elsewhere");
	is(t_holders(lh, "k"), 1, "held");
	t_actor_kill(a);
	more.session = s;
	more.request[1] = 5;
	is(start(&more, HOUR_MS, &t), 0, "its process killed, repeated here");
	if (!granted)
		is(lh_release(lh, &l), 0, "released");
	ok(readable(t, T3_DEAD_MS), "granted");
	is(lh_ticket_finish(t, &got), 0, "finished");
	is(t_holders(lh, "k"), 1, "by one");
	is(lh_release(lh, &got), 0, "released");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
	t_actor_free(a);
}

static void
by_holder(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	char holder[] = "me";
	struct lh_lease l = t_hold(lh, "k"), got, again;
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_ticket *t, *u, *v;

	more.holder = holder;
	is(start(&more, HOUR_MS, &t), 0, "a ticket of a holder");
	is(start(&more, HOUR_MS, &u), 0, "another one of the same");
	is(start(&more, HOUR_MS, &v), 0, "and one that is given up");
	holder[0] = 'w';
	is(t_waiters(lh, "k"), 1, "they stand there once");
	is(lh_release(lh, &l), 0, "released");
	ok(readable(t, T3_MS) && readable(u, T3_MS) && readable(v, T3_MS),
	    "all are granted");
	is(lh_ticket_finish(t, &got), 0, "the first");
	is(lh_ticket_finish(u, &again), 0, "the second");
	ok(got.token == again.token, "the same lease, counted");
	is(lh_ticket_cancel(v), 0, "the third goes");
	is(lh_release(lh, &got), 0, "released once");
	is(lh_verify(lh, &again), 0, "and held still");
	holder[0] = 'm';
	o.more = &more;
	o.mode = LH_SHARED;
	is(lh_acquire_start(lh, "k", &(struct lh_acquire_opts){ sizeof(o),
	    .mode = LH_SHARED, .ttl_ms = 1000, .max_wait_ms = 1000,
	    .more = &more }, &t), -EDEADLK, "not in the other mode");
	is(lh_release(lh, &again), 0, "released twice");
	is(t_holders(lh, "k"), 0, "free");
	o.mode = LH_EXCLUSIVE;
	is(lh_acquire(lh, "k", &o, &got), 0, "the holder is known no more");
	is(lh_release(lh, &got), 0, "released");
}

static void
refused(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s = open_session(lh, "job4", HOUR_MS, 0, 0);
	struct lh_ticket *t;

	more.session = s;
	more.policy = LH_POLICY_LIVE;
	is(start(&more, 1, &t), -EINVAL, "live, in a session");
	more.session = NULL;
	more.policy = LH_POLICY_LEASE;
	more.holder = "me";
	more.request[0] = 1;
	is(start(&more, 1, &t), -EINVAL, "a holder and a request");
	more.holder = NULL;
	more.request[0] = 0;
	more.value = "x";
	more.value_len = LH_VALUE_MAX + 1;
	is(start(&more, 1, &t), -EINVAL, "too long a value");
	lh_session_close(s);
}

static void
play(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_ticket *t[3];
	const char *table = t_table();
	struct t_actor *a, *b;
	struct lh_session *s;
	struct lh_lease l;

	/* before this process has a second thread, for sanitizers */
	a = t_actor(table);
	b = t_actor(table);
	lh = t_open(table);
	refused();
	into_session();
	given_up_in_session();
	by_request();
	request_given_up();
	taken_up(a, false);
	taken_up(b, true);
	by_holder();
	/* lh_close() in the midst of all */
	l = t_hold(lh, "k");
	s = open_session(lh, "last", HOUR_MS, 0, 0);
	more.session = s;
	more.request[0] = 9;
	is(start(&more, HOUR_MS, &t[0]), 0, "one with all, that queues");
	is(start(&more, HOUR_MS, &t[1]), 0, "one that waits for it");
	more = (struct lh_acquire_more)LH_ACQUIRE_MORE_INIT;
	more.holder = "h";
	is(start(&more, HOUR_MS, &t[2]), 0, "one of a holder");
	lh_session_close(s);
	t_close(lh);
	for (int i = 0; i < 3; i++)
		is(lh_ticket_finish(t[i], &l), -ECANCELED, "closed");
}

int
main(void)
{
	t_part(play, 50, "ticket with wishes");
	return done();
}
