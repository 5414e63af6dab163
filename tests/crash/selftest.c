/* SPDX-License-Identifier: MIT */
/*
 * Can the harness fail?  It is let loose on three small protocols over shared
 * memory whose faults are known, and must find them, and nothing beside them:
 *
 *	counter		right: 20 increments; each point found must be where
 *			the recording says (the counter tells), and a kill or
 *			a stop anywhere is harmless
 *	latch		a spin lock around two fields: who is killed or stopped
 *			inside blocks everyone, outside nobody
 *	journal		an undo journal whose recovery clears the journal before
 *			it undoes: every single crash is recovered from, but not
 *			a crash of the recoverer
 *
 * and on two operations that do not end, one running and one asleep, on judges
 * who die of what they see, and on one that does little but look at the clock.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "crash/double.h"
#include "crash/inject.h"
#include "crash/selftest.h"
#include "crash/selftest_toy.h"
#include "crash/setup.h"
#include "crash/tracee.h"
#include "tap.h"

#define TURNS 20
#define PATIENCE_MS 5
#define ENDLESS_MS 300
#define LOOKS 50
#define LOOK_STEPS_MAX 50		/* all around the vDSO's own */

/* counter */

static void
count_up(struct trial *p)
{
	for (int i = 0; i < TURNS; i++)
		toy_of(p)->n++;
}

static void
count_check(struct trial *p)
{
	if (toy_of(p)->n > TURNS)
		blame(p, "counted to %u", toy_of(p)->n);
}

static void
count_serve(struct trial *p)
{
	flag_set(&p->ready, 1);
	(void)flag_wait(&p->go, 1, 10000);
	count_check(p);
	flag_set(&p->served, 1);
	(void)flag_wait(&p->last_look, 1, 10000);
	if (toy_of(p)->n != TURNS)
		blame(p, "after a stop it counted to %u", toy_of(p)->n);
}

/* latch */

bool
selftest_latch_take(struct toy *t, int64_t ms)
{
	int64_t end = trial_now_ns() + ms * NS_A_MS;
	uint32_t open = 0;

	while (!atomic_compare_exchange_strong(&t->latch, &open, 1)) {
		open = 0;
		if (trial_now_ns() > end)
			return false;
		trial_nap_us(50);
	}
	return true;
}

static void
latch_act(struct trial *p)
{
	struct toy *t = toy_of(p);

	if (selftest_latch_take(t, 1000)) {
		t->a++;
		t->b++;
		atomic_store(&t->latch, 0);
	}
	t->n++;
}

void
selftest_latch_check(struct trial *p)
{
	if (!selftest_latch_take(toy_of(p), PATIENCE_MS))
		blame_block(p, "the latch is taken");
	else
		atomic_store(&toy_of(p)->latch, 0);
}

static void
latch_serve(struct trial *p)
{
	flag_set(&p->ready, 1);
	(void)flag_wait(&p->go, 1, 10000);
	selftest_latch_check(p);
	flag_set(&p->served, 1);
	(void)flag_wait(&p->last_look, 1, 10000);
}

/* journal */

static void
journal_prepare(struct trial *p)
{
	toy_of(p)->a = 70;
	toy_of(p)->b = 30;
}

static void
journal_act(struct trial *p)
{
	struct toy *t = toy_of(p);

	t->old_a = t->a;
	t->old_b = t->b;
	t->journal = 1;
	t->a -= 10;
	t->b += 10;
	t->journal = 0;
}

static void
journal_recover(struct trial *p)
{
	struct toy *t = toy_of(p);

	if (t->journal == 0)
		return;
	t->journal = 0;			/* the fault: this belongs last */
	t->a = t->old_a;
	t->b = t->old_b;
}

static void
journal_check(struct trial *p)
{
	struct toy *t = toy_of(p);

	journal_recover(p);
	if (t->a + t->b != 100)
		blame(p, "%u and %u are not 100", t->a, t->b);
}

/* who dies of half a count */

static void
die_at_half(struct trial *p)
{
	if (toy_of(p)->n == TURNS / 2)
		abort();
}

static void
die_of_half(struct trial *p)
{
	bool half;

	flag_set(&p->ready, 1);
	(void)flag_wait(&p->go, 1, 10000);
	half = toy_of(p)->n == TURNS / 2;	/* before it goes on */
	flag_set(&p->served, 1);
	if (half)
		_exit(3);
	(void)flag_wait(&p->last_look, 1, 10000);
}

/* the time, again and again */

static void
look_on(struct trial *p)
{
	for (int i = 0; i < LOOKS; i++)
		if (trial_now_ns() != 0)
			toy_of(p)->n++;
}

/* what does not end */

static void
run_on(struct trial *p)
{
	for (;;)
		toy_of(p)->n++;
}

static void
sleep_on(struct trial *p)
{
	for (;;)
		pause();
}

static const struct scenario counter = {
	.name = "counter", .act = count_up, .check = count_check,
	.serve = count_serve, .toy = true
};

static const struct scenario latch = {
	.name = "latch", .act = latch_act, .check = selftest_latch_check,
	.serve = latch_serve, .toy = true
};

static const struct scenario journal = {
	.name = "journal", .prepare = journal_prepare, .act = journal_act,
	.check = journal_check, .recover = journal_recover, .toy = true
};

static const struct scenario mortal = {
	.name = "mortal", .act = count_up, .check = die_at_half,
	.serve = die_of_half, .toy = true
};

static const struct scenario looker = {
	.name = "looker", .act = look_on, .toy = true
};

