/* SPDX-License-Identifier: MIT */
/*
 * Measures tokens that survive a power failure: the pair in scope local, on a
 * table of its own with a fence file.  One side is like x_handle, with the
 * whole attachment in that scope; another has the scope in its options.  The
 * peer is the cost of putting each token on disk in the same directory: one
 * write and one fdatasync.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold.h>
#include "bench.h"

static struct lh *durable;
static struct lh_key *key;
static char dir[64], name[80];
static int fd = -1;
static int users, locals;	/* sides that are set up: all, ours */

/* On a disk, as /tmp may be memory. */
static const char *set_up_dir(void)
{
	if (users == 0) {
		(void)snprintf(dir, sizeof(dir),
		    "/var/tmp/leasehold-bench.XXXXXX");
		if (mkdtemp(dir) == NULL)
			return "/var/tmp cannot be written to";
	}
	users++;
	return NULL;
}

/* Gone when the last of them is done. */
static void tear_down_dir(void)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "rm -rf '%s'", dir);
	if (--users == 0 && system(path) != 0)
		bench_die("cannot remove %s", dir);
}

static const char *local_set_up(void)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	const char *missing = set_up_dir();

	if (missing != NULL || locals++ > 0)
		return missing;
	opts.flags = LH_ALL_LOCAL;
	opts.fence_dir = dir;
	opts.max_keys = 1024;
	(void)snprintf(name, sizeof(name), "%s.durable", bench.table);
	bench_need(lh_open(&durable, name, &opts), "lh_open, durable");
	bench_need(lh_key_open(durable, HOT_KEY, 0, &key), "key_open");
	return NULL;
}

static void local_run(uint64_t n)
{
	struct lh_lease lease;

	for (; n > 0; n--) {
		bench_need(lh_key_acquire(key, NULL, &lease), "acquire");
		bench_need(lh_release(durable, &lease), "release");
	}
}

static void local_opts_run(uint64_t n)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	opts.scope = LH_LOCAL;
	for (; n > 0; n--) {
		bench_need(lh_key_acquire(key, &opts, &lease), "acquire");
		bench_need(lh_release(durable, &lease), "release");
	}
}

static void local_tear_down(void)
{
	char floor[128];

	if (--locals == 0) {
		bench_need(lh_key_close(key), "key_close");
		bench_need(lh_close(durable), "lh_close");
		bench_need(lh_table_remove(name, 0), "lh_table_remove");
		(void)snprintf(floor, sizeof(floor),
		    "/dev/shm/leasehold.%u/%s.floor", (unsigned)geteuid(),
		    name);
		(void)unlink(floor);
	}
	tear_down_dir();
}

static const char *fdatasync_set_up(void)
{
	const char *missing = set_up_dir();
	char path[128];

	if (missing != NULL)
		return missing;
	(void)snprintf(path, sizeof(path), "%s/counter", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? "no file in /var/tmp" : NULL;
}

static void fdatasync_run(uint64_t n)
{
	static char block[512];

	for (; n > 0; n--) {
		memcpy(block, &n, sizeof(n));
		if (pwrite(fd, block, sizeof(block), 0) != sizeof(block) ||
		    fdatasync(fd) != 0)
			bench_die("cannot write: %s", strerror(errno));
	}
}

static void fdatasync_tear_down(void)
{
	(void)close(fd);
	fd = -1;
	tear_down_dir();
}

const struct side bench_local = {
	.name = "x_local", .set_up = local_set_up, .run = local_run,
	.tear_down = local_tear_down,
};

const struct side bench_local_opts = {
	.name = "x_local_opts", .set_up = local_set_up, .run = local_opts_run,
	.tear_down = local_tear_down,
};

const struct side bench_fdatasync = {
	.name = "fdatasync", .set_up = fdatasync_set_up, .run = fdatasync_run,
	.tear_down = fdatasync_tear_down,
};
