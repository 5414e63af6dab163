/* SPDX-License-Identifier: MIT */
/*
 * The demonstration (`make run`): what leasehold is for, in twenty seconds.
 *
 *	demo [--seconds 20] [--seed N]
 *
 * Eight processes share three files.  Holders are killed and stopped; the
 * others go on; a worker that comes back too late is refused.  All that is
 * printed was observed: the workers' journals are read as they are written, and
 * at the end the same checker judges them that judges the chaos run
 * (tests/stress/history).
 *
 * The status is 0 if every guarantee held, 1 if not (or if there was nothing to
 * see), 64 or 71 for bad usage and a machine that would not play.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker.h"
#include "gate.h"
#include "stress/history/cleanup.h"
#include "report_line.h"

#define MS	INT64_C(1000000)

static struct demo demo;
static struct cleanup cleanup;
static volatile sig_atomic_t interrupted;

static void
on_signal(int sig)
{
	interrupted = sig;
}

static void
set_up(struct demo *d, double seconds)
{
	const char *tmp = getenv("TMPDIR");
	struct sigaction sa = { .sa_handler = on_signal };
	uint32_t f;
	int rc;

	snprintf(d->table, sizeof(d->table), "demo-%d", (int)getpid());
	if (snprintf(d->dir, sizeof(d->dir), "%s/leasehold-demo.XXXXXX",
	    tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(d->dir))
		strcpy(d->dir, "/tmp/leasehold-demo.XXXXXX");
	d->j = journal_new(N_WORKERS, (uint32_t)(2000 * seconds) + 2000);
	if (!d->j || !mkdtemp(d->dir)) {
		fprintf(stderr, "demo: %s: %s\n", d->dir, strerror(errno));
		exit(71);
	}
	cleanup_add(&cleanup, "/dev/shm/leasehold.%u/%s.table", getuid(),
	    d->table);
	for (f = 0; f < N_FILES; f++)
		cleanup_add(&cleanup, "%s/%s", d->dir, file_names[f]);
	cleanup_add(&cleanup, "%s", d->dir);
	rc = cleanup_start(&cleanup);
	if (rc) {
		rmdir(d->dir);
		fprintf(stderr, "demo: no cleanup process: %s\n",
		    strerror(-rc));
		exit(71);
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void
open_curtain(double seconds)
{
	report_line(PLAIN, "Eight processes share three files. Whoever "
	    "rewrites one first acquires a lease on its name, and");
	report_line(PLAIN, "gets a token that is larger than all before it. "
	    "For %.0f s, holders will be killed (SIGKILL) or", seconds);
	report_line(PLAIN, "stopped (SIGSTOP): watch the next one take over, "
	    "and a late one with an old token be refused.");
	report_line(DIM, "Leases last %d ms. No daemon is running: the "
	    "processes do this by themselves.\n", TTL_MS);
}

/* A file nobody is being waited for on; N_FILES: none. */
static uint32_t
quiet_file(struct demo *d)
{
	uint32_t first = (uint32_t)between(&d->dice, 0, N_FILES - 1), i;

	for (i = 0; i < N_FILES; i++)
		if (!d->watch[(first + i) % N_FILES].on)
			return (first + i) % N_FILES;
	return N_FILES;
}

static void
act(struct demo *d, unsigned scene)
{
	uint32_t file = quiet_file(d);

	if (file == N_FILES)
		return;
	if (scene % 6 == 4)
		director_stop(d, file, true);
	else if (scene % 2)
		director_stop(d, file, false);
	else
		director_kill(d, file);
}

static void
play(struct demo *d, double seconds)
{
	int64_t until, next, status;
	unsigned scene = 0;

	d->began_ns = now_ns();
	until = d->began_ns + (int64_t)(seconds * 1e9);
	next = d->began_ns + 1000 * MS;
	status = d->began_ns + 4000 * MS;
	director_start(d);
	while (now_ns() < until && !interrupted) {
		director_attend(d);
		story_go_on(d);
		if (now_ns() >= next && until - now_ns() > 1200 * MS) {
			act(d, scene++);
			next = now_ns() + between(&d->dice, 700 * MS,
			    1100 * MS);
		}
		if (now_ns() >= status) {
			story_so_far(d);
			status += 4000 * MS;
		}
		sleep_until_ns(now_ns() + MS);
	}
	director_finish(d);
	if (interrupted)
		report_line(WARN, "interrupted");
}

/* Each file counts its writes; the journals know how many were let in.  A
 * writer killed inside may or may not have got through. */
