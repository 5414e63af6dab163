/* SPDX-License-Identifier: MIT */
/*
 * A disk that loses its power: see disk.h.  Here: the recording.
 *
 * Nodes are files and directories, numbered as they were made; 0 is the root.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fence/disk_parts.h"
#include "tap.h"

struct call disk_call[CALLS];
unsigned disk_n_calls, disk_n_nodes;
struct disk_image *disk_beginning;
struct lhi_range_sys disk_real;

static ino_t inodes[NODES];
static int fail_at;
static void (*before)(void);

static int
node_of(const struct stat *st)
{
	/* from the last: inode numbers come back */
	for (int i = (int)disk_n_nodes - 1; i >= 0; i--)
		if (inodes[i] == st->st_ino)
			return i;
	return -1;
}

static int
node_fd(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? node_of(&st) : -1;
}

static int
node_at(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ?
	    node_of(&st) : -1;
}

static int
new_node(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    disk_n_nodes == NODES)
		bail_out("the replayer has no room for %s", name);
	inodes[disk_n_nodes] = st.st_ino;
	return (int)disk_n_nodes++;
}

/* NULL: what is done there is not ours. */
static struct call *
record(enum what what, int dir, int node, const char *name)
{
	struct call *c = &disk_call[disk_n_calls];

	if (dir < 0 && node < 0)
		return NULL;
	if (disk_n_calls == CALLS || (name != NULL && strlen(name) >= NAME))
		bail_out("the replayer has no room for more calls");
	memset(c, 0, sizeof(*c));
	c->what = what;
	c->dir = dir;
	c->node = node;
	if (name != NULL)
		snprintf(c->name, sizeof(c->name), "%s", name);
	disk_n_calls++;
	return c;
}

static void
turn(void)
{
	if (before != NULL)
		before();
}

static int
my_open(int dir, const char *name, int flags, mode_t mode)
{
	int fd, there;

	turn();
	there = node_at(dir, name);
	fd = disk_real.open(dir, name, flags, mode);
	if (fd >= 0 && (flags & O_CREAT) && there < 0)
		record(MAKE, node_fd(dir), new_node(dir, name), name);
	return fd;
}

static ssize_t
my_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	struct call *c;
	ssize_t put;

	turn();
	put = disk_real.pwrite(fd, buf, len, off);
	c = put <= 0 ? NULL : record(WRITE, -1, node_fd(fd), NULL);
	if (c != NULL) {
		if (off + put > LEN)
			bail_out("a file of the replayer is too long");
		c->off = (unsigned)off;
		c->len = (unsigned)put;
		memcpy(c->data, buf, (size_t)put);
	}
	return put;
}

static int
sync_fd(int fd)
{
	bool fails;

	turn();
	fails = fail_at > 0 && --fail_at == 0;
	record(fails ? FAILED_SYNC : SYNC, -1, node_fd(fd), NULL);
	if (fails)
		errno = EIO;
	return fails ? -1 : 0;
}

static int
my_link(int dir, const char *from, const char *to)
{
	int result;

	turn();
	result = disk_real.link(dir, from, to);
	if (result == 0)
		record(LINK, node_fd(dir), node_at(dir, to), to);
	return result;
}

static int
my_unlink(int dir, const char *name)
{
	int result, node;

	turn();
	node = node_at(dir, name);
	result = disk_real.unlink(dir, name);
	if (result == 0)
		record(UNLINK, node_fd(dir), node, name);
	return result;
}

static int
my_mkdir(const char *path, mode_t mode)
{
	char parent[RANGE_PATH_MAX];
	struct stat st;
	int result;
	char *slash;

	turn();
	result = disk_real.mkdir(path, mode);
	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	*slash = '\0';
	if (result == 0 && stat(parent, &st) == 0 && node_of(&st) >= 0)
		record(MAKE, node_of(&st), new_node(AT_FDCWD, path),
		    slash + 1)->is_dir = true;
	return result;
}

static int
my_rmdir(const char *path)
{
	char parent[RANGE_PATH_MAX];
	struct stat st, is;
	int result;
	char *slash;

	turn();
	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	*slash = '\0';
	if (stat(parent, &st) != 0 || stat(path, &is) != 0)
		return disk_real.rmdir(path);
	result = disk_real.rmdir(path);
	if (result == 0)
		record(UNLINK, node_of(&st), node_of(&is), slash + 1);
	return result;
}

static ssize_t
my_getdents(int fd, void *buf, size_t len)
{
	turn();
	return disk_real.getdents(fd, buf, len);
}

int
disk_rename(int dir, const char *from, const char *to)
{
	int result, node;
	struct call *c;

	turn();
	node = node_at(dir, from);
	result = renameat(dir, from, dir, to);
	c = result == 0 ? record(RENAME, node_fd(dir), node, from) : NULL;
	if (c != NULL)
		snprintf(c->to, sizeof(c->to), "%s", to);
	return result;
}

void
disk_install(void (*fn)(void))
{
	static bool done_before;

	if (!done_before)
		disk_real = lhi_range_sys;
	done_before = true;
	before = fn;
	lhi_range_sys = (struct lhi_range_sys){ my_open, my_pwrite, sync_fd,
		my_link, sync_fd, my_unlink, my_mkdir, my_rmdir, my_getdents };
}

void
disk_mark(uint64_t n)
{
	record(MARK, 0, 0, NULL)->n = n;
}

void
disk_fail_sync(int nth)
{
	fail_at = nth;
}

unsigned
disk_calls(void)
{
	return disk_n_calls;
}

void
disk_begin_from(const char *root, const struct disk_image *from)
{
	struct stat st;

	disk_empty(root);
	free(disk_beginning);
	disk_beginning = from == NULL ? NULL : disk_keep(from);
	disk_n_calls = 0;
	disk_forget();
	fail_at = 0;
	memset(inodes, 0, sizeof(inodes));
	disk_n_nodes = from == NULL ? 1 : from->n;
	if (stat(root, &st) != 0)
		bail_out("cannot look at %s", root);
	inodes[0] = st.st_ino;
	if (from != NULL) {
		disk_lay_out(root, from);
		disk_learn(root, from, inodes);
	}
}

void
disk_begin(const char *root)
{
	disk_begin_from(root, NULL);
}

struct disk_image *
disk_keep(const struct disk_image *image)
{
	struct disk_image *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		bail_out("no memory");
	memcpy(copy, image, sizeof(*copy));
	return copy;
}
