/* SPDX-License-Identifier: MIT */
/*
 * Claims ranges of tokens on disk.  It answers the question: which tokens has
 * nobody ever had?  durable.c and op/token_ceiling.c call it.
 *
 * Each name of a table has a directory, with one file for each claimed range.
 * The file's name is the range's number in decimal, and these numbers are the
 * counter.  The content (fence/range_file.def) only says for people and for
 * fsck which table claimed the range, and when.  So a torn, empty or
 * overwritten file still counts.
 *
 * A claim takes no lock, so a claimant that was stopped or killed blocks nobody
 * (amendment C14):
 *
 * 1. Scan the directory for the highest number h.
 * 2. Write a temporary file completely; fdatasync it.
 * 3. Link it to n = max(at_least, h + 1); if that exists, to the next number.
 * 4. fsync the directory.
 * 5. Unlink the temporary file.
 * 6. Scan again.  If RANGE_KEEP files are above n, n may have been used and
 *    pruned while this process slept: the number is burnt, and the claim
 *    restarts at step 1.
 * 7. Prune: unlink every file that has RANGE_KEEP files above it (so it is
 *    below n, which is synced), and temporary files older than an hour.
 *
 * Invariants of ranges (I1 to I3).
 *
 * I1	A number is returned to at most one claimant.  link() gives a name to
 *	only one.  The name can be given again only after it was pruned, so when
 *	RANGE_KEEP files are above it.  The files above do not become fewer,
 *	because the highest RANGE_KEEP files are never pruned.  Step 6 sees
 *	them.
 * I2	A returned number is on disk, and larger than every number returned
 *	before step 1.  One getdents() reads a directory of this size
 *	completely, under the lock that link() and unlink() take, so a scan
 *	misses nothing.  (It continues while there are more files.)
 * I3	After a power loss, the highest number on disk is not below any returned
 *	number.  Each was synced (step 4) before it was returned, and pruned
 *	files (step 7) are below one that was synced.
 *
 * A crash (K) or stop (Z) of the claimant after step
 *
 *	1, 2	K: leaves a temporary file, which is pruned after an hour
 *	3	K: the number is burnt, whether it is on disk or not.  Z: others
 *		claim higher numbers
 *	4, 5	as after 3
 *	6, 7	as if the number had been returned and never used
 *
 * A power loss is a crash of every process.  Unsynced changes may be on disk or
 * not; a number that is there is burnt, whatever its file contains.
 *
 * Errors.  After an error of fdatasync or fsync, the state of the disk is
 * unknown, and repeating the call may report success although data was lost.
 * So the file and the number are given up, and everything is repeated with the
 * next number, twice at most.
 *
 * range_dir.c decides whether the directory can be trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/hash.h"
#include "prim/descriptor.h"
#include "prim/shared.h"
#include "fence/range.h"

#define MAGIC		UINT64_C(0x0065676e6172686c)	/* "lhrange" */
#define FORMAT		1u
#define TEMPORARY	"new."		/* followed by 16 digits */
#define NAME_LEN	32
#define OLD_SEC		3600
#define LINK_TRIES	1000	/* each failure is another process's claim */
#define ROUNDS		20	/* claims that may be burnt in step 6 */
#define SYNC_TRIES	3
#define DENTS_LEN	32768
#define DENTS_CALLS	1000

#define LAYOUT "fence/range_file.def"
#include "base/declare_layout.h"
#undef LAYOUT

_Static_assert(sizeof(struct range_file) == RANGE_FILE_LEN, "a range's file");

/* A claim in progress. */
struct claim {
	const char *dir;
	const uint64_t *uuid;
	int fd;			/* of the directory */
	mode_t mode;		/* of files in it */
	char temporary[NAME_LEN];
};

/* The highest numbers in the directory, in descending order. */
struct scan {
	uint64_t top[RANGE_KEEP];
	unsigned n;
	bool more;		/* there are files to prune */
};

