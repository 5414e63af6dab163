/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10, issue 21 D4, for cluster keys: after -EHOSTUNREACH nothing is
 * granted and nothing is remembered.  The same request id tries again and finds
 * the outcome of the first call: nothing, a lease that was granted, or a call
 * that still waits.
 *
 * Otherwise a program that repeats its request would hold the key twice, or
 * never.
 */
#include <errno.h>
#include <leasehold/session.h>
#include <leasehold/ticket.h>
#include "support/actor.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static const char key[] = "cluster:r";
static const struct lh_item items[] = { { .key = "a" }, { .key = "cluster:r" },
	{ .key = "cluster:q" } };

static struct lh *lh;
static struct t_shim *s;

static int
by_lock(struct lh *of, struct lh_acquire_opts *o, struct lh_lease *l)
{
	return lh_acquire(of, key, o, l);
}

static int
by_many(struct lh *of, struct lh_acquire_opts *o, struct lh_lease *l)
{
	return lh_acquire_many(of, items, 3, o, l);
}

static int
by_ticket(struct lh *of, struct lh_acquire_opts *o, struct lh_lease *l)
{
	struct lh_ticket *t;
	int e = lh_acquire_start(of, key, o, &t);

	if (e != 0)
		return e;
	while ((e = lh_ticket_finish(t, l)) == -EAGAIN)
		t_sleep_ms(1);
	return e;
}

static int
ask(int (*how)(struct lh *, struct lh_acquire_opts *, struct lh_lease *),
    uint64_t id, int64_t wait_ms, struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(t_long(60000), wait_ms);

	more.request[0] = id;
	o.more = &more;
	return how(lh, &o, l);
}

/* The cluster is away, and comes back. */
static void
again(int (*how)(struct lh *, struct lh_acquire_opts *, struct lh_lease *),
    uint64_t id, const char *what)
{
	struct lh_lease l[3], m[3];
	size_t n = how == by_many ? 3 : 1;

	t_shim_recall(s);
	s->says = SHIM_AWAY;
	is(ask(how, id, t_long(5000), l), -EHOSTUNREACH, "%s: away", what);
	is(t_holders(lh, key) <= 0, 1, "  nothing is held");
	is(ask(how, id, t_long(5000), l), -EHOSTUNREACH,
	    "  repeated: away still");
	s->says = SHIM_GRANTS;
	is(ask(how, id, t_long(5000), l), 0, "  it is back: granted: %s",
	    lh_error_detail());
	is(ask(how, id, t_long(5000), m), 0, "  repeated");
	ok(l[0].token == m[0].token && l[0].id[1] == m[0].id[1],
	    "  it is the same lease");
	is(lh_release_many(lh, l, n), 0, "  released");
	is(ask(how, id, t_long(5000), m), -ESTALE, "  and has ended");
}

static int
wait_there(struct t_actor *a, void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(t_long(60000), t_long(60000));
	struct lh_session *named;
	int e = lh_session_open(a->lh, "job", NULL, &named);

	(void)arg;
	more.session = named;
	more.request[0] = 99;
	o.more = &more;
	return e != 0 ? e : lh_acquire(a->lh, key, &o, &a->lease);
}

/* The first waits when the cluster goes, or is killed with its lease. */
static void
in_session(void)
{
	struct t_actor *a = t_actor(s->table), *b = t_actor(s->table);

	t_shim_recall(s);
	s->says = SHIM_QUEUES;
	t_begin(a, wait_there, NULL);
	ok(t_await_waiters(lh, key, 1), "one waits for the cluster");
	s->says = SHIM_AWAY;
	t_shim_lose(s);
	is(t_result(a), -EHOSTUNREACH, "the cluster goes: %s", a->detail);
	s->says = SHIM_GRANTS;
	s->beats = 1;
	t_shim_kill(s);
	t_shim_start(s);
	is(t_do(a, wait_there, NULL), 0, "it repeats its request: %s",
	    a->detail);
	t_actor_kill(a);
	is(t_do(b, wait_there, NULL), 0, "killed: another one repeats it: %s",
	    b->detail);
	ok(a->lease.token == b->lease.token, "and has what came of it");
	t_actor_end(b);
	t_actor_free(a);
}

int
main(void)
{
	const char *table = t_table();

	lh = t_open(table);
	s = t_shim(table);
	again(by_lock, 1, "a key");
	again(by_many, 2, "many keys");
	again(by_ticket, 3, "a ticket");
	in_session();
	t_shim_kill(s);
	t_close(lh);
	return done();
}
