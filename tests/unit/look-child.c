/* SPDX-License-Identifier: MIT */
/* test: slow 9 */
/*
 * A look at processes in a child (offline/look_child.c) ends, whatever it meets
 * there: a step that takes for ever, a death.  Otherwise any user could make a
 * repair by force endless (issue 21, A).
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "offline/look_child.h"
#include "support/support.h"
#include "tap.h"

#define SOMEBODY 4711
#define LIMIT_MS 60000

struct found {
	int n, descriptors;
	unsigned stuck;
};

static void
count_descriptors(void *result)
{
	struct found *f = result;

	for (int fd = 0; fd < 1000; fd++)
		f->descriptors += fcntl(fd, F_GETFD) >= 0;
	f->n++;
}

static void
hang(void *result)
{
	struct found *f = result;

	f->n++;
	lhi_look_at(SOMEBODY);
	f->stuck = lhi_look_times_stuck(SOMEBODY);
	while (f->stuck == 0)
		(void)pause();
}

static void
hang_always(void *result)
{
	struct found *f = result;

	f->n++;
	lhi_look_at(SOMEBODY);
	for (;;)
		(void)pause();
}

static void
die(void *result)
{
	struct found *f = result;

	f->n++;
	lhi_look_at(SOMEBODY);
	(void)raise(SIGKILL);
}

static void
go_on(void *result)
{
	(void)result;
	for (;;) {
		lhi_look_step();
		t_sleep_ms(1);
	}
}

/* Looks in a child. */
static int
look(void (*fn)(void *result), struct found *f, int limit_ms, pid_t *at)
{
	*f = (struct found){ .n = 5 };
	*at = -1;
	return lhi_look_apart(fn, f, sizeof(*f), limit_ms, at);
}

int
main(void)
{
	struct found f;
	int64_t from;
	pid_t at;

	is(look(count_descriptors, &f, LIMIT_MS, &at), 0, "a child looks");
	is(f.n, 6, "  its result is here");
	is(f.descriptors, 0, "  it has no descriptor");
	is(lhi_look_times_stuck(SOMEBODY), 0, "  nobody is stuck here");

	is(look(hang, &f, LIMIT_MS, &at), 0, "a child that hangs is replaced");
	is(f.n, 6, "  by one that begins anew");
	is(f.stuck, 1, "  and knows where the first one was");

	from = t_now_ns();
	is(look(die, &f, LIMIT_MS, &at), -ETIMEDOUT, "children that die");
	is(at, 0, "  they were stuck nowhere");
	is(f.n, 5, "  the result is as before");
	is(look(hang_always, &f, 4000, &at), -ETIMEDOUT, "a limit is kept");
	is(at, SOMEBODY, "  where it was is known");
	is(look(go_on, &f, 500, &at), -ETIMEDOUT, "  also by a child that goes "
	    "on all the time");
	ok(t_since_ms(from) < t_ms(10000), "  in time");
	return done();
}
