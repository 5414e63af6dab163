/* SPDX-License-Identifier: MIT */
/*
 * Timing T4: signals do not end a wait.  It goes on after the handler, with its
 * original deadline, and is granted as usual.  Handlers with and without
 * SA_RESTART; SIGSTOP and SIGCONT, too.
 *
 * Otherwise a program with a timer would wait for ever, or fail at once.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define STORM 40

static volatile sig_atomic_t handled;

static void
handle(int sig)
{
	(void)sig;
	handled++;
}

static int
install(struct t_actor *a, void *arg)
{
	struct sigaction sa = { .sa_handler = handle };

	(void)a;
	sa.sa_flags = (int)(intptr_t)arg;
	handled = 0;
	return sigaction(SIGUSR1, &sa, NULL);
}

static int
times_handled(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	return handled;
}

struct storm {
	struct lh *lh;
	struct t_actor *w;
	int flags;
};

/* Signals rain on a wait of 200 ms during most of it. */
static bool
storm(void *arg)
{
	struct storm *s = arg;
	int64_t wait = t_ms(200), took;
	struct lh_lease l = t_hold(s->lh, "k");

	is(t_do(s->w, install, (void *)(intptr_t)s->flags), 0, "a handler");
	t_begin_acquire(s->w, "k", 1000, wait);
	for (int i = 0; i < STORM; i++) {
		kill(s->w->pid, SIGUSR1);
		t_sleep_ms(wait / STORM / 2);
	}
	is(t_result(s->w), -ETIMEDOUT, "not they end it: its time does");
	took = s->w->ended_ns - s->w->began_ns;
	cmp(took, >=, wait * T_NS_PER_MS, "not before");
	cmp(t_do(s->w, times_handled, NULL), >, 1, "signals were handled");

	t_begin_acquire(s->w, "k", 3600000, 3600000);
	ok(t_await_waiters(s->lh, "k", 1), "it waits again");
	for (int i = 0; i < 5; i++) {
		kill(s->w->pid, SIGUSR1);
		t_sleep_ms(1);
	}
	t_stop(s->w->pid);
	t_sleep_ms(5);
	t_cont(s->w->pid);
	t_sleep_ms(5);
	ok(!t_answered(s->w), "stopped and continued, it still waits");
	is(lh_release(s->lh, &l), 0, "released");
	is(t_result(s->w), 0, "it is granted");
	is(t_do_release(s->w), 0, "and releases");
	return took <= (wait + T4_MS) * T_NS_PER_MS;
}

int
main(void)
{
	const char *table = t_table();
	struct storm s = { .w = t_actor(table) };

	s.lh = t_open(table);
	ok(t_tries(3, storm, &s), "the deadline was the original one");
	s.flags = SA_RESTART;
	ok(t_tries(3, storm, &s), "with SA_RESTART, too");
	t_actor_end(s.w);
	t_close(s.lh);
	return done();
}
