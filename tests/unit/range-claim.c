/* SPDX-License-Identifier: MIT */
/*
 * Ranges on disk (src/fence/range.c): numbers that only rise, whatever is in
 * the directory already, and that no two claimants share; what is old is
 * pruned.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "fence/range.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static const uint64_t us[2] = { 1, 2 };
static char dir[RANGE_PATH_MAX];

static uint64_t
claim(uint64_t at_least)
{
	uint64_t n = 0;
	int error = lhi_range_claim(dir, us, at_least, &n);

	if (error != 0)
		diag("%d: %s", error, lh_error_detail());
	return error != 0 ? 0 : n;
}

static char *
in(const char *name)
{
	static char path[RANGE_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
put(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		bail_out("%s: %s", name, strerror(errno));
	close(fd);
}

static int
count(void)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int n = 0;

	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void
numbers(void)
{
	struct lhi_range r;
	uint64_t n;

	is(claim(0), 1, "the first is 1");
	is(claim(0), 2, "the next 2");
	is(claim(100), 100, "at least 100: 100");
	is(claim(7), 101, "at least 7: above all");
	is(count(), 4, "a file for each, nothing else");
	is(lhi_range_highest(dir, &n), 0, "the highest is found");
	is(n, 101, "it is 101");
	is(lhi_range_read(dir, 101, &r), 0, "its file can be read");
	ok(r.n == 101 && r.uuid[0] == 1 && r.uuid[1] == 2, "it says whose");
	cmp(r.epoch_ms, >, 1700000000000, "and when");
	is(lhi_range_read(dir, 99, &r), -ENOENT, "there is no 99");
	ok(t_has_detail(), "which is said");
}

static void
what_else_is_there(void)
{
	struct lhi_range r;

	put("200", "not a range at all");
	is(claim(0), 201, "a damaged file counts");
	is(lhi_range_read(dir, 200, &r), -EUCLEAN, "and is called damaged");
	ok(t_has_detail(), "with a sentence");
	mkdir(in("210"), 0700);
	is(claim(0), 211, "a directory counts");
	is(symlink("/nowhere", in("220")), 0, "a link is put there");
	is(claim(0), 221, "it counts");
	is(lhi_range_read(dir, 220, &r), -EUCLEAN, "and is not followed");
	is(lhi_range_read(dir, 210, &r), -EUCLEAN, "nor the directory read");
	put("0300", "");
	put("300x", "");
	put("99999999999", "");
	put("4000000000", "");
	is(claim(0), 222, "what cannot be a range does not count");
	rmdir(in("210"));
	unlink(in("220"));
}

static void
pruned(void)
{
	struct timeval old[2] = { { time(NULL) - 7200, 0 },
	    { time(NULL) - 7200, 0 } };

	put("new.0123456789abcdef", "left behind");
	put("new.fresh", "in use");
	utimes(in("new.0123456789abcdef"), old);
	for (uint64_t i = 0; i < 100; i++)
		claim(0);
	ok(access(in("222"), F_OK) != 0, "old ones are pruned");
	ok(access(in("322"), F_OK) == 0, "the last one stays");
	is(count(), RANGE_KEEP + 5, "as many stay as are to");
	ok(access(in("new.0123456789abcdef"), F_OK) != 0,
	    "an old temporary file is swept");
	ok(access(in("new.fresh"), F_OK) == 0, "a fresh one is not");
	ok(access(in("300x"), F_OK) == 0, "nor what is somebody else's");
}

static void
limits(void)
{
	uint64_t n = 77;

	is(claim(RANGE_MAX), RANGE_MAX, "the last number is claimed");
	is(lhi_range_claim(dir, us, 0, &n), -ENOSPC, "then they are used up");
	is(n, 77, "and nothing is written");
	ok(strstr(lh_error_detail(), "used up") != NULL, "which is said");
	put("1073741823", "");
	is(lhi_range_claim(dir, us, RANGE_MAX + 1, &n), -ENOSPC,
	    "more than the last is refused");
}

#define PROCS 8
#define EACH 40

static void
together(void)
{
	/* one that sleeps while 64 others are made burns its own */
	static uint8_t seen[2 * PROCS * EACH + 1];
	int fds[2], bad = 0, status;
	uint64_t n;

	if (pipe(fds) != 0)
		bail_out("pipe");
	for (int p = 0; p < PROCS; p++) {
		if (fork() == 0) {
			uint64_t last = 0;

			for (int i = 0; i < EACH; i++) {
				n = claim(0);
				if (n <= last ||
				    write(fds[1], &n, sizeof(n)) < 0)
					_exit(1);
				last = n;
			}
			_exit(0);
		}
	}
	for (int i = 0; i < PROCS * EACH; i++) {
		if (read(fds[0], &n, sizeof(n)) != sizeof(n) || n == 0 ||
		    n > 2 * PROCS * EACH || seen[n]++)
			bad++;
	}
	while (wait(&status) > 0)
		bad += status != 0;
	is(bad, 0, "%d processes claim %d each: all different, few skipped",
	    PROCS, EACH);
	is(count(), RANGE_KEEP, "and what is old is pruned");
}

static void
fresh(void)
{
	char cmd[RANGE_PATH_MAX + 32];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	if (system(cmd) != 0 || mkdir(dir, 0700) != 0)
		bail_out("cannot make %s", dir);
}

int
main(void)
{
	char cmd[RANGE_PATH_MAX + 32];

	snprintf(dir, sizeof(dir), "/tmp/lh-range-%d", (int)getpid());
	fresh();
	numbers();
	what_else_is_there();
	pruned();
	limits();
	fresh();
	together();
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ok(system(cmd) == 0, "removed");
	return done();
}
