/* SPDX-License-Identifier: MIT */
/* test: slow 12 */
/*
 * A part of a test (support/part.h) counts as it is, be it ever so short or
 * long, and is played again only where those in it were kept from running.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define SPIN_MS	t_ms(200)	/* twice what it cannot bear to lose */

static struct { int plays, stretch; } *seen;

static void
played(void)
{
	seen->plays++;
	seen->stretch = t_stretch();
}

static void
holds(void)
{
	played();
	ok(1, "it holds");
}

/* Nobody in it wants to run. */
static void
fails_asleep(void)
{
	played();
	t_sleep_ms(t_ms(100));
	ok(0, "it does not hold");
}

static int
spin(void *arg)
{
	int64_t from = t_now_ns();

	(void)arg;
	while (t_since_ms(from) < SPIN_MS)
		continue;
	return 0;
}

/* Two on one processor: one of them always has to wait for it. */
static void
held_up(void)
{
	cpu_set_t all, one;
	pid_t pid;
	int cpu = 0;

	played();
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		bail_out("sched_getaffinity");
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		bail_out("sched_setaffinity");
	pid = t_fork(spin, NULL);
	spin(NULL);
	t_reap(pid, T_HANG_MS);
}

static void
fails_at_first(void)
{
	held_up();
	ok(seen->plays > 1, "it holds the second time");
}

static void
fails_always(void)
{
	held_up();
	ok(0, "it never holds");
}

/* Held up or not, that is no matter of time. */
static void
crashes(void)
{
	held_up();
	raise(SIGUSR1);
}

static void
found_faulty(void)
{
	held_up();
	_exit(99);
}

static void
breaks_off(void)
{
	held_up();
	ok(0, "it does not hold");
	exit(done());
}

static struct {
	void (*play)(void);
	int limit_ms;
} what;

/* As a program of its own would: what does not hold is not to be reported. */
static int
part(void *arg)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)arg;
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
	t_part(what.play, what.limit_ms, "a part");
	return tap_child_status();
}

static int
verdict(void (*play)(void), int limit_ms)
{
	what.play = play;
	what.limit_ms = limit_ms;
	seen->plays = 0;
	return t_reap(t_fork(part, NULL), 2 * T_HANG_MS);
}

int
main(void)
{
	seen = t_shared(sizeof(*seen));
	is(verdict(holds, 1000), 0, "what holds is good");
	is(seen->plays, 1, "and played once");
	is(seen->stretch, 1, "as it is");
	is(verdict(fails_asleep, 60000), 1, "what does not hold is not");
	is(seen->plays, 1, "nor played again where nobody was held up");
	is(verdict(crashes, 100), 256 + SIGUSR1, "a crash ends it all");
	is(seen->plays, 1, "at once");
	is(verdict(found_faulty, 100), 99,
	    "so does a status that valgrind set");
	is(seen->plays, 1, "at once");
	is(verdict(breaks_off, 100), 1, "what breaks off does not hold");
	is(seen->plays, 1, "and is left at that");
	is(verdict(fails_at_first, 100), 0, "held up: it gets another chance");
	is(seen->plays, 2, "one");
	is(seen->stretch, 4, "with longer times");
	is(verdict(fails_always, 100), 1, "held up always: it gets no more "
	    "than that");
	is(seen->plays, 3, "three plays in all");
	setenv("LH_TEST_PLAYS", "1", 1);
	is(verdict(fails_at_first, 100), 1, "nor where one is to be enough");
	is(seen->plays, 1, "one");
	return done();
}
