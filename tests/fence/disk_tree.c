/* SPDX-License-Identifier: MIT */
/* A disk that loses its power: see disk.h.  Here: images, as real files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "fence/disk_parts.h"
#include "tap.h"

static const struct entry *
find(const struct content *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->u.at[i].name, name) == 0)
			return &c->u.at[i];
	return NULL;
}

static void
remove_tree(int dir, const char *name)
{
	struct dirent *e;
	DIR *d;
	int fd;

	if (unlinkat(dir, name, 0) == 0)
		return;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_tree(fd, e->d_name);
	if (d != NULL)
		closedir(d);
	if (unlinkat(dir, name, AT_REMOVEDIR) != 0)
		bail_out("cannot remove %s: %s", name, strerror(errno));
}

void
disk_empty(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		remove_tree(AT_FDCWD, path);
	if (mkdir(path, 0700) != 0)
		bail_out("cannot make %s: %s", path, strerror(errno));
}

static void
write_file(int dir, const char *name, const struct content *c)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, c->u.bytes, c->n) != (ssize_t)c->n)
		bail_out("cannot write %s: %s", name, strerror(errno));
	close(fd);
}

/* Is it there, as it should be? */
static bool
same_file(int dir, const char *name, const struct content *c)
{
	unsigned char bytes[LEN + 1];
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, bytes, sizeof(bytes));
	close(fd);
	return got == (ssize_t)c->n && memcmp(bytes, c->u.bytes, c->n) == 0;
}

/* Make the directory what the image has, with as few changes as need be. */
static void
lay_out(int at, const struct disk_image *im, int node)
{
	const struct content *c = &im->content[node];
	const struct entry *want;
	struct dirent *e;
	DIR *d;
	int fd;

	d = fdopendir(dup(at));
	if (d == NULL)
		bail_out("cannot read the image: %s", strerror(errno));
	rewinddir(d);
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		want = find(c, e->d_name);
		if (want == NULL || im->is_dir[want->node] !=
		    (e->d_type == DT_DIR))
			remove_tree(at, e->d_name);
	}
	closedir(d);
	for (unsigned i = 0; i < c->n; i++) {
		want = &c->u.at[i];
		if (!im->is_dir[want->node]) {
			if (!same_file(at, want->name,
			    &im->content[want->node]))
				write_file(at, want->name,
				    &im->content[want->node]);
			continue;
		}
		(void)mkdirat(at, want->name, 0700);
		fd = openat(at, want->name, O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			bail_out("cannot make %s", want->name);
		lay_out(fd, im, want->node);
		close(fd);
	}
}

void
disk_lay_out(const char *root, const struct disk_image *im)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		bail_out("cannot open %s", root);
	lay_out(fd, im, 0);
	close(fd);
}

uint64_t
disk_digest(const struct disk_image *im, int node, uint64_t sum)
{
	const struct content *c = &im->content[node];

	sum ^= lhi_hash(&c->n, sizeof(c->n));
	if (!im->is_dir[node])
		return lhi_hash(c->u.bytes, c->n) ^ (sum * 31);
	for (unsigned i = 0; i < c->n; i++)
		sum = sum * 31 + disk_digest(im, c->u.at[i].node,
		    lhi_hash(c->u.at[i].name, strlen(c->u.at[i].name)));
	return sum;
}

static void
learn(int at, const struct disk_image *im, int node, ino_t inodes[NODES])
{
	const struct content *c = &im->content[node];
	struct stat st;
	int fd;

	for (unsigned i = 0; i < c->n; i++) {
		fd = openat(at, c->u.at[i].name, O_RDONLY | O_NOFOLLOW);
		if (fd < 0 || fstat(fd, &st) != 0)
			bail_out("%s is gone", c->u.at[i].name);
		inodes[c->u.at[i].node] = st.st_ino;
		if (im->is_dir[c->u.at[i].node])
			learn(fd, im, c->u.at[i].node, inodes);
		close(fd);
	}
}

void
disk_learn(const char *root, const struct disk_image *im, ino_t inodes[NODES])
{
	int fd = open(root, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		bail_out("cannot open %s", root);
	learn(fd, im, 0, inodes);
	close(fd);
}

static size_t
tell(const struct disk_image *im, int node, char *to, size_t len)
{
	const struct content *c = &im->content[node];
	size_t at = 0;

	for (unsigned i = 0; i < c->n && at + 64 < len; i++) {
		const struct entry *e = &c->u.at[i];

		at += (size_t)snprintf(to + at, len - at, "%s%s", i ? " " : "",
		    e->name);
		if (im->is_dir[e->node]) {
			at += (size_t)snprintf(to + at, len - at, "/{");
			at += tell(im, e->node, to + at, len - at);
			at += (size_t)snprintf(to + at, len - at, "}");
		} else {
			at += (size_t)snprintf(to + at, len - at, ":%u",
			    im->content[e->node].n);
		}
	}
	return at;
}

const char *
disk_tell(const struct disk_image *image)
{
	static char line[1024];

	line[0] = '\0';
	(void)tell(image, 0, line, sizeof(line));
	return line;
}
