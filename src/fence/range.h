/* SPDX-License-Identifier: MIT */
/*
 * Ranges of tokens, claimed on disk once and for all: see range.c.
 *
 * Range n is the tokens from n << 32 on, as far as (n + 1) << 32.
 */
#ifndef LHI_RANGE_H
#define LHI_RANGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RANGE_PATH_MAX 400	/* of a directory of ranges */
#define FENCE_DIR_MAX 256u	/* bytes, with the NUL */
#define RANGE_FILE_LEN 512	/* one sector */
#define RANGE_KEEP 64		/* so many files stay */
#define RANGE_MAX ((UINT64_C(1) << 30) - 2)	/* tokens stay below 2^62 */

#define RANGE_BITS 32u		/* tokens of a range */

/* Tests make them small. */
#ifdef LHI_HOOKS
extern unsigned lhi_range_bits;
#else
#define lhi_range_bits RANGE_BITS
#endif

static inline uint64_t
lhi_range_width(void)
{
	return UINT64_C(1) << lhi_range_bits;
}

/* The first token of the range that ends at `end`, or one token before. */
static inline uint64_t
lhi_range_first(uint64_t end)
{
	return (end - 1) & ~(lhi_range_width() - 1);
}

/* That place of the range with that end at which `token` is in its own. */
static inline uint64_t
lhi_range_land(uint64_t token, uint64_t end)
{
	return lhi_range_first(end) + (token & (lhi_range_width() - 1));
}

/*
 * The system calls that change anything, so that tests can fail them one by
 * one, and write down what is done.  They answer as the kernel does: -1, errno.
 */
struct lhi_range_sys {
	int (*open)(int dir, const char *name, int flags, mode_t mode);
	ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t off);
	int (*fdatasync)(int fd);
	int (*link)(int dir, const char *from, const char *to);
	int (*fsync)(int fd);		/* of a directory */
	int (*unlink)(int dir, const char *name);
	int (*mkdir)(const char *path, mode_t mode);
	int (*rmdir)(const char *path);
	ssize_t (*getdents)(int fd, void *buf, size_t len);
};

#ifdef LHI_HOOKS
extern struct lhi_range_sys lhi_range_sys;
#else
extern const struct lhi_range_sys lhi_range_sys;
#endif

/* What a file says. */
struct lhi_range {
	uint64_t uuid[2];	/* of the table that claimed it */
	uint64_t n;
	uint64_t epoch_ms;	/* when; diagnostics */
};

/*
 * The directory of the ranges of the table whose object has that path, in the
 * fence directory.  0; -EINVAL, -ENAMETOOLONG: no such fence directory can be.
 */
int lhi_range_dir(char to[RANGE_PATH_MAX], const char *fence_dir,
    const char *object_path);

/*
 * Make that directory, and the `parents` ones above it, if they are not there.
 * For a group, whose members may claim then; (gid_t)-1: for the owner alone.
 * 0, -errno.
 */
int lhi_range_make_dir(const char *dir, gid_t group, unsigned parents);

/* Open it, if it may be trusted: a descriptor, and *mode for files in it; or
 * -errno with a detail. */
int lhi_range_open_dir(const char *dir, mode_t *mode);

/*
 * Claim a range of at_least that number, which nobody else has had or will
 * have, larger than every one that had been claimed when this was begun.  It
 * survives power loss.  0; -errno with a detail that names path and remedy:
 * nothing is claimed.
 */
int lhi_range_claim(const char *dir, const uint64_t uuid[2], uint64_t at_least,
    uint64_t *n);

/* What does the file of range n say?  0; -ENOENT: there is none; -EUCLEAN: it
 * is damaged; -errno.  With a detail. */
int lhi_range_read(const char *dir, uint64_t n, struct lhi_range *r);

/* The highest number there is; 0: none.  0, -errno with a detail. */
int lhi_range_highest(const char *dir, uint64_t *n);

#endif
