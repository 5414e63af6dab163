/* SPDX-License-Identifier: MIT */
/* test: slow 10 */
/*
 * Issue 21 C, lh_explain(): an explanation says who blocks the caller and what
 * they do: whether they run, what the holder's thread waits for in turn, who
 * waits, and the caller's own place.  A failed acquire keeps the explanation of
 * that moment, for its thread alone, with its own wait in it.
 *
 * Otherwise an operator could not find out why a job waits.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

struct seen {
	struct lh_party holder, second, waiter;
	char waits_for[256];
	uint32_t n_holders, n_waiters, rank, mode;
	int64_t delayed_ns;
};

static int
look(const struct lh_key_info *info, void *arg)
{
	struct seen *s = arg;

	memset(s, 0, sizeof(*s));
	s->n_holders = info->n_holders;
	s->n_waiters = info->n_waiters;
	s->rank = info->rank;
	s->mode = info->mode;
	s->delayed_ns = info->delayed_ns;
	if (info->n_holders > 0)
		s->holder = info->holders[0];
	if (info->n_holders > 1)
		s->second = info->holders[1];
	if (info->n_waiters > 0)
		s->waiter = info->waiters[0];
	if (s->holder.waits_for != NULL)
		(void)strncpy(s->waits_for, s->holder.waits_for, 255);
	return 0;
}

static struct seen
explained(struct lh *lh, const char *key)
{
	struct seen s;

	is(lh_explain(lh, key, look, &s), 0, "explain %s", key);
	return s;
}

static bool
runs(struct lh *lh, const char *key, uint32_t run)
{
	struct seen s;

	return lh_explain(lh, key, look, &s) == 0 && s.holder.run == run;
}

static bool
explained_waiter_sleeps(struct lh *lh, const char *key)
{
	struct seen s;

	return lh_explain(lh, key, look, &s) == 0 &&
	    s.waiter.run == LH_RUN_SLEEPING;
}

static int
spin(struct t_actor *a, void *arg)
{
	volatile int *end = arg;

	(void)a;
	while (!*end)
		;
	return 0;
}

static int
refuse(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 42;
}

/* a holds k and waits for j, which b holds. */
static void
chain_of_waits(struct lh *lh, struct t_actor *a, struct t_actor *b)
{
	struct seen s;

	is(t_do_acquire(a, "k", T_HANG_MS, 0), 0, "a takes k");
	is(t_do_acquire(b, "j", T_HANG_MS, 0), 0, "b takes j");
	s = explained(lh, "k");
	is(s.n_holders, 1, "one holder");
	is(s.holder.pid, (uint32_t)a->pid, "it is a");
	ok(s.holder.token == a->lease.token, "with its token");
	ok(s.waits_for[0] == '\0' && s.holder.waits_since_ns == 0,
	    "it waits for nothing");
	ok(t_until(T_HANG_MS, runs(lh, "k", LH_RUN_SLEEPING)), "it sleeps");
	t_begin_acquire(a, "j", T_HANG_MS, T_HANG_MS);
	ok(t_await_waiters(lh, "j", 1), "a waits for j");
	s = explained(lh, "k");
	ok(strcmp(s.waits_for, "j") == 0, "the explanation says so: '%s'",
	    s.waits_for);
	ok(s.holder.waits_since_ns > 0 && s.holder.waits_since_ns <=
	    lh_clock_ns(lh), "since when");
	s = explained(lh, "j");
	ok(s.waits_for[0] == '\0', "b waits for nothing");
	is(s.n_waiters, 1, "one waits for j");
	is(s.waiter.pid, (uint32_t)a->pid, "a does");
	ok(t_until(T_HANG_MS, explained_waiter_sleeps(lh, "j")), "asleep");
	is(s.rank, 0, "and not we");
	is(t_do_release(b), 0, "b releases j");
	is(t_result(a), 0, "a has it");
	s = explained(lh, "k");
	ok(s.waits_for[0] == '\0', "and waits no more");
	is(t_do_release(a), 0, "a releases j");
}

static void
run_states(struct lh *lh, struct t_actor *a, volatile int *end)
{
	struct lh_lease l = a->lease;

	is(t_do_acquire(a, "r", T_HANG_MS, 0), 0, "a takes r");
	t_stop(a->pid);
	ok(runs(lh, "r", LH_RUN_STOPPED), "it is stopped");
	t_cont(a->pid);
	*end = 0;
	t_begin(a, spin, (void *)end);
	ok(t_until(T_HANG_MS, runs(lh, "r", LH_RUN_RUNNING)), "it runs");
	*end = 1;
	is(t_result(a), 0, "until it has to end");
	ok(t_until(T_HANG_MS, runs(lh, "r", LH_RUN_SLEEPING)), "it sleeps");
	is(t_do_release(a), 0, "a releases r");
	a->lease = l;
}

