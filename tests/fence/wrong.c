/* SPDX-License-Identifier: MIT */
/* Wrong formats: see wrong.h.  They use the recorded calls, as range.c does. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/hash.h"
#include "fence/disk.h"
#include "fence/wrong.h"
#include "fence/range.h"

#define SYS	lhi_range_sys

/* Two sectors, the sum in the second. */
struct counter {
	uint64_t n;
	unsigned char zero[1008];
	uint64_t sum;
};

static int
open_dir(const char *dir)
{
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static uint64_t
read_counter(int dir, const char *name)
{
	struct counter c;
	int fd = openat(dir, name, O_RDONLY);
	ssize_t got;

	if (fd < 0)
		return 0;
	got = pread(fd, &c, sizeof(c), 0);
	close(fd);
	return got == sizeof(c) &&
	    c.sum == lhi_hash(&c, offsetof(struct counter, sum)) ? c.n : 0;
}

static bool
write_counter(int fd, uint64_t n)
{
	struct counter c = { .n = n };

	c.sum = lhi_hash(&c, offsetof(struct counter, sum));
	return SYS.pwrite(fd, &c, sizeof(c), 0) == sizeof(c);
}

/* One record with a checksum, overwritten and synced. */
static uint64_t
in_place(const char *path)
{
	int dir = open_dir(path);
	uint64_t n = read_counter(dir, "counter") + 1;
	int fd = SYS.open(dir, "counter", O_RDWR | O_CREAT, 0600);
	bool good = fd >= 0 && write_counter(fd, n) &&
	    SYS.fdatasync(fd) == 0 && SYS.fsync(dir) == 0;

	close(fd);
	close(dir);
	return good ? n : 0;
}

/* A new file over the old one; the file not synced, or the directory not. */
static uint64_t
renamed(const char *path, bool sync_file, bool sync_dir)
{
	int dir = open_dir(path);
	uint64_t n = read_counter(dir, "counter") + 1;
	int fd = SYS.open(dir, "fresh", O_RDWR | O_CREAT | O_TRUNC, 0600);
	bool good = fd >= 0 && write_counter(fd, n) &&
	    (!sync_file || SYS.fdatasync(fd) == 0) &&
	    disk_rename(dir, "fresh", "counter") == 0 &&
	    (!sync_dir || SYS.fsync(dir) == 0);

	close(fd);
	close(dir);
	return good ? n : 0;
}

static uint64_t
file_not_synced(const char *path)
{
	return renamed(path, false, true);
}

static uint64_t
rename_not_synced(const char *path)
{
	return renamed(path, true, false);
}

static uint64_t
highest(const char *path)
{
	uint64_t n, most = 0;
	struct dirent *e;
	DIR *d = opendir(path);

	while (d != NULL && (e = readdir(d)) != NULL) {
		n = strtoull(e->d_name, NULL, 10);
		most = n > most ? n : most;
	}
	if (d != NULL)
		closedir(d);
	return most;
}

/* The number is a name, as ours; but when is what synced? */
static uint64_t
linked(const char *path, bool sync_dir, bool prune_first)
{
	uint64_t n = highest(path) + 1;
	int dir = open_dir(path);
	int fd = SYS.open(dir, "fresh", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char name[24], old[24];
	bool good;

	snprintf(name, sizeof(name), "%llu", (unsigned long long)n);
	snprintf(old, sizeof(old), "%llu", (unsigned long long)n - 1);
	good = fd >= 0 && write_counter(fd, n) && SYS.fdatasync(fd) == 0 &&
	    SYS.link(dir, "fresh", name) == 0;
	if (good && prune_first)
		(void)SYS.unlink(dir, old);
	good = good && (!sync_dir || SYS.fsync(dir) == 0);
	(void)SYS.unlink(dir, "fresh");
	close(fd);
	close(dir);
	return good ? n : 0;
}

static uint64_t
link_not_synced(const char *path)
{
	return linked(path, false, false);
}

static uint64_t
pruned_too_soon(const char *path)
{
	return linked(path, true, true);
}

const struct wrong wrong_formats[] = {
	{ "one counter, updated in place", in_place },
	{ "renamed, the file not synced", file_not_synced },
	{ "renamed, the directory not synced", rename_not_synced },
	{ "linked, the directory not synced", link_not_synced },
	{ "pruned before the directory is synced", pruned_too_soon },
};

const unsigned n_wrong_formats =
    sizeof(wrong_formats) / sizeof(wrong_formats[0]);
