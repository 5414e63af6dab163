/* SPDX-License-Identifier: MIT */
/*
 * Runs operations, or a program, in an environment.
 *
 *	env-ops ENVIRONMENT before TABLE CLASS...	enter, then open
 *	env-ops ENVIRONMENT after TABLE CLASS...	open, then enter
 *	env-ops ENVIRONMENT exec PROGRAM...	enter, and become the program
 *	env-ops ENVIRONMENT probe		0 if it can be entered here
 *	env-ops ENVIRONMENT hold TABLE		enter; hold "held" until killed
 *	env-ops ENVIRONMENT die TABLE		hold "dying"; with a waiter: die
 *	env-ops ENVIRONMENT lapse TABLE		hold "lapsing" for 1 s, stopped
 *
 * Each class writes a line to standard output: its name, 0 or the error's name,
 * and the error's detail.  "open" is lh_open(), "close" is lh_close() and that
 * as many descriptors are open as before.  A class that takes 10 s is ended by
 * SIGALRM.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdbool.h>
#include "env/more.h"
#include "env/ops.h"

#define HANG_S 10
#define CANNOT 77

static int results = -1;

static void
tell(const char *what, int error)
{
	char line[640];
	int n = snprintf(line, sizeof(line), "%s\t%s\t%.500s\n", what,
	    error == 0 ? "0" : strerrorname_np(-error),
	    error == 0 ? "" : lh_error_detail());

	if (write(results, line, (size_t)n) != n)
		_exit(3);
	(void)alarm(HANG_S);
}

/* /proc is not asked: it may not be there. */
static int
descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void
enter_or_end(const char *environment)
{
	int e = enter(environment);

	if (e == 0)
		return;
	if (e > 0)
		fprintf(stderr, "there is no environment '%s'\n", environment);
	else
		fprintf(stderr, "%s\n", strerror(-e));
	exit(e > 0 ? 64 : CANNOT);
}

static int
run_classes(struct lh *lh, int argc, char **argv)
{
	for (int i = 0; i < n_classes; i++) {
		for (int a = 0; a < argc; a++) {
			if (strcmp(argv[a], classes[i].name) == 0)
				tell(classes[i].name, classes[i].run(lh));
		}
	}
	return 0;
}

static int
run(const char *environment, const char *table, bool after, int argc,
    char **argv)
{
	struct lh *lh = NULL;
	int before, e;

	(void)alarm(HANG_S);
	if (!after)
		enter_or_end(environment);
	before = descriptors();
	e = lh_open(&lh, table, NULL);
	tell("open", e);
	if (e != 0)
		return 0;
	if (after) {
		enter_or_end(environment);
		before = -1;	/* it may have closed some */
	}
	(void)run_classes(lh, argc, argv);
	e = lh_close(lh);
	if (e == 0 && before >= 0 && descriptors() > before + 2)
		e = -EMFILE;	/* (the live thread keeps two) */
	tell("close", e);
	return 0;
}

static int
hold(const char *environment, const char *table, const char *how)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	bool dies = strcmp(how, "die") == 0, lapses = strcmp(how, "lapse") == 0;
	const char *key = dies ? "dying" : lapses ? "lapsing" : "held";
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l;
	struct lh *lh;

	enter_or_end(environment);
	/* it is stopped, so that nobody may see it run */
	more.policy = LH_POLICY_LIVE;
	if (lapses)
		o.more = &more;
	o.ttl_ms = lapses ? 1000 : 600000;
	if (lh_open(&lh, table, NULL) != 0 ||
	    lh_acquire(lh, key, &o, &l) != 0) {
		fprintf(stderr, "holder: %s\n", lh_error_detail());
		return 1;
	}
	(void)!write(1, "holds\n", 6);
	if (lapses && strcmp(environment, "frozen") == 0)
		(void)more_freeze(false);
	else if (lapses)
		(void)raise(SIGSTOP);
	if (dies) {
		(void)usleep(600000);
		(void)raise(SIGKILL);
	}
	for (;;)
		(void)pause();
}

int
main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";

	if (argc > 4 && (strcmp(how, "before") == 0 || strcmp(how, "after") ==
	    0)) {
		results = fcntl(1, F_DUPFD, 40);
		return results < 0 ? 70 : run(argv[1], argv[3],
		    strcmp(how, "after") == 0, argc - 4, argv + 4);
	}
	if (strcmp(how, "probe") == 0) {
		enter_or_end(argv[1]);
		return 0;
	}
	if (argc > 3 && strcmp(how, "exec") == 0) {
		enter_or_end(argv[1]);
		(void)execv(argv[3], argv + 3);
		return 127;
	}
	if (argc > 3)
		return hold(argv[1], argv[3], how);
	fprintf(stderr, "usage: see env-ops.c\n");
	return 64;
}
