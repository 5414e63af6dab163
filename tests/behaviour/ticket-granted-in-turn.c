/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6, G7 and G8: a ticket stands in the queue like a waiting thread,
 * is granted the key in its turn, and its descriptor says so; however it ends,
 * it leaves nothing behind.
 *
 * Otherwise a program with an event loop would have to wait in threads, or lose
 * its turn.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS 3600000

static struct lh *lh;

static struct lh_ticket *
start(const char *key, int64_t ttl_ms, int64_t wait_ms, uint32_t flags)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);
	struct lh_ticket *t = NULL;

	o.flags = flags;
	is(lh_acquire_start(lh, key, &o, &t), 0, "a ticket for %s", key);
	return t;
}

static bool
readable(struct lh_ticket *t, int64_t ms)
{
	struct pollfd p = { .fd = lh_ticket_fd(t), .events = POLLIN };

	return poll(&p, 1, (int)ms) == 1;
}

static void
granted_at_once(void)
{
	int before = t_threads();
	struct lh_ticket *t = start("k", HOUR_MS, HOUR_MS, 0);
	struct lh_lease l;

	is(lh_ticket_rank(t), 0, "granted already");
	is(t_threads(), before, "for which no thread was started");
	ok(readable(t, 0), "its descriptor says so");
	is(t_holders(lh, "k"), 1, "the key is held");
	is(lh_ticket_finish(t, &l), 0, "finished");
	is(lh_verify(lh, &l), 0, "the lease is good");
	is(lh_release(lh, &l), 0, "released");
	is(t_holders(lh, "k"), 0, "free");
}

/* A holder elsewhere, a ticket, a waiting process, another ticket. */
static void
in_turn(void)
{
	struct t_actor *a = t_actor(lh_table_name(lh));
	struct t_actor *b = t_actor(lh_table_name(lh));
	struct lh_ticket *first, *third;
	int threads = t_threads();
	struct lh_lease l, m;
	uint64_t token;

	is(t_do_acquire(a, "k", HOUR_MS, 0), 0, "somebody holds it");
	first = start("k", HOUR_MS, HOUR_MS, 0);
	ok(t_await_waiters(lh, "k", 1), "a ticket waits");
	is(t_threads(), threads + 1, "for it there is one thread");
	t_begin_acquire(b, "k", HOUR_MS, HOUR_MS);
	ok(t_await_waiters(lh, "k", 2), "a process waits");
	third = start("k", HOUR_MS, HOUR_MS, 0);
	is(lh_ticket_finish(first, &l), -EAGAIN, "not granted yet");
	ok(t_has_detail(), "and that is said");
	is(lh_ticket_rank(first), 1, "it is the first");
	is(lh_ticket_rank(third), 3, "that one the third");
	ok(!readable(first, t_long(20)), "nothing to tell");
	is(t_do_release(a), 0, "released");
	ok(readable(first, T3_MS), "the first descriptor is readable");
	ok(!readable(third, 0) && !t_answered(b), "and nobody else");
	is(lh_ticket_finish(first, &l), 0, "it has the key");
	ok(l.token > a->lease.token, "with a larger token");
	is(lh_release(lh, &l), 0, "released");
	is(t_result_within(b, T3_MS), 0, "the process is next");
	token = b->lease.token;
	ok(!readable(third, t_long(20)), "the other ticket still waits");
	is(t_do_release(b), 0, "released");
	ok(readable(third, T3_MS), "its turn");
	is(lh_ticket_finish(third, &m), 0, "it has the key");
	ok(m.token > token, "with a larger token");
	is(t_waiters(lh, "k"), 0, "nobody waits");
	is(lh_release(lh, &m), 0, "released");
	t_actor_end(a);
	t_actor_end(b);
}

/* For more than two ttls. */
static bool
kept(void *arg)
{
	struct lh_ticket *t = start("k", t_long(500), HOUR_MS, LH_KEEP);
	struct lh_lease l;

	(void)arg;
	t_sleep_ms(t_long(1200));
	return lh_ticket_finish(t, &l) == 0 && lh_release(lh, &l) == 0;
}