static void *
other_thread(void *arg)
{
	*(bool *)arg = lh_explain_last() == NULL;
	return NULL;
}

struct waiting {
	struct lh *lh;
	struct lh_cancel cancel;
	int result;
	uint32_t rank;
};

static void *
wait_for_p(void *arg)
{
	struct lh_acquire_opts o = t_opts(T_HANG_MS, T_HANG_MS);
	struct waiting *w = arg;
	struct lh_lease l;

	o.flags = LH_EXPLAIN;
	o.cancel = &w->cancel;
	w->result = lh_acquire(w->lh, "p", &o, &l);
	w->rank = lh_explain_last() == NULL ? 0 : lh_explain_last()->rank;
	return NULL;
}

/* The explanation that a failed acquire keeps. */
static void
kept(struct lh *lh, struct t_actor *a, struct t_actor *b)
{
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);
	struct waiting w = { .lh = lh, .cancel = LH_CANCEL_INIT };
	const struct lh_key_info *x;
	struct lh_lease l;
	bool none = false;
	pthread_t t;

	ok(lh_explain_last() == NULL, "nothing is kept at first");
	is(t_do_acquire(a, "p", T_HANG_MS, 0), 0, "a takes p");
	is(lh_acquire(lh, "p", &o, &l), -EAGAIN, "our try fails");
	ok(lh_explain_last() == NULL, "not kept unless it was asked for");
	o.flags = LH_EXPLAIN;
	is(lh_acquire(lh, "p", &o, &l), -EAGAIN, "our try fails");
	x = lh_explain_last();
	ok(x != NULL && strcmp(x->key, "p") == 0 && x->n_holders == 1 &&
	    x->holders[0].pid == (uint32_t)a->pid && x->n_waiters == 0,
	    "it is kept who holds it");
	is(x == NULL ? -1 : (int)x->rank, 0, "we do not wait");
	ok(strstr(lh_error_detail(), "held by") != NULL, "and the sentence: %s",
	    lh_error_detail());
	(void)pthread_create(&t, NULL, other_thread, &none);
	(void)pthread_join(t, NULL);
	ok(none, "not for another thread");
	t_begin_acquire(b, "p", T_HANG_MS, T_HANG_MS);
	ok(t_await_waiters(lh, "p", 1), "b waits");
	o.max_wait_ms = t_ms(30);
	is(lh_acquire(lh, "p", &o, &l), -ETIMEDOUT, "our wait fails");
	x = lh_explain_last();
	is(x == NULL ? -1 : (int)x->n_waiters, 2, "two waited then");
	is(x == NULL ? -1 : (int)x->rank, 2, "we were the second");
	ok(x != NULL && x->waiters[0].pid == (uint32_t)b->pid &&
	    x->waiters[0].run != LH_RUN_UNSEEN, "behind b");
	o.priority = 5;
	is(lh_acquire(lh, "p", &o, &l), -ETIMEDOUT, "again, more urgently");
	x = lh_explain_last();
	is(x == NULL ? -1 : (int)x->rank, 1, "we were the first");
	is(t_waiters(lh, "p"), 1, "we wait no more");

	(void)pthread_create(&t, NULL, wait_for_p, &w);
	ok(t_await_waiters(lh, "p", 2), "a thread of ours waits");
	is(explained(lh, "p").rank, 2, "our attachment is the second");
	(void)lh_cancel(&w.cancel);
	(void)pthread_join(t, NULL);
	is(w.result, -ECANCELED, "it is cancelled");
	is(w.rank, 2, "and knows its place");

	is(t_do_release(a), 0, "a releases p");
	is(t_result(b), 0, "b has it");
	is(t_do_release(b), 0, "b releases it");
	is(lh_acquire(lh, "p", &o, &l), 0, "we have it");
	ok(lh_explain_last() == NULL, "there is nothing to explain");
	is(lh_release(lh, &l), 0, "released");
}

static bool
is_delayed(struct lh *lh)
{
	struct seen s;

	return lh_explain(lh, "n", look, &s) == 0 && s.n_holders == 0 &&
	    s.delayed_ns > 0 && s.delayed_ns <= t_ms(60000) * T_NS_PER_MS;
}

