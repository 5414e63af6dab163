/* SPDX-License-Identifier: MIT */
/*
 * Hosts of a cluster, for the group "cluster": each is a table and a
 * leasehold-shimd, as it is installed, with nothing configured but where things
 * are.  The daemon is $LEASEHOLD_SHIMD, or else lies where make leaves it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold.h>

#include "etcd.h"

#define PATIENCE_MS 20000

static struct host {
	char table[sizeof(bench.table) + 16];
	int pid;
} hosts[HOSTS];

static unsigned int n_begun;

const char *hosts_table(unsigned int i)
{
	return hosts[i].table;
}

static void exec_shim(const struct host *h)
{
	const char *named = getenv("LEASEHOLD_SHIMD");
	char path[256] = "", dir[256];
	ssize_t n;
	int fd;

	n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	if (n > 0 && strrchr(path, '/'))
		strcpy(strrchr(path, '/'), "/../leasehold-shimd");
	snprintf(dir, sizeof(dir), "%s/%s", bench.scratch, h->table);
	mkdir(dir, 0700);
	setenv("RUNTIME_DIRECTORY", dir, 1);
	setenv("STATE_DIRECTORY", dir, 1);
	setenv("LEASEHOLD_SHIMD_ENDPOINTS", etcd_urls(-1), 1);
	strncat(dir, "/log", sizeof(dir) - strlen(dir) - 1);
	fd = open(dir, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, STDERR_FILENO);
	execl(named ? named : path, "leasehold-shimd", "-f", "-c", "/dev/null",
	    "-t", h->table, (char *)NULL);
	_exit(127);
}

/* Waits until a key of the cluster can be acquired. */
static void await_session(const struct host *h, struct lh *lh)
{
	uint64_t end = bench_clock_ns() + PATIENCE_MS * UINT64_C(1000000);
	struct lh_lease lease;
	char key[192];
	int error;

	snprintf(key, sizeof(key), "cluster:session/%s", h->table);
	while ((error = lh_acquire(lh, key, NULL, &lease)) == -EHOSTUNREACH) {
		if (bench_clock_ns() > end || kill(h->pid, 0) < 0 ||
		    waitpid(h->pid, NULL, WNOHANG) != 0)
			bench_die("a shim has no session: %s",
			    lh_error_detail());
		bench_sleep_us(20000);
	}
	bench_need(error, "acquire, cluster key");
	bench_need(lh_release(lh, &lease), "release");
}

void hosts_begin(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	struct lh *lh;
	struct host *h;

	opts.max_keys = 100000;
	n_begun++;
	for (h = hosts; h < hosts + HOSTS; h++) {
		snprintf(h->table, sizeof(h->table), "%s.host%u-%u",
		    bench.table, n_begun, (unsigned int)(h - hosts));
		bench_need(lh_open(&lh, h->table, &opts), "lh_open");
		h->pid = bench_fork();
		if (h->pid == 0)
			exec_shim(h);
		await_session(h, lh);
		bench_need(lh_close(lh), "lh_close");
	}
}

void hosts_end(void)
{
	struct host *h;

	for (h = hosts; h < hosts + HOSTS; h++) {
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
	}
}