static void
ends_otherwise(void)
{
	struct lh_lease l = t_hold(lh, "k"), m;
	int64_t began = t_now_ns();
	struct lh_ticket *t = start("k", HOUR_MS, t_long(100), 0);
	struct t_actor *a = t_actor(lh_table_name(lh));

	ok(readable(t, t_long(100) + T4_MS), "the wait is up");
	ok(t_since_ms(began) >= t_long(100) - 1, "not before its time");
	is(lh_ticket_finish(t, &m), -ETIMEDOUT, "timed out");
	ok(t_has_detail(), "and that is said");
	is(t_waiters(lh, "k"), 0, "nobody waits");

	t = start("k", HOUR_MS, HOUR_MS, 0);
	t_begin_acquire(a, "k", HOUR_MS, HOUR_MS);
	ok(t_await_waiters(lh, "k", 2), "somebody behind it");
	is(lh_ticket_cancel(t), 0, "given up");
	is(t_waiters(lh, "k"), 1, "it has left the queue");
	is(lh_release(lh, &l), 0, "released");
	is(t_result_within(a, T3_MS), 0, "the next one is served");
	t = start("k", HOUR_MS, HOUR_MS, 0);
	is(t_do_release(a), 0, "released");
	ok(readable(t, T3_MS), "granted");
	is(lh_ticket_cancel(t), 0, "given up all the same");
	is(t_holders(lh, "k"), 0, "the key is free");

	t = start("k", t_long(50), HOUR_MS, 0);
	t_sleep_ms(t_long(80));
	is(lh_ticket_finish(t, &m), -ESTALE, "come for too late");
	ok(t_tries(3, kept, NULL), "but not one that is kept");
	t = start("k", HOUR_MS, HOUR_MS, LH_KEEP);
	is(lh_break(lh, "k", NULL, 0), 1, "broken");
	is(lh_ticket_finish(t, &m), -ESTALE, "lost before it was finished");
	t_actor_end(a);
}

static int
has_info(const struct lh_key_info *info, void *arg)
{
	*(int *)arg = info->n_waiters == 1 &&
	    strcmp(info->waiters[0].info, "for the report") == 0;
	return 0;
}

/* The ticket has its own copy of the info text. */
static void
with_info(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	char words[] = "for the report";
	struct lh_lease l = t_hold(lh, "k");
	struct lh_ticket *t;
	int told = 0;

	more.info = words;
	o.more = &more;
	is(lh_acquire_start(lh, "k", &o, &t), 0, "a ticket with info");
	memset(words, 'x', sizeof(words) - 1);
	memset(&more, 0, sizeof(more));
	is(lh_status(lh, "k", NULL, has_info, &told), 0, "status");
	ok(told, "tells what the waiter said");
	is(lh_release(lh, &l), 0, "released");
	ok(readable(t, T3_MS), "granted");
	is(lh_ticket_cancel(t), 0, "given up");
}

static int
child(void *arg)
{
	struct lh_ticket *t = arg;
	struct lh_lease l;

	is(lh_ticket_finish(t, &l), -EPERM, "not a child's to finish");
	is(lh_ticket_cancel(t), -EPERM, "nor to cancel");
	is(lh_ticket_fd(t), -EPERM, "nor to poll");
	is(lh_ticket_rank(t), -EPERM, "nor to ask");
	return tap_child_status();
}

static void
refused(void)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, 0);
	struct lh_cancel c = LH_CANCEL_INIT;
	struct lh_ticket *t;

	is(lh_acquire_start(lh, "k", &o, &t), -EINVAL, "one that only tries");
	o.max_wait_ms = 1;
	o.cancel = &c;
	is(lh_acquire_start(lh, "k", &o, &t), -EINVAL, "one with a switch");
	o.cancel = NULL;
	is(lh_acquire_start(lh, "k", &o, NULL), -EINVAL, "nowhere to put it");
	o.flags = LH_NO_CREATE;
	is(lh_acquire_start(lh, "new", &o, &t), -ENOENT, "no such key");
	o.flags = 0x40000000;
	is(lh_acquire_start(lh, "k", &o, &t), -EINVAL, "an unknown flag");
	is(lh_acquire(lh, "k", &(struct lh_acquire_opts){ sizeof(o), .flags =
	    LH_KEEP, .ttl_ms = 1000 }, &(struct lh_lease){ 0 }), -EINVAL,
	    "LH_KEEP is of tickets");
	is(lh_ticket_finish(NULL, NULL), -EINVAL, "no ticket");
	is(lh_ticket_cancel(NULL), -EINVAL, "no ticket");
}

static void
play(void)
{
	struct lh_ticket *waits, *has;
	struct lh_lease l;

	lh = t_open(t_table());
	refused();
	granted_at_once();
	in_turn();
	ends_otherwise();
	with_info();
	has = start("x", HOUR_MS, HOUR_MS, 0);
	waits = start("x", HOUR_MS, HOUR_MS, 0);
	is(lh_ticket_finish(waits, NULL), -EINVAL, "no lease to fill");
	is(t_reap(t_fork(child, waits), T_HANG_MS), 0, "over fork");
	t_close(lh);
	ok(readable(waits, 0) && readable(has, 0), "lh_close() ends them");
	is(lh_ticket_finish(waits, &l), -ECANCELED,
	    "and the ticket reports that");
	is(lh_ticket_cancel(has), 0, "cancelled after it");
}

int
main(void)
{
	t_part(play, 30, "ticket granted in turn");
	return done();
}
