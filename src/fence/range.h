/* SPDX-License-Identifier: MIT */
/*
 * Ranges of tokens that are claimed on disk: see range.c.  durable.c,
 * op/token_ceiling.c and the offline checks call it.
 *
 * Range n contains the tokens from n << 32 up to, not including, (n + 1) << 32.
 */
#ifndef LHI_RANGE_H
#define LHI_RANGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RANGE_PATH_MAX 400	/* path of a directory of ranges */
#define FENCE_DIR_MAX 256u	/* bytes, including the NUL */
#define RANGE_FILE_LEN 512	/* one sector */
#define RANGE_KEEP 64		/* files that are kept */
#define RANGE_MAX ((UINT64_C(1) << 30) - 2)	/* tokens stay below 2^62 */

#define RANGE_BITS 32u		/* a range has 2^32 tokens */

/* Tests use smaller ranges. */
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

/* Returns the first token of the range that ends at `end`, or one token before
 * it. */
static inline uint64_t
lhi_range_first(uint64_t end)
{
	return (end - 1) & ~(lhi_range_width() - 1);
}

/* Returns the token in the range with that end that has the same position as
 * `token` has in its own range. */
static inline uint64_t
lhi_range_land(uint64_t token, uint64_t end)
{
	return lhi_range_first(end) + (token & (lhi_range_width() - 1));
}

/* The system calls that range.c makes, so that tests can fail and record each
 * of them.  They return what the kernel returns: -1 with errno on failure. */
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

/* The content of a range's file. */
struct lhi_range {
	uint64_t uuid[2];	/* of the table that claimed it */
	uint64_t n;
	uint64_t epoch_ms;	/* when it was claimed; for diagnostics only */
};

/* Writes the path of the directory that holds the ranges of the table at
 * object_path.  Returns 0, or -EINVAL or -ENAMETOOLONG if fence_dir cannot be a
 * fence directory. */
int lhi_range_dir(char to[RANGE_PATH_MAX], const char *fence_dir,
    const char *object_path);

/* Makes the directory and up to `parents` directories above it, if they are
 * missing.  `group`: the group whose members may claim ranges, or (gid_t)-1 for
 * the owner only.  Returns 0 or -errno. */
int lhi_range_make_dir(const char *dir, gid_t group, unsigned parents);

/* Opens the directory, if it can be trusted.  Returns a descriptor and sets
 * *mode to the mode of files in it; or returns -errno with a detail. */
int lhi_range_open_dir(const char *dir, mode_t *mode);

/*
 * Claims a range with a number of at_least or more that nobody else has had or
 * will have.  It is larger than every range that was claimed before this call
 * began, and survives a power loss.  Returns 0; or -errno with a detail that
 * names path and remedy, and claims nothing.
 */
int lhi_range_claim(const char *dir, const uint64_t uuid[2], uint64_t at_least,
    uint64_t *n);

/* Returns 0 if a range can be claimed in the directory now.  It claims none: it
 * writes and syncs a temporary file, and removes it.  Otherwise returns -errno
 * with the detail of lhi_range_claim(). */
int lhi_range_try(const char *dir);

/* Returns 0 if this process may write in the directory, as far as permissions
 * and mount say: it writes nothing, and does not see that a disk is full.
 * Otherwise returns -errno with a detail that names path and remedy. */
int lhi_range_may_write(const char *dir);

/* Reads the file of range n.  Returns 0; -ENOENT (no such file), -EUCLEAN
 * (damaged) or another -errno, with a detail. */
int lhi_range_read(const char *dir, uint64_t n, struct lhi_range *r);

/* Sets *n to the highest number of a range, or 0 if there is none.  Returns 0,
 * or -errno with a detail. */
int lhi_range_highest(const char *dir, uint64_t *n);

#endif
