/* SPDX-License-Identifier: MIT */
/*
 * The harness reaches points behind late sleeps (late_sleep.c).  The
 * dozer sleeps until another thread sees it asleep.  When it is late for each
 * of its sleeps, it goes on to a point that no run at full speed reaches, and
 * takes the latch there.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "crash/selftest_toy.h"
#include "crash/setup.h"
#include "tap.h"

#define DOZES 3
#define DOZE_MS 10
#define SPINS 100			/* of a run that is measured */
#define RUNS 3
#define LATER 6				/* times as late as is enough */

/* Turns between a look at the clock and the sleep: stepped, they take LATER
 * times as long as the sleep. */
static int spins = SPINS;

/* Asleep at two looks: a sleep that is over at once is none. */
static void *
wake_dozer(void *arg)
{
	struct trial *p = arg;

	for (int seen = 0; seen < 2; trial_nap_us(1000))
		seen = flag_get(&p->begun) && trial_asleep(getpid()) ?
		    seen + 1 : 0;
	toy_of(p)->journal = 1;
	syscall(SYS_futex, &toy_of(p)->journal, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void
doze_prepare(struct trial *p)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wake_dozer, p) != 0)
		blame(p, "staging: no thread");
}

static void
spin(void)
{
	for (volatile int i = 0; i < spins; i++)
		;
}

/* The clock, many steps, and then a sleep. */
static void
doze_once(struct toy *t)
{
	int64_t until = trial_now_ns() + DOZE_MS * NS_A_MS;
	struct timespec ts = { until / 1000000000, until % 1000000000 };

	spin();
	syscall(SYS_futex, &t->journal, FUTEX_WAIT_BITSET, 0, &ts, NULL,
	    FUTEX_BITSET_MATCH_ANY);
}

static void
doze_act(struct trial *p)
{
	struct toy *t = toy_of(p);

	while (t->journal == 0 && t->n < DOZES) {
		doze_once(t);
		t->n++;
	}
	if (t->n == DOZES && selftest_latch_take(t, 1000)) {
		t->a++;
		atomic_store(&t->latch, 0);
	}
}

static const struct scenario dozer = {
	.name = "dozer", .prepare = doze_prepare, .act = doze_act,
	.check = selftest_latch_check, .toy = true
};

static void
spin_act(struct trial *p)
{
	(void)p;
	spin();
}

static const struct scenario spinner = {
	.name = "spinner", .act = spin_act, .toy = true
};

/* Of a processor's time, by the director and by those it has reaped. */
static int64_t
used_ns(void)
{
	const int who[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	int64_t us = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage u = { 0 };

		(void)getrusage(who[i], &u);
		us += (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
		    u.ru_utime.tv_usec + u.ru_stime.tv_usec;
	}
	return us * 1000;
}

/*
 * Measures what a turn takes that is stepped: 10 us on one machine, 300 on
 * another.  The cheapest of some runs counts: on a busy machine a run takes
 * several times as long.
 */
static bool
measure_spins(struct trial *p)
{
	int64_t least = INT64_MAX;
	bool good = true;

	trace_be_late(true);
	for (int i = 0; good && i < RUNS; i++) {
		struct trace tr = { 0 };
		int64_t used = used_ns();

		good = setup_record_on(p, &spinner, MODE_KILL, &tr, 0, 1) &&
		    tr.instructions > SPINS;
		used = used_ns() - used;
		least = used < least ? used : least;
		trace_free(&tr);
	}
	trace_be_late(false);
	if (good)
		spins = (int)(LATER * DOZE_MS * NS_A_MS * SPINS /
		    (least + NS_A_MS));
	return good;
}

/* Returns how many changes of a recording are reached at that pace, with all
 * before them. */
static unsigned
come_by(struct trial *p, const struct trace *tr, enum pace pace)
{
	unsigned changes = 0, met = 0;

	for (size_t i = 0; i <= tr->instructions; i++) {
		pid_t pid;

		if (!(tr->at[i].why & AT_CHANGE))
			continue;
		changes++;
		pid = setup_trial(p, &dozer, MODE_KILL, pace, NULL);
		met += pid > 0 && trace_run_to(p, pid, &tr->at[i],
			    (struct approach){ .pace = pace }) ==
		    TRACE_AT && toy_of(p)->n == (changes < DOZES ? changes :
		    DOZES);
		trial_sweep(p);
	}
	return met;
}

/* Points behind late sleeps are reached without stepping there, and faults
 * there are found. */
static void
is_late_where_it_was(struct trial *p, const struct inject_opts *o)
{
	struct inject_opts distinct = *o;
	struct trace tr = { 0 };
	struct inject_tally t;
	unsigned quick, late;
	bool good;

	trace_be_late(true);
	good = setup_record(p, &dozer, MODE_KILL, &tr);
	trace_be_late(false);

	/* the dozes, the latch taken, a, the latch given back */
	good = good && tr.states == 1 + DOZES + 3;
	quick = good ? come_by(p, &tr, PACE_QUICK) : 0;
	late = good ? come_by(p, &tr, PACE_LATE) : 0;
	ok(good && quick < DOZES && late == DOZES + 3, "selftest: of %d "
	    "changes that were late %u are reached at full speed, late %u",
	    DOZES + 3, quick, late);
	trace_free(&tr);
	distinct.full = false;
	trace_be_late(true);
	good = inject_kill(p, &dozer, &distinct, &t);
	trace_be_late(false);
	ok(good && t.tried == t.points && t.early == 0 && t.blocking == 2,
	    "selftest: a latch behind late sleeps, killed: %u of %u points "
	    "block", t.blocking, t.tried);
}

/* Nobody is late who is not to be: it sleeps, and is woken. */
static void
is_late_for_nothing(struct trial *p)
{
	struct inject_opts distinct = { .at = -1, .quiet = true };
	struct trace tr = { 0 };
	struct inject_tally t;
	bool good = setup_record(p, &dozer, MODE_KILL, &tr) &&
	    !late_sleep_any(tr.late);

	trace_free(&tr);
	good = good && inject_kill(p, &dozer, &distinct, &t);
	ok(good && t.tried == t.points && t.failures == 0 && t.states < 1 +
	    DOZES + 1, "selftest: who is not to be late sleeps, and is woken: "
	    "%u states", good ? t.states : 0);
}

void
selftest_late(struct trial *p, const struct inject_opts *o)
{
	bool good = measure_spins(p);

	ok(good, "selftest: a stepped doze has %d turns", spins);
	is_late_where_it_was(p, o);
	is_late_for_nothing(p);
}