static void
note_number(struct scan *s, uint64_t n)
{
	unsigned i = s->n;

	if (i == RANGE_KEEP) {
		s->more = true;
		if (n <= s->top[--i])
			return;
	} else {
		s->n++;
	}
	for (; i > 0 && s->top[i - 1] < n; i--)
		s->top[i] = s->top[i - 1];
	s->top[i] = n;
}

/* Returns the number that the file's name is, or 0 if it is no number. */
static uint64_t
number_of_name(const char *name)
{
	size_t len = strspn(name, "0123456789");
	uint64_t n;

	if (len == 0 || len > 10 || name[len] != '\0' || name[0] == '0')
		return 0;
	n = strtoull(name, NULL, 10);
	return n <= RANGE_MAX ? n : 0;
}

static bool
is_temporary(const char *name)
{
	return strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
}

struct dent {			/* the kernel's directory entry */
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

/* Calls fn for each name in the directory. */
static int
for_each_name(const struct claim *c,
    void (*fn)(const struct claim *c, const char *name, struct scan *s),
    struct scan *s)
{
	union {
		struct dent d;
		char bytes[DENTS_LEN];
	} u;
	ssize_t got = -1;

	if (lseek(c->fd, 0, SEEK_SET) != 0)
		return lhi_fail(-errno, "cannot read the directory %s: %s",
		    c->dir, strerror(errno));
	for (int calls = 0; calls < DENTS_CALLS; calls++) {
		got = lhi_range_sys.getdents(c->fd, u.bytes, sizeof(u.bytes));
		if (got == 0)
			return 0;
		if (got < 0)
			return lhi_fail(-errno, "cannot read the directory of "
			    "token ranges, %s: %s", c->dir, strerror(errno));
		for (ssize_t at = 0; at < got;) {
			const struct dent *d = (void *)(u.bytes + at);

			fn(c, d->name, s);
			at += d->len;
		}
	}
	return lhi_fail(-EIO, "there are too many files in the directory of "
	    "token ranges, %s; remove files whose names are not numbers",
	    c->dir);
}

static void
scan_name(const struct claim *c, const char *name, struct scan *s)
{
	uint64_t n = number_of_name(name);

	if (n != 0)
		note_number(s, n);
	else if (is_temporary(name))
		s->more = true;
}

static int
scan_dir(const struct claim *c, struct scan *s)
{
	s->n = 0;
	s->more = false;
	return for_each_name(c, scan_name, s);
}

/* Step 7: unlinks the file if it is to be pruned. */
static void
prune_name(const struct claim *c, const char *name, struct scan *s)
{
	uint64_t n = number_of_name(name);
	struct stat st;

	if (n != 0 ? s->n == RANGE_KEEP && n < s->top[RANGE_KEEP - 1] :
	    is_temporary(name) &&
	    fstatat(c->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    time(NULL) - st.st_mtime > OLD_SEC)
		(void)lhi_range_sys.unlink(c->fd, name);
}

static int
open_claim_dir(struct claim *c)
{
	c->fd = lhi_range_open_dir(c->dir, &c->mode);
	return c->fd < 0 ? c->fd : 0;
}

static int
report_write_error(const struct claim *c, const char *what, int error)
{
	const char *remedy = "check the disk, or use another fence directory";

	switch (error) {
	case ENOSPC:
	case EDQUOT:
		remedy = "free some space";
		break;
	case EROFS:
		remedy = "mount it writable";
		break;
	case EACCES:
	case EPERM:
		remedy = "give this user write permission";
		break;
	case ENOENT:
		remedy = "the directory was removed; create it again";
		break;
	}
	return lhi_fail(-error, "cannot claim a range of tokens in %s: %s: %s; "
	    "%s", c->dir, what, strerror(error), remedy);
}

/* Writes the content of the temporary file. */
static int
write_content(const struct claim *c, int fd, uint64_t n)
{
	struct range_file b = { .magic = MAGIC, .format = FORMAT,
	    .len = sizeof(b), .uuid = { c->uuid[0], c->uuid[1] }, .n = n };
	struct timespec wall;
	struct rlimit most;
	ssize_t put;

	(void)clock_gettime(CLOCK_REALTIME, &wall);
	b.epoch_ms = (uint64_t)(lhi_timespec_ns(&wall) / NS_PER_MS);
	b.sum = lhi_hash(&b, offsetof(struct range_file, sum));
	/* a write beyond the limit would raise SIGXFSZ */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(b))
		return lhi_fail(-EFBIG, "cannot claim a range of tokens in %s: "
		    "this process may only write files of up to %llu bytes; "
		    "raise that limit (ulimit -f)", c->dir,
		    (unsigned long long)most.rlim_cur);
	put = lhi_range_sys.pwrite(fd, &b, sizeof(b), 0);
	if (put < 0)
		return report_write_error(c, "cannot write", errno);
	if (put != (ssize_t)sizeof(b))
		return lhi_fail(-EIO, "cannot claim a range of tokens in %s: "
		    "only %zd of %zu bytes were written; check the disk and "
		    "free some space", c->dir, put, sizeof(b));
	if (c->mode & S_IRGRP)
		(void)fchmod(fd, c->mode);	/* whatever the umask is */
	return 0;
}

enum { AGAIN = 1 };	/* with the next number: the disk may have failed */

/* Step 2: writes the temporary file. */
static int
write_temporary(struct claim *c, uint64_t n)
{
	unsigned long long name;
	int fd, error = lhi_random_fill(&name, sizeof(name));

	if (error != 0)
		return error;
	(void)snprintf(c->temporary, sizeof(c->temporary), TEMPORARY "%016llx",
	    name);
	fd = lhi_range_sys.open(c->fd, c->temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, c->mode);
	if (fd < 0)
		return report_write_error(c, "cannot create a file", errno);
	lhi_point("range.made");
	error = write_content(c, fd, n);
	lhi_point("range.written");
	if (error == 0 && lhi_range_sys.fdatasync(fd) != 0 &&
	    !lhi_mutant_on(unsynced)) {
		(void)report_write_error(c, "cannot sync a file", errno);
		error = AGAIN;
	}
	(void)close(fd);
	lhi_point("range.synced");
	return error;
}

static int
report_used_up(const struct claim *c)
{
	return lhi_fail(-ENOSPC, "all range numbers in %s are used up; use "
	    "another table name or fence directory", c->dir);
}

/* Steps 3 and 4: links the temporary file to *n or a higher number. */
static int
link_number(const struct claim *c, uint64_t *n)
{
	char name[NAME_LEN];

	for (int i = 0; i < LINK_TRIES; i++, ++*n) {
		if (*n > RANGE_MAX)
			return report_used_up(c);
		(void)snprintf(name, sizeof(name), "%llu",
		    (unsigned long long)*n);
		if (lhi_range_sys.link(c->fd, c->temporary, name) != 0) {
			if (errno == EEXIST && !lhi_mutant_on(range_shared))
				continue;
			if (errno == EEXIST)	/* the mutant uses that file */
				return 0;
			return report_write_error(c, "cannot link a file",
			    errno);
		}
		lhi_point("range.linked");
		if (lhi_range_sys.fsync(c->fd) == 0)
			return 0;
		(void)report_write_error(c, "cannot sync the directory", errno);
		return AGAIN;
	}
	return lhi_fail(-EIO, "cannot claim a range of tokens in %s: other "
	    "processes were faster %d times; check whether a process claims "
	    "ranges in a loop", c->dir, LINK_TRIES);
}

/* Steps 2 to 5, with *n or a higher number.  AGAIN: *n is burnt. */
static int
claim_number(struct claim *c, uint64_t *n)
{
	int error = write_temporary(c, *n);

	if (error == 0)
		error = link_number(c, n);
	lhi_point("range.dir_synced");
	(void)lhi_range_sys.unlink(c->fd, c->temporary);
	lhi_point("range.unlinked");
	return error;
}

static int
claim_free_number(struct claim *c, uint64_t least, uint64_t *out)
{
	int faults = 0, error;
	struct scan s;

	for (int round = 0; round < ROUNDS; round++) {
		error = scan_dir(c, &s);
		if (error != 0)
			return error;
		if (s.n > 0 && least <= s.top[0])
			least = s.top[0] + 1;
		if (least > RANGE_MAX)
			return report_used_up(c);
		lhi_point("range.scanned");
		error = claim_number(c, &least);
		if (error == AGAIN) {
			if (++faults == SYNC_TRIES)
				return -EIO;	/* the reason was reported */
			least++;
			continue;
		}
		if (error == 0)
			error = scan_dir(c, &s);
		if (error != 0)
			return error;
		if (s.n == RANGE_KEEP && s.top[RANGE_KEEP - 1] > least)
			continue;	/* it may have been pruned: burnt */
		lhi_point("range.confirmed");
		if (s.more)
			(void)for_each_name(c, prune_name, &s);
		lhi_point("range.pruned");
		*out = least;
		return 0;
	}
	return lhi_fail(-EIO, "cannot claim a range of tokens in %s: in %d "
	    "attempts, %d other claims were faster each time; check whether a "
	    "process claims ranges in a loop", c->dir, ROUNDS, RANGE_KEEP);
}

int
lhi_range_claim(const char *dir, const uint64_t uuid[2], uint64_t at_least,
    uint64_t *n)
{
	struct claim c = { .dir = dir, .uuid = uuid };
	int saved = errno, error = open_claim_dir(&c);

	if (error == 0) {
		error = claim_free_number(&c, at_least > 0 ? at_least : 1, n);
		(void)close(c.fd);
	}
	errno = saved;
	return error;
}

int
lhi_range_try(const char *dir)
{
	struct claim c = { .dir = dir, .uuid = (const uint64_t[2]){ 0 } };
	int saved = errno, error = open_claim_dir(&c);

	if (error == 0) {
		error = write_temporary(&c, 0);
		(void)lhi_range_sys.unlink(c.fd, c.temporary);
		(void)close(c.fd);
	}
	errno = saved;
	return error == AGAIN ? -EIO : error;
}

int
lhi_range_highest(const char *dir, uint64_t *n)
{
	struct claim c = { .dir = dir };
	int saved = errno, error = open_claim_dir(&c);
	struct scan s;

	if (error == 0) {
		error = scan_dir(&c, &s);
		(void)close(c.fd);
		if (error == 0)
			*n = s.n > 0 ? s.top[0] : 0;
	}
	errno = saved;
	return error;
}

/* Reads the file into *b.  Returns the number of bytes, or -errno. */
static ssize_t
read_block(int dir, const char *name, struct range_file *b)
{
	int fd = lhi_fd_openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return errno == ELOOP ? 0 : -errno;
	got = fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ? 0 :
	    pread(fd, b, sizeof(*b), 0);
	if (got < 0)
		got = -errno;
	(void)close(fd);
	return got;
}

int
lhi_range_read(const char *dir, uint64_t n, struct lhi_range *r)
{
	struct claim c = { .dir = dir };
	int saved = errno, error = open_claim_dir(&c);
	char name[NAME_LEN];
	struct range_file b;
	ssize_t got;

	if (error != 0) {
		errno = saved;
		return error;
	}
	(void)snprintf(name, sizeof(name), "%llu", (unsigned long long)n);
	got = read_block(c.fd, name, &b);
	(void)close(c.fd);
	errno = saved;
	if (got < 0)
		return lhi_fail((int)got, "cannot read the claimed token range "
		    "%s/%s: %s", dir, name,
		    strerror((int)-got));
	if (got != (ssize_t)sizeof(b) || b.magic != MAGIC ||
	    b.format != FORMAT || b.len != sizeof(b) || b.n != n ||
	    b.sum != lhi_hash(&b, offsetof(struct range_file, sum)))
		return lhi_fail(-EUCLEAN, "the token range %s/%s is damaged; "
		    "its number stays used, and the table will claim another "
		    "range", dir, name);
	*r = (struct lhi_range){ { b.uuid[0], b.uuid[1] }, b.n, b.epoch_ms };
	return 0;
}
