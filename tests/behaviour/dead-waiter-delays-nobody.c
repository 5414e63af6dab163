/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G6, timing T3: waiters that were killed or stopped do not keep the
 * key from those behind them: a dead first waiter, a stopped one, a stopped one
 * that continues later, and a hundred dead ones in a row.  Each hand-over is
 * within ten times 60 ms.  Priorities put the victims first; a waiter that
 * continues acquires in its turn again.
 *
 * Otherwise one dead process would keep a free key from all others.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

enum fate { KILLED, STOPPED };
#define HUNDRED 100

struct scene {
	const char *table;
	struct lh *lh;
	enum fate fate;
	int n;			/* victims, each a process */
	const char *name;
};

static bool
behind(void *arg)
{
	struct scene *s = arg;
	struct t_actor *v[8], *w = t_actor(s->table);
	struct lh_acquire_opts o = t_opts(3600000, 3600000);
	struct lh_lease l = t_hold(s->lh, "k");
	int64_t released_ns, took;
	bool had[8] = { false };

	for (int i = 0; i < s->n; i++) {
		v[i] = t_actor(s->table);
		o.priority = (uint32_t)(10 - i);
		t_begin_acquire_opts(v[i], "k", &o);
		ok(t_await_waiters(s->lh, "k", i + 1), "a victim waits");
	}
	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(s->lh, "k", s->n + 1), "one behind them");
	for (int i = 0; i < s->n; i++)
		if (s->fate == KILLED)
			t_actor_kill(v[i]);
		else
			t_stop(v[i]->pid);
	released_ns = t_now_ns();
	is(lh_release(s->lh, &l), 0, "released");
	is(t_result(w), 0, "%s: who waits behind is granted", s->name);
	took = (w->ended_ns - released_ns) / T_NS_PER_MS;
	diag("%s: %lld ms", s->name, (long long)took);
	if (s->fate == STOPPED) {
		ok(t_await_waiters(s->lh, "k", s->n), "they still wait");
		for (int i = 0; i < s->n; i++)
			t_cont(v[i]->pid);
	}
	is(t_do_release(w), 0, "released");
	/* the first to run again may be any of them */
	for (int i = 0; i < s->n && s->fate == STOPPED; i++) {
		int who = t_who(v, s->n, had);

		if (who < 0)
			bail_out("nobody is granted");
		had[who] = true;
		is(v[who]->result, 0, "resumed, they get it");
		is(t_do_release(v[who]), 0, "one after the other");
	}
	for (int i = 0; i < s->n; i++) {
		if (s->fate == KILLED)
			t_actor_free(v[i]);
		else
			t_actor_end(v[i]);
	}
	t_actor_end(w);
	is(t_acquire(s->lh, "k", 1000, T_HANG_MS, &l), 0,
	    "the key can be acquired");
	is(lh_release(s->lh, &l), 0, "released");
	is(t_waiters(s->lh, "k"), 0, "nobody waits");
	return took <= T3_DEAD_MS;
}

/* A hundred waits of one process, all dead at once. */
static struct t_event *up;

static void *
wait_for_ever(void *arg)
{
	struct lh_acquire_opts o = t_opts(3600000, LH_WAIT_FOREVER);
	struct lh_lease l;

	o.priority = 5;
	lh_acquire(arg, "k", &o, &l);
	return NULL;
}

static int
hundred_waiters(void *arg)
{
	struct lh *lh = t_open(arg);

	for (int i = 0; i < HUNDRED; i++)
		t_thread(wait_for_ever, lh);
	t_post(up);
	t_sleep_ms(T_HANG_MS * 5);
	return 1;
}

static bool
hundred_dead(void *arg)
{
	struct scene *s = arg;
	struct lh_lease l = t_hold(s->lh, "k");
	struct t_actor *w = t_actor(s->table);
	int64_t released_ns, took;
	pid_t pid;

	pid = t_fork(hundred_waiters, (void *)(uintptr_t)s->table);
	ok(t_await_waiters(s->lh, "k", HUNDRED), "a hundred wait");
	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(s->lh, "k", HUNDRED + 1), "and one behind");
	t_kill(pid);
	released_ns = t_now_ns();
	is(lh_release(s->lh, &l), 0, "released when they are dead");
	is(t_result(w), 0, "the one behind is granted");
	took = (w->ended_ns - released_ns) / T_NS_PER_MS;
	diag("behind %d dead ones: %lld ms", HUNDRED, (long long)took);
	is(t_do_release(w), 0, "released");
	t_actor_end(w);
	is(t_waiters(s->lh, "k"), 0, "nobody waits");
	return took <= T3_DEAD_MS;
}

int
main(void)
{
	struct scene s = { .table = t_table() };

	up = t_shared(sizeof(*up));
	s.lh = t_open(s.table);
	s.n = 1;
	s.name = "one killed";
	ok(t_tries(3, behind, &s), "within %lld ms", (long long)T3_DEAD_MS);
	s.n = 5;
	s.name = "five killed";
	ok(t_tries(3, behind, &s), "within %lld ms", (long long)T3_DEAD_MS);
	s.fate = STOPPED;
	s.n = 1;
	s.name = "one stopped";
	ok(t_tries(3, behind, &s), "within %lld ms", (long long)T3_DEAD_MS);
	s.n = 2;
	s.name = "two stopped";
	ok(t_tries(3, behind, &s), "within %lld ms",
	    (long long)T3_DEAD_MS);
	ok(t_tries(3, hundred_dead, &s), "within %lld ms",
	    (long long)T3_DEAD_MS);
	t_close(s.lh);
	return done();
}
