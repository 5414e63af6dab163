/* SPDX-License-Identifier: MIT */
/*
 * One attempt: the scene is staged, the subject is run to a point, and killed
 * or stopped there.  Then others look.  inject.c and double.c choose
 * the points.
 */
#include "crash/attempt.h"
#include "crash/setup.h"

#define CHECK_MS 5000

static void
check(struct trial *p, void *arg)
{
	(void)arg;
	if (p->sc->check != NULL)
		p->sc->check(p);
	else
		checker_check(p);
}

static void
run_checker(struct trial *p)
{
	pid_t pid;

	trial_watch(CHECK_MS);
	pid = trial_fork(p, check, NULL);
	trial_await(p, pid, "checker");
	if (trial_watch(0))
		blame_block(p, "the checker hung for %d s", CHECK_MS / 1000);
}

static enum outcome
verdict(struct trial *p)
{
	trial_sweep(p);
	return atomic_load(&p->blamed) ? FINDING : CLEAN;
}

enum outcome
attempt_kill(struct trial *p, const struct scenario *sc, const struct point *at,
    struct approach how, const struct first_crash *first)
{
	pid_t pid = setup_trial(p, sc, MODE_KILL, how.pace, NULL);
	enum trace_end end;

	(void)first;
	if (pid < 0)
		return verdict(p);
	end = trace_run_to(p, pid, at, how);
	if (end == TRACE_EARLY) {
		trial_sweep(p);
		return PASSED_BY;
	}
	if (end == TRACE_AT) {
		trial_kill(pid);
		run_checker(p);
	}
	return verdict(p);
}

enum outcome
attempt_stop(struct trial *p, const struct scenario *sc, const struct point *at,
    struct approach how, const struct first_crash *first)
{
	pid_t server, pid = setup_trial(p, sc, MODE_STOP, how.pace, &server);
	enum trace_end end;

	(void)first;
	if (pid < 0)
		return verdict(p);
	end = trace_run_to(p, pid, at, how);
	if (end == TRACE_EARLY) {
		trial_sweep(p);
		return PASSED_BY;
	}
	if (end == TRACE_DIED)
		return verdict(p);
	p->from_begin = (at->why & AT_BEGIN) != 0;
	trial_watch(CHECK_MS);
	flag_set(&p->go, 1);
	if (!flag_wait(&p->served, 1, CHECK_MS))
		blame_block(p, "the server hung");
	trace_let_go(pid);
	if (!flag_wait(&p->finished, 1, CHECK_MS))
		blame_block(p, "it did not end after it went on");
	flag_set(&p->last_look, 1);
	trial_await(p, server, "server");
	trial_watch(0);
	return verdict(p);
}

/* Stages the first crash, up to the death: false if it does not come to it. */
static bool
crash_once(struct trial *p, const struct scenario *sc, const struct point *at,
    struct approach how, enum trace_end *end)
{
	pid_t pid = setup_trial(p, sc, MODE_DOUBLE, how.pace, NULL);

	*end = pid < 0 ? TRACE_DIED : trace_run_to(p, pid, at, how);
	if (*end == TRACE_AT)
		trial_kill(pid);
	return *end == TRACE_AT;
}

pid_t
attempt_recoverer(struct trial *p, const struct scenario *sc,
    const struct first_crash *first, enum trace_end *end)
{
	bool dead = crash_once(p, sc, first->at, first->how, end);

	if (*end == TRACE_EARLY && first->other != NULL) {
		trial_sweep(p);
		dead = crash_once(p, sc, first->at, *first->other, end);
	}
	if (!dead)
		return -1;
	return trace_start(p, NULL, sc->recover != NULL ? sc->recover :
	    checker_recover, NULL);
}

enum outcome
attempt_double(struct trial *p, const struct scenario *sc,
    const struct point *at, struct approach how,
    const struct first_crash *first)
{
	enum trace_end end;
	pid_t pid = attempt_recoverer(p, sc, first, &end);

	if (pid > 0)
		end = trace_run_to(p, pid, at, how);
	if (end == TRACE_EARLY) {
		trial_sweep(p);
		return PASSED_BY;
	}
	if (pid > 0 && end == TRACE_AT) {
		trial_kill(pid);
		run_checker(p);
	}
	return verdict(p);
}
