/* SPDX-License-Identifier: MIT */
/*
 * Timings T2 and T3: a waiter whose sleep is ended by signals, sooner than it
 * would check the holder, still finds out in time that the holder is dead, or
 * that the waiter before it is.  A profiler's timer does that: SIGALRM every 10
 * ms.  The check must be due by the clock, not after an undisturbed sleep.
 *
 * Otherwise a profiled program would wait for dead holders for ever.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

struct storm {
	int flags;
	int64_t every_us;
};

static volatile sig_atomic_t handled;

static void
handle(int sig)
{
	(void)sig;
	handled++;
}

/* The process's timer, from here on; 0: none. */
static int
set_timer(struct t_actor *a, void *arg)
{
	const struct storm *s = arg;
	struct sigaction sa = { .sa_handler = handle, .sa_flags = s->flags };
	struct itimerval it = { { 0, s->every_us }, { 0, s->every_us } };

	(void)a;
	if (sigaction(SIGALRM, &sa, NULL) != 0 ||
	    setitimer(ITIMER_REAL, &it, NULL) != 0)
		return -errno;
	return 0;
}

static int
times_handled(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	return handled;
}

/* Wait for w's grant; how long after then_ns it came, or T_HUNG. */
static int64_t
granted_after_ms(struct t_actor *w, int64_t then_ns, int64_t bound_ms)
{
	if (t_result_within(w, 3 * bound_ms) != 0)
		return INT64_MAX;
	return (w->ended_ns - then_ns) / T_NS_PER_MS;
}

static bool
dead_holder(struct lh *lh, struct storm *s)
{
	const char *table = lh_table_name(lh);
	struct t_actor *holder = t_actor(table), *w = t_actor(table);
	int64_t killed_ns, took;

	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds");
	is(t_do(w, set_timer, s), 0, "another gets signals every %d us",
	    (int)s->every_us);
	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "and waits");
	t_sleep_ms(t_long(30));
	killed_ns = t_now_ns();
	t_actor_kill(holder);
	took = granted_after_ms(w, killed_ns, T2_MS);
	cmp(took, <=, T2_MS, "the holder is killed: it is found dead in time");
	t_actor_free(holder);
	if (took == INT64_MAX) {
		t_actor_kill(w);
		t_actor_free(w);
		return false;
	}
	is(w->lease.notes, LH_NOTE_PREVIOUS_DIED, "and noted");
	cmp(t_do(w, times_handled, NULL), >, 1, "signals were handled");
	is(t_do_release(w), 0, "released");
	t_actor_end(w);
	return true;
}

/* The lock is free, and the first waiter, who might take it, is dead. */
static void
dead_front(struct lh *lh, struct storm *s)
{
	const char *table = lh_table_name(lh);
	struct t_actor *front = t_actor(table), *w = t_actor(table);
	struct lh_lease l = t_hold(lh, "k");
	int64_t released_ns, took;

	t_begin_acquire(front, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "one waits");
	is(t_do(w, set_timer, s), 0, "another gets signals");
	t_begin_acquire(w, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 2), "and waits behind it");
	/* so that it does not take the lock after all */
	t_stop(front->pid);
	released_ns = t_now_ns();
	is(lh_release(lh, &l), 0, "released");
	t_actor_kill(front);
	took = granted_after_ms(w, released_ns, T3_DEAD_MS);
	cmp(took, <=, T3_DEAD_MS, "the first is dead: the second gets it");
	t_actor_free(front);
	if (took == INT64_MAX) {
		t_actor_kill(w);
	} else {
		is(t_do_release(w), 0, "and releases");
		t_actor_end(w);
		return;
	}
	t_actor_free(w);
}

static void
play(void)
{
	static const int64_t every_us[] = { 10000, 2000 };
	const char *table = t_table();
	struct storm *s = t_shared(sizeof(*s));
	struct lh *lh = t_open(table);
	bool in_time = true;

	/* actors see what is in *s when they are asked */
	for (int i = 0; in_time && i < 2; i++) {
		s->every_us = every_us[i];
		s->flags = i == 0 ? SA_RESTART : 0;
		in_time = dead_holder(lh, s);
	}
	if (in_time) {
		/* who waits for a free lock looks every 3 ms */
		s->every_us = t_ms(7) * 100;
		dead_front(lh, s);
	}
	t_close(lh);
}

int
main(void)
{
	t_part(play, 500, "signals do not hide death");
	return done();
}