static unsigned
lost_updates(const struct demo *d)
{
	unsigned lost = 0;
	uint32_t f, l, i;

	for (f = 0; f < N_FILES; f++) {
		uint64_t done = 0, unsure = 0;
		struct page page;
		char path[128];
		int fd, rc;

		for (l = 0; l < N_WORKERS; l++) {
			for (i = 0; i < d->j->logs[l].n; i++) {
				const struct op *op = &d->j->ops[
				    d->j->logs[l].base + i];

				if (op->kind != OP_WRITE || op->key != f ||
				    op->how != GATE_WRITE)
					continue;
				done += op->ret_ns && op->result == 0;
				unsure += !op->ret_ns;
			}
		}
		snprintf(path, sizeof(path), "%s/%s", d->dir, file_names[f]);
		fd = gate_open(path);
		rc = fd < 0 ? fd : gate_read(fd, INT64_MAX, &page);
		if (fd >= 0)
			close(fd);
		if (rc || page.writes < done || page.writes > done + unsure) {
			report_line(BAD, "\"%s\" counts %llu writes, the "
			    "journals %llu: %s", file_names[f],
			    (unsigned long long)page.writes,
			    (unsigned long long)done, lh_strerror(rc));
			lost++;
		}
	}
	return lost;
}

static void
violated(enum rule rule, const char *text, void *arg)
{
	unsigned *told = arg;

	if (++*told <= 5)
		report_line(BAD, "%s: %s", rule_name(rule), text);
}

static int
check_table(const struct demo *d)
{
	struct lh *lh;
	int n = lh_open(&lh, d->table, NULL);

	if (n == 0) {
		n = lh_check(lh, NULL, NULL);
		lh_close(lh);
	}
	return n;
}

/* "12.3 ms", or why there is none. */
static const char *
slowest(unsigned n, int64_t ns, const char *after)
{
	static char text[2][80];
	static unsigned turn;
	char *t = text[turn++ % 2];

	if (!n || !ns)
		return "";
	snprintf(t, sizeof(text[0]), "the next one had the key %.1f ms after "
	    "the %s at the latest", (double)ns / 1e6, after);
	return t;
}

static void
count(uint64_t n, const char *what, const char *more, bool must_be_0)
{
	report_line(must_be_0 ? n ? BAD : GOOD : PLAIN, "  %-28s%8llu%s%s",
	    what, (unsigned long long)n, *more ? "  " : "", more);
}

static int
close_curtain(struct demo *d)
{
	uint32_t counts[N_WORKERS], l;
	struct verdict v;
	struct history h = {
		.ops = d->j->ops, .n_logs = N_WORKERS, .cap = d->j->cap,
		.counts = counts, .lives = d->lives, .n_lives = d->n_lives,
		.stops = d->stops, .n_stops = d->n_stops, .n_keys = N_FILES,
		.idle_limit_ns = 1000 * MS,
	};
	unsigned told = 0, lost;
	int64_t broken;
	int findings;

	for (l = 0; l < N_WORKERS; l++)
		counts[l] = d->j->logs[l].n;
	broken = history_check(&h, &v, violated, &told);
	lost = lost_updates(d);
	findings = check_table(d);
	report_line(PLAIN, "\nIn %.1f s:", (double)(now_ns() - d->began_ns) /
	    1e9);
	count(v.grants, "acquisitions", "", false);
	count(d->kills, "holders killed", slowest(d->kills, d->after_kill_ns,
	    "kill"), false);
	count(d->long_stops, "holders stopped for long", slowest(d->long_stops,
	    d->after_end_ns, "lease ended"), false);
	count(d->short_stops, "holders stopped briefly", "", false);
	count(d->refused, "stale writers refused", "", false);
	count(v.broken[RULE_OVERLAP], "exclusion violations", "", true);
	count(v.broken[RULE_TOKEN], "token regressions", "", true);
	count(v.broken[RULE_WRITE], "stale writes let in", "", true);
	count(lost, "files with lost updates", "", true);
	count((uint64_t)(findings < 0 ? 1 : findings), "findings in the table",
	    "", true);
	if (broken || lost || findings || d->crashed) {
		report_line(BAD, "A guarantee was broken.");
		return 1;
	}
	if (!interrupted && (!d->kills || !d->long_stops || !d->refused)) {
		report_line(BAD, "There was nothing to see: the machine is too "
		    "busy.");
		return 1;
	}
	report_line(GOOD, "All guarantees held.");
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct option opts[] = { { "seconds", 1, NULL, 's' },
	    { "seed", 1, NULL, 'e' }, { NULL, 0, NULL, 0 } };
	double seconds = 20;
	char *end = NULL;
	int c;

	demo.dice = (uint64_t)now_ns();
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 's')
			seconds = strtod(optarg, &end);
		else if (c == 'e')
			demo.dice = strtoull(optarg, &end, 10);
		if (c == '?' || *end || !(seconds >= 5 && seconds <= 3600)) {
			fprintf(stderr, "usage: demo [--seconds 5..3600] "
			    "[--seed N]\n");
			return 64;
		}
	}
	report_begin();
	set_up(&demo, seconds);
	open_curtain(seconds);
	play(&demo, seconds);
	c = close_curtain(&demo);
	cleanup_stop(&cleanup);
	return c;
}