/* A lease in a session that has a name, and what is left of it. */
static void
named(struct lh *lh)
{
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);
	struct lh_lease l;
	struct seen s;

	so.ttl_ms = t_ms(3000);
	so.lock_delay_ms = t_ms(60000);
	is(lh_session_open(lh, "job", &so, &more.session), 0, "a session");
	o.more = &more;
	is(lh_acquire(lh, "n", &o, &l), 0, "a lease in it");
	s = explained(lh, "n");
	is(s.holder.flags & LH_PARTY_SESSION, LH_PARTY_SESSION,
	    "and is shown as a session");
	ok(strcmp(s.holder.application, "job") == 0, "by name");
	is(s.holder.run, LH_RUN_UNSEEN, "no process is behind it");
	is(s.delayed_ns, 0, "nothing is delayed");
	ok(t_until(T_HANG_MS, is_delayed(lh)), "its end delays the next");
	o.more = NULL;
	o.flags = LH_EXPLAIN;
	is(lh_acquire(lh, "n", &o, &l), -EAGAIN, "we do not get it");
	ok(lh_explain_last() != NULL && lh_explain_last()->delayed_ns > 0,
	    "and know why");
	lh_session_close(more.session);
}

/* A thread that waits for itself; and leases of no thread. */
static void
deadlock(struct lh *lh)
{
	struct lh_acquire_opts o = t_opts(T_HANG_MS, T_HANG_MS);
	const struct lh_key_info *x;
	struct lh_lease first, l;

	o.flags = LH_EXPLAIN;
	is(lh_acquire(lh, "d", &o, &first), 0, "we hold d");
	is(lh_acquire(lh, "d", &o, &l), -EDEADLK, "we wait for ourselves");
	x = lh_explain_last();
	ok(x != NULL && x->n_holders == 1 && x->rank == 1 &&
	    x->holders[0].waits_for != NULL &&
	    strcmp(x->holders[0].waits_for, "d") == 0, "and are shown so");
	is(lh_release(lh, &first), 0, "released");
	o.flags = LH_SHAREABLE;
	is(lh_acquire(lh, "d", &o, &first), 0, "we hold d for all threads");
	is(explained(lh, "d").holder.flags, LH_PARTY_SHAREABLE,
	    "and the explanation says so");
	is(lh_release(lh, &first), 0, "released");
}

int
main(void)
{
	volatile int *end = t_shared(sizeof(int));
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);
	const struct lh_key_info *x;
	struct lh_lease l, first;
	struct seen s;

	chain_of_waits(lh, a, b);
	run_states(lh, a, end);
	kept(lh, a, b);

	o.mode = LH_SHARED;
	is(lh_acquire(lh, "s", &o, &first), 0, "we read");
	t_begin_acquire_opts(a, "s", &o);
	is(t_result(a), 0, "a reads, too");
	s = explained(lh, "s");
	is(s.n_holders, 2, "two readers");
	ok(s.holder.run == LH_RUN_RUNNING || s.second.run == LH_RUN_RUNNING,
	    "we run");
	is(s.mode, LH_SHARED, "shared");
	o.mode = LH_EXCLUSIVE;
	o.flags = LH_EXPLAIN;
	is(lh_acquire(lh, "s", &o, &l), -EAGAIN, "no writer");
	is(lh_explain_last() == NULL ? 0 : (int)lh_explain_last()->n_holders,
	    2, "because of two readers");
	o.max_wait_ms = t_ms(30);
	is(lh_convert_wait(lh, &first, LH_EXCLUSIVE, &o), -ETIMEDOUT,
	    "our wait to be the only reader fails");
	x = lh_explain_last();
	ok(x != NULL && x->n_holders == 2 && x->n_waiters == 1 &&
	    x->rank == 1 && (x->waiters[0].flags & LH_PARTY_UPGRADE) &&
	    x->waiters[0].mode == LH_EXCLUSIVE, "and the explanation says why");
	is(lh_release(lh, &first), 0, "released");
	deadlock(lh);

	named(lh);
	s = explained(lh, "j");
	is(s.n_holders + s.n_waiters, 0, "a free key");
	is(lh_explain(lh, "not there", look, &s), -ENOENT, "an unknown key");
	is(lh_explain(lh, "j", refuse, NULL), 42, "what the function says");
	is(lh_explain(lh, "j", NULL, NULL), -EINVAL, "no function");
	is(lh_explain(NULL, "j", look, &s), -EINVAL, "no table");
	is(lh_explain(lh, "", look, &s), -EINVAL, "no key");
	t_actor_end(a);
	t_actor_end(b);
	t_close(lh);
	return done();
}
