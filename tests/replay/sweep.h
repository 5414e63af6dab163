/* SPDX-License-Identifier: MIT */
/*
 * Sweeps: a call is stopped before each of its accesses to shared memory in
 * turn, while others make a whole call.
 *
 * A replay names the one point that it is about; a sweep does not need to know
 * how the call works:
 *
 *	for (int n = 1; stands; n++) {
 *		...				// a fresh key
 *		sweep_go(&s, fn, arg);	// fn calls sweep_now(&s, NULL, n)
 *		stands = sweep_stands(&s);
 *		...				// what the others do
 *		result = sweep_end(&s);
 *		...				// what must be true then
 *	}
 *
 * A thread that makes its first call with an attachment takes a lock of the
 * process, and must not be stopped there: it acquires any key first.
 */
#ifndef TESTS_REPLAY_SWEEP_H
#define TESTS_REPLAY_SWEEP_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "behaviour/readers.h"
#include "prim/shared.h"
#include "proc/attachment.h"
#include "replay.h"

/* Time for a hundred small replays on a busy machine. */
#define SWEEP_ALARM_S 30

#define SWEEP_FN	__attribute__((unused)) static

struct sweep {
	const char *point;	/* NULL: any access to shared memory */
	int left;		/* arrivals until it stops */
	uint32_t stops;		/* seen by the director */
	struct t_event stopped, on, ended;
	unsigned long thread;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

static __thread struct sweep *sweep_self;
static void (*sweep_others)(const char *what, const void *addr);

static void
sweep_hook(const char *what, const void *addr)
{
	struct sweep *s = sweep_self;
	int saved = errno;

	if (s == NULL || s->left == 0 || (s->point == NULL ? addr == NULL :
	    strcmp(s->point, what) != 0)) {
		sweep_others(what, addr);
		return;
	}
	if (--s->left == 0) {
		t_post(&s->stopped);
		(void)t_await(&s->on, atomic_load(&s->stopped.count),
		    2 * REPLAY_MS);
	}
	errno = saved;
}

/* Call it instead of replay_begin(). */
SWEEP_FN const char *
sweep_begin(void)
{
	const char *table = replay_begin();

	sweep_others = lhi_hook;
	lhi_hook = sweep_hook;
	(void)alarm((unsigned)(SWEEP_ALARM_S * t_stretch()));
	return table;
}

static void *
sweep_run(void *arg)
{
	struct sweep *s = arg;

	sweep_self = s;
	s->result = s->fn(s->arg);
	sweep_self = NULL;
	t_post(&s->ended);
	return NULL;
}

/* For a sweep's fn: counts its accesses from here on, and stops at the nth. */
SWEEP_FN void
sweep_now(struct sweep *s, const char *point, int n)
{
	s->point = point;
	s->left = n;
}

/* Waits until the call is stopped or has ended.  True if it is stopped. */
SWEEP_FN bool
sweep_stands(struct sweep *s)
{
	if (!t_until(t_ms(REPLAY_MS),
	    atomic_load(&s->stopped.count) > s->stops ||
	    atomic_load(&s->ended.count) > 0)) {
		fail("a call comes to its stop or its end");
		(void)done();
		exit(1);
	}
	if (atomic_load(&s->stopped.count) == s->stops)
		return false;
	s->stops++;
	return true;
}

/* Lets the stopped call continue to another stop.  True if it stops there. */
SWEEP_FN bool
sweep_on(struct sweep *s, const char *point, int n)
{
	s->point = point;
	s->left = n;
	t_post(&s->on);
	return sweep_stands(s);
}

/* Runs fn(arg) in a thread that stops where it says with sweep_now(). */
SWEEP_FN void
sweep_go(struct sweep *s, int (*fn)(void *arg), void *arg)
{
	memset(s, 0, sizeof(*s));
	s->fn = fn;
	s->arg = arg;
	s->thread = t_thread(sweep_run, s);
}

/* Lets the call continue to its end, and returns the result of fn. */
SWEEP_FN int
sweep_end(struct sweep *s)
{
	t_post(&s->on);
	if (!t_await(&s->ended, 1, t_ms(REPLAY_MS))) {
		fail("a call that was stopped comes to its end");
		(void)done();
		exit(1);
	}
	(void)t_join(s->thread);
	return s->result;
}

/* Acquires and releases a key: a thread's first call takes a lock of the
 * process, and must not be stopped there. */
SWEEP_FN void
sweep_warm_up(struct lh *lh)
{
	struct lh_lease warm = t_hold(lh, "warm");

	(void)lh_release(lh, &warm);
}

/* Reports a failure at stop n; a sweep prints one line if all is well. */
SWEEP_FN void
sweep_bad(const char *what, int n, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fail("%s, stopped before access %d: %s", what, n, text);
}

/* The mode of a key's word, without asking anybody. */
SWEEP_FN unsigned
sweep_mode(struct lh *lh, const struct lh_lease *l)
{
	return word_mode(sh64_load(&lhi_slot(&lh->v,
	    (uint32_t)l->key)->word));
}

#endif