static const struct scenario endless[] = {
	{ .name = "running", .act = run_on, .toy = true },
	{ .name = "asleep", .act = sleep_on, .toy = true }
};

/* Is each point where the recording says, at every pace? */
static void
stops_where_it_says(struct trial *p)
{
	struct trace tr = { 0 };
	unsigned changes = 0, wrong = 0;
	bool good = setup_record(p, &counter, MODE_KILL, &tr);

	for (size_t i = 0; good && i <= tr.instructions; i++) {
		if (!(tr.at[i].why & AT_CHANGE))
			continue;
		changes++;
		for (enum pace pace = 0; pace < PACE_RECORD; pace++) {
			pid_t pid = setup_trial(p, &counter, MODE_KILL,
			    pace, NULL);

			if (pid < 0 || trace_run_to(p, pid, &tr.at[i],
			    (struct approach){ .pace = pace }) !=
			    TRACE_AT || toy_of(p)->n != changes)
				wrong++;
			trial_sweep(p);
		}
	}
	ok(good && changes == TURNS && wrong == 0, "selftest: of %d changes "
	    "%u were found, and reached exactly, %u not", TURNS, changes,
	    wrong);
	trace_free(&tr);
}

/* An operation without an end is killed, and reported as that. */
static void
ends_what_does_not(struct trial *p)
{
	struct trace tr = { 0 };

	tracee_span(ENDLESS_MS);
	for (int i = 0; i < 2; i++) {
		bool good = setup_record(p, &endless[i], MODE_KILL, &tr);

		ok(!good && strstr(p->finding, "did not end") != NULL,
		    "selftest: an operation that does not end, %s: %s",
		    endless[i].name, p->finding);
		trace_free(&tr);
	}
	tracee_span(0);
}

/* A judge who dies has not found everything in order. */
static void
hears_dead_judges(struct trial *p)
{
	struct inject_opts quiet = { .at = -1, .quiet = true };
	struct inject_tally kill, stop;
	bool ran = inject_kill(p, &mortal, &quiet, &kill) &&
	    inject_stop(p, &mortal, &quiet, &stop);

	ok(ran && kill.failures == 1 && stop.failures > 0 &&
	    stop.failures < stop.tried, "selftest: judges who die: %u of %u "
	    "kills, %u of %u stops", kill.failures, kill.tried, stop.failures,
	    stop.tried);
}

/* The clock's loop is the kernel's, and not stepped through. */
static void
steps_over_clocks(struct trial *p)
{
	struct trace tr = { 0 };
	bool good = setup_record(p, &looker, MODE_KILL, &tr);

	ok(good && tr.states == 1 + LOOKS && tr.instructions < LOOKS *
	    LOOK_STEPS_MAX, "selftest: %d looks at the clock: %u states, %u "
	    "instructions", LOOKS, tr.states, tr.instructions);
	trace_free(&tr);
}

/* A process that was killed between two looks has no position, not 0. */
static void
misses_who_is_gone(struct trial *p)
{
	struct spot at = { 1, 1 };
	pid_t pid = setup_trial(p, &counter, MODE_KILL, PACE_QUICK, NULL);
	bool there = pid > 0 && tracee_spot(p, pid, &at) && at.rip > 1;

	if (pid > 0)
		kill(pid, SIGKILL);
	ok(there && !tracee_spot(p, pid, &at) && p->finding[0] != '\0',
	    "selftest: who was killed meanwhile is missed: %s", p->finding);
	trial_sweep(p);
}

void
selftest(struct trial *p, bool thorough)
{
	struct inject_opts every = { .at = -1, .full = true, .quiet = true };
	struct inject_tally t;
	unsigned pairs;
	bool ran;

	stops_where_it_says(p);
	ends_what_does_not(p);
	misses_who_is_gone(p);
	hears_dead_judges(p);
	steps_over_clocks(p);
	selftest_places(p, thorough);
	ran = inject_kill(p, &counter, &every, &t);
	ok(ran && t.failures == 0 && t.tried == t.points && t.early == 0,
	    "selftest: a right protocol, killed: %u points, %u failures",
	    t.tried, t.failures);
	ran = inject_stop(p, &counter, &every, &t);
	ok(ran && t.failures == 0 && t.tried == t.points,
	    "selftest: a right protocol, stopped: %u points, %u failures",
	    t.tried, t.failures);
	ran = inject_kill(p, &latch, &every, &t);
	ok(ran && t.blocking > 0 && t.blocking < t.tried,
	    "selftest: a latch, killed: %u of %u points block", t.blocking,
	    t.tried);
	ran = inject_stop(p, &latch, &every, &t);
	ok(ran && t.blocking > 0 && t.blocking < t.tried,
	    "selftest: a latch, stopped: %u of %u points block", t.blocking,
	    t.tried);
	selftest_late(p, &every);
	ran = inject_kill(p, &journal, &every, &t);
	ok(ran && t.failures == 0 && t.tried > 0,
	    "selftest: a wrong recovery, killed once: %u points, %u failures",
	    t.tried, t.failures);
	every.full = false;
	every.stride = 1;
	ran = inject_double(p, &journal, &every, &t);
	ok(ran && t.failures > 0 && t.failures < t.tried,
	    "selftest: a wrong recovery, killed twice: %u of %u points fail",
	    t.failures, t.tried);
	pairs = t.tried;
	every.stride = 0;
	ran = inject_double(p, &journal, &every, &t);
	ok(ran && t.failures > 0 && t.tried < pairs,
	    "selftest: the same, and a sample of the pairs: %u of %u fail",
	    t.failures, t.tried);
}
