/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the replayer: disk.c, disk_play.c, disk_tree.c. */
#ifndef TESTS_FENCE_DISK_PARTS_H
#define TESTS_FENCE_DISK_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "fence/disk.h"
#include "fence/range.h"

#define NAME	48
#define SECTOR	512
#define LEN	1024		/* of a file, at most */
#define NODES	256
#define ENTRIES	96
#define CHANGES	16		/* not synced, of one node */
#define CALLS	512

enum what { MAKE, WRITE, LINK, UNLINK, RENAME, SYNC, FAILED_SYNC, MARK };

struct call {
	enum what what;
	int dir, node;		/* in which, about which */
	bool is_dir;		/* MAKE: a directory */
	char name[NAME], to[NAME];
	unsigned off, len;
	uint64_t n;
	unsigned char data[LEN];
};

struct entry {
	char name[NAME];
	int node;
};

/* The content of a directory or file. */
struct content {
	unsigned n;		/* entries, or bytes */
	union {
		struct entry at[ENTRIES];
		unsigned char bytes[LEN];
	} u;
};

struct disk_image {
	unsigned n;		/* nodes */
	bool is_dir[NODES];
	unsigned chosen[NODES];	/* bit i: change i got through */
	struct content content[NODES];
};

/* the recording: disk.c */
extern struct call disk_call[CALLS];
extern unsigned disk_n_calls, disk_n_nodes;
extern struct disk_image *disk_beginning;
extern struct lhi_range_sys disk_real;

/* Forget which images were looked at: disk_play.c. */
void disk_forget(void);

/* disk_tree.c: make the directory what the image has; the same, empty; tell
 * one image from another; say which inode each node has. */
void disk_lay_out(const char *root, const struct disk_image *im);
void disk_empty(const char *path);
uint64_t disk_digest(const struct disk_image *im, int node, uint64_t sum);
void disk_learn(const char *root, const struct disk_image *im,
    ino_t inodes[NODES]);

#endif
