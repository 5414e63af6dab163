/* SPDX-License-Identifier: MIT */
/* Actors: see actor.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actor.h"
#include "support.h"
#include "tap.h"

/* An actor whose director has forgotten it must end, too. */
#define IDLE_MS t_ms(120000)

static int
play(void *arg)
{
	struct t_actor *a = arg;

	for (uint32_t n = 1; t_await(&a->asked, n, IDLE_MS); n++) {
		if (a->fn == NULL)
			return 0;
		a->began_ns = t_now_ns();
		a->result = a->fn(a, a->arg);
		a->ended_ns = t_now_ns();
		snprintf(a->detail, sizeof(a->detail), "%s",
		    lh_error_detail());
		t_post(&a->answered);
	}
	return 1;
}

struct t_actor *
t_actor_unattached(void)
{
	struct t_actor *a = t_shared(sizeof(*a));

	a->pid = t_fork(play, a);
	return a;
}

static int
attach(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();

	return lh_open(&a->lh, arg, &o);
}

struct t_actor *
t_actor(const char *table)
{
	struct t_actor *a = t_actor_unattached();
	int r = t_do(a, attach, (void *)(uintptr_t)table);

	if (r != 0)
		bail_out("an actor cannot open %s: %s: %s", table,
		    lh_strerror(r), a->detail);
	return a;
}

void
t_begin(struct t_actor *a, int (*fn)(struct t_actor *a, void *arg), void *arg)
{
	a->fn = fn;
	a->arg = arg;
	a->asks++;
	t_post(&a->asked);
}

bool
t_answered(struct t_actor *a)
{
	return atomic_load(&a->answered.count) >= a->asks;
}

/* Ended, and not by us: then no answer will come. */
static bool
is_gone(struct t_actor *a)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)a->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == a->pid;
}

int
t_result_within(struct t_actor *a, int64_t ms)
{
	int64_t end_ns = t_now_ns() + ms * T_NS_PER_MS;

	while (!t_await(&a->answered, a->asks, 50)) {
		if (is_gone(a) && !t_answered(a)) {
			diag("process %d has ended", (int)a->pid);
			return T_HUNG;
		}
		if (t_now_ns() >= end_ns)
			return T_HUNG;
	}
	return a->result;
}

int
t_result(struct t_actor *a)
{
	return t_result_within(a, T_HANG_MS);
}

int
t_do(struct t_actor *a, int (*fn)(struct t_actor *a, void *arg), void *arg)
{
	t_begin(a, fn, arg);
	return t_result(a);
}

static int
close_it(struct t_actor *a, void *arg)
{
	struct lh *lh = a->lh;

	(void)arg;
	a->lh = NULL;
	return lh != NULL ? lh_close(lh) : 0;
}

void
t_actor_end(struct t_actor *a)
{
	int closed = t_do_close(a), ended;

	t_begin(a, NULL, NULL);
	ended = t_reap(a->pid, T_HANG_MS);
	/* one line only where something is wrong: actors are many */
	if (closed != 0 || ended != 0)
		fail("an actor closes (%d, %s) and ends (%d)", closed,
		    a->detail, ended);
	t_actor_free(a);
}

void
t_actor_kill(struct t_actor *a)
{
	t_kill(a->pid);
}

void
t_actor_free(struct t_actor *a)
{
	munmap(a, sizeof(*a));
}

static int
acquire(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_acquire(a->lh, a->key, &a->opts, &a->lease);
}

static int
release(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_release(a->lh, &a->lease);
}

static int
extend(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_extend(a->lh, &a->lease, a->ttl_ms);
}

static int
verify(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_verify(a->lh, &a->lease);
}

void
t_begin_acquire_opts(struct t_actor *a, const char *key,
    const struct lh_acquire_opts *opts)
{
	snprintf(a->key, sizeof(a->key), "%s", key);
	a->opts = *opts;
	t_begin(a, acquire, NULL);
}

void
t_begin_acquire(struct t_actor *a, const char *key, int64_t ttl_ms,
    int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);

	t_begin_acquire_opts(a, key, &o);
}

int
t_do_acquire(struct t_actor *a, const char *key, int64_t ttl_ms,
    int64_t wait_ms)
{
	t_begin_acquire(a, key, ttl_ms, wait_ms);
	return t_result(a);
}

int
t_do_release(struct t_actor *a)
{
	return t_do(a, release, NULL);
}

int
t_do_extend(struct t_actor *a, int64_t ttl_ms)
{
	a->ttl_ms = ttl_ms;
	return t_do(a, extend, NULL);
}

int
t_do_verify(struct t_actor *a)
{
	return t_do(a, verify, NULL);
}

int
t_do_close(struct t_actor *a)
{
	return t_do(a, close_it, NULL);
}

static int
who(struct t_actor **actors, int n, const bool *had)
{
	for (int i = 0; i < n; i++)
		if (!had[i] && t_answered(actors[i]))
			return i;
	return -1;
}

int
t_who(struct t_actor **actors, int n, const bool *had)
{
	int i = -1;

	(void)t_until(T_HANG_MS, (i = who(actors, n, had)) >= 0);
	return i;
}

int64_t
t_took_ms(const struct t_actor *a)
{
	return (a->ended_ns - a->began_ns) / T_NS_PER_MS;
}
