/* SPDX-License-Identifier: MIT */
/*
 * Measures a cluster key that this host already has the right to.  The pair
 * includes the check of that right.  Another process does the work of the shim
 * for such a key (lender/), and sometimes takes the key to renew its tokens.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <leasehold.h>
#include "bench.h"

#define KEY "cluster:bench/the-hot-key"

static struct lh *lh;
static struct lh_key *key;
static pid_t lender;
static unsigned int users;	/* both sides have one table */
static char name[80];

/* Beside our own program. */
static void run_lender(int out)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *end;

	if (n > 0) {
		path[n] = '\0';
		end = strrchr(path, '/');
		(void)strcpy(end, "/lender/lender");
		(void)dup2(out, STDOUT_FILENO);
		(void)execl(path, path, name, KEY, (char *)NULL);
	}
	_exit(127);
}

static const char *set_up(void)
{
	char ready[6];
	int out[2];

	if (users++ > 0)
		return NULL;
	(void)snprintf(name, sizeof(name), "%s.delegated", bench.table);
	bench_need(lh_open(&lh, name, NULL), "lh_open, delegated");
	if (pipe(out) != 0)
		return "no pipe";
	lender = fork();
	if (lender == 0)
		run_lender(out[1]);
	(void)close(out[1]);
	if (lender < 0 || read(out[0], ready, sizeof(ready)) != 6)
		return "its lender does not run";
	(void)close(out[0]);
	bench_need(lh_key_open(lh, KEY, 0, &key), "key_open");
	return NULL;
}

static void run(uint64_t n)
{
	struct lh_lease lease;
	int error;

	for (; n > 0; n--) {
		/* the lender may be late with new tokens */
		while ((error = lh_key_acquire(key, NULL, &lease)) ==
		    -EHOSTUNREACH)
			bench_sleep_us(100);
		bench_need(error, "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void run_by_name(uint64_t n)
{
	struct lh_lease lease;
	int error;

	for (; n > 0; n--) {
		while ((error = lh_acquire(lh, KEY, NULL, &lease)) ==
		    -EHOSTUNREACH)
			bench_sleep_us(100);
		bench_need(error, "acquire");
		bench_need(lh_release(lh, &lease), "release");
	}
}

static void tear_down(void)
{
	if (--users > 0)
		return;
	bench_need(lh_key_close(key), "key_close");
	bench_need(lh_close(lh), "lh_close");
	(void)kill(lender, SIGKILL);
	(void)waitpid(lender, NULL, 0);
	bench_need(lh_table_remove(name, 0), "lh_table_remove");
}

const struct side bench_delegated = {
	.name = "x_delegated", .set_up = set_up, .run = run,
	.tear_down = tear_down,
};

const struct side bench_name_delegated = {
	.name = "x_name_delegated", .set_up = set_up, .run = run_by_name,
	.tear_down = tear_down,
};
