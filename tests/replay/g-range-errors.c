/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, crash rows F1 and F2: the disk fails at each call that a claim
 * of a range makes (src/fence/range.c), once or for ever.  The claim must
 * return the right error, and must never use a number whose sync failed; the
 * next claim must work, and leave no temporary file.
 *
 * Otherwise a token could come from a range that is not on disk, and be given
 * again after a power loss.
 */
#include <dirent.h>
#include "replay.h"
#include "behaviour/fence.h"
#include "fence/range.h"

enum call { OPEN, WRITE, DATASYNC, LINK, SYNC, UNLINK, DENTS, N_CALLS };

static struct lhi_range_sys real;
static enum call failing = N_CALLS;
static int fail_from, fail_times, with, seen[N_CALLS];
static bool torn;		/* the write is a short one */
static uint64_t linked;		/* the last number that was linked */
static uint64_t burnt[16];	/* numbers whose sync failed */
static int n_burnt;

static bool
fails(enum call c)
{
	int n = seen[c]++;

	if (c != failing || n < fail_from || n >= fail_from + fail_times)
		return false;
	errno = with;
	return true;
}

static int
f_open(int dir, const char *name, int flags, mode_t mode)
{
	return fails(OPEN) ? -1 : real.open(dir, name, flags, mode);
}

static ssize_t
f_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	if (fails(WRITE))
		return torn ? real.pwrite(fd, buf, len / 2, off) : -1;
	return real.pwrite(fd, buf, len, off);
}

static int
f_fdatasync(int fd)
{
	return fails(DATASYNC) ? -1 : real.fdatasync(fd);
}

static int
f_link(int dir, const char *from, const char *to)
{
	int r = fails(LINK) ? -1 : real.link(dir, from, to);

	if (r == 0)
		linked = strtoull(to, NULL, 10);
	return r;
}

static int
f_fsync(int fd)
{
	if (!fails(SYNC))
		return real.fsync(fd);
	burnt[n_burnt++ % 16] = linked;
	return -1;
}

static int
f_unlink(int dir, const char *name)
{
	return fails(UNLINK) ? -1 : real.unlink(dir, name);
}

static ssize_t
f_getdents(int fd, void *buf, size_t len)
{
	return fails(DENTS) ? -1 : real.getdents(fd, buf, len);
}

static const struct lhi_range_sys failing_sys = {
	.open = f_open, .pwrite = f_pwrite, .fdatasync = f_fdatasync,
	.link = f_link, .fsync = f_fsync, .unlink = f_unlink, .mkdir = mkdir,
	.getdents = f_getdents,
};

static char dir[FENCE_PATH + 20];
static uint64_t last;

static int
claim(uint64_t *n)
{
	static const uint64_t us[2] = { 3, 4 };

	memset(seen, 0, sizeof(seen));
	n_burnt = 0;
	return lhi_range_claim(dir, us, 0, n);
}

static int
temporaries(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)) != NULL)
		n += strncmp(e->d_name, "new.", 4) == 0;
	closedir(d);
	return n;
}

/* Makes the call fail like that: the claim must return `want`. */
static void
once(enum call c, int from, int times, int error, int want, const char *what)
{
	uint64_t n = 0;

	failing = c;
	fail_from = from;
	fail_times = times;
	with = error;
	is(claim(&n), want, "%s: %s", what, strerror(error));
	if (want == 0) {
		cmp(n, >, last, "%s: a larger number", what);
		last = n;
	} else {
		ok(t_has_detail(), "%s: \"%s\"", what, lh_error_detail());
		ok(strstr(lh_error_detail(), dir) != NULL, "%s: path", what);
		is(n, 0, "%s: no number", what);
	}
	for (int i = 0; i < n_burnt; i++)
		cmp(burnt[i], !=, n,
		    "%s: a number that was not synced is not used", what);
	failing = N_CALLS;
	is(claim(&n), 0, "%s: the next claim succeeds", what);
	cmp(n, >, last, "%s: a larger number", what);
	for (int i = 0; i < n_burnt; i++)
		cmp(burnt[i], !=, n, "%s: nor does the next claim use it",
		    what);
	last = n;
	is(temporaries(), c == UNLINK ? 1 : 0, "%s: no temporary file is left",
	    what);
}

int
main(void)
{
	(void)replay_begin();
	snprintf(dir, sizeof(dir), "%s/errors", fence_dir());
	if (mkdir(dir, 0700) != 0)
		bail_out("%s", strerror(errno));
	real = lhi_range_sys;
	lhi_range_sys = failing_sys;
	once(OPEN, 0, 1, ENOSPC, -ENOSPC, "no file can be created");
	once(OPEN, 0, 1, EACCES, -EACCES, "creating a file is not permitted");
	once(OPEN, 0, 1, EMFILE, -EMFILE, "no file can be opened");
	once(WRITE, 0, 1, ENOSPC, -ENOSPC, "no room");
	once(WRITE, 0, 1, EDQUOT, -EDQUOT, "no quota");
	once(WRITE, 0, 1, EIO, -EIO, "write");
	torn = true;
	once(WRITE, 0, 1, EIO, -EIO, "a short write");
	once(DATASYNC, 0, 1, EIO, 0, "fdatasync once");
	once(DATASYNC, 0, 2, EIO, 0, "fdatasync twice");
	once(DATASYNC, 0, 99, EIO, -EIO, "fdatasync for ever");
	is(seen[DATASYNC], 1, "(the calls were counted)");
	once(LINK, 0, 1, EIO, -EIO, "link");
	once(LINK, 0, 1, EROFS, -EROFS, "link, read-only");
	once(LINK, 0, 5, EEXIST, 0, "five other claims are quicker");
	once(LINK, 0, 99999, EEXIST, -EIO, "other claims are always quicker");
	once(SYNC, 0, 1, EIO, 0, "fsync of the directory once");
	once(SYNC, 0, 2, EIO, 0, "fsync of the directory twice");
	once(SYNC, 0, 99, EIO, -EIO, "fsync of the directory for ever");
	once(SYNC, 0, 1, ENOSPC, 0,
	    "fsync of the directory with another error");
	once(DENTS, 0, 1, EIO, -EIO, "the directory cannot be read");
	once(DENTS, 2, 1, EIO, -EIO, "nor a second time");
	once(UNLINK, 0, 1, EIO, 0, "the temporary file stays");
	return done();
}
