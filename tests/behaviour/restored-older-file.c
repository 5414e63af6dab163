/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: the file of a used table's range is lost, damaged or another
 * table's.  Or an older copy of the directory was restored, or another table
 * has claimed a range since.  The next process that opens the table claims
 * another range, and its tokens are larger.
 *
 * Otherwise a restored backup of the fence directory would let tokens be given
 * twice.
 */
#include <fcntl.h>
#include "fence.h"

static const char *table;
static uint64_t last;

static char *
file(uint64_t n)
{
	static char path[FENCE_PATH + 200];

	snprintf(path, sizeof(path), "%s/%llu", fence_ranges(table),
	    (unsigned long long)n);
	return path;
}

static void
reopened(const char *what)
{
	uint64_t was, now;
	struct lh *lh;

	(void)fence_count(table, &was);
	was = was > last >> 32 ? was : last >> 32;
	lh = fence_open(table);
	(void)fence_count(table, &now);
	cmp(now, >, was, "%s: another range is claimed", what);
	fence_larger(lh, "k", &last, what);
	is(last >> 32, now, "%s: out of that range", what);
	is(lh_close(lh), 0, "closed");
	lh = fence_open(table);
	(void)fence_count(table, &was);
	is(was, now, "and the next time all is well");
	fence_larger(lh, "k", &last, "then");
	is(lh_close(lh), 0, "closed");
}

int
main(void)
{
	char saved[FENCE_PATH + 200];
	struct lh *keep, *lh;
	unsigned char byte;
	uint64_t n;
	int fd;

	table = t_table();
	keep = fence_open(table);
	fence_larger(keep, "k", &last, "a new table");
	(void)fence_count(table, &n);
	is(unlink(file(n)), 0, "its file is removed");
	reopened("removed");

	(void)fence_count(table, &n);
	fd = open(file(n), O_RDWR);
	is(pread(fd, &byte, 1, 20), 1, "a byte of its file");
	byte ^= 0xff;
	is(pwrite(fd, &byte, 1, 20), 1, "is damaged");
	close(fd);
	reopened("damaged");

	(void)fence_count(table, &n);
	is(truncate(file(n), 100), 0, "its file is torn");
	reopened("torn");

	(void)fence_count(table, &n);
	snprintf(saved, sizeof(saved), "%s", file(n - 1));
	unlink(file(n));
	is(link(saved, file(n)), 0, "its file is an older one's copy");
	reopened("older");

	(void)fence_count(table, &n);
	fd = open(file(n + 3), O_WRONLY | O_CREAT, 0600);
	close(fd);
	lh = fence_open(table);
	fence_larger(lh, "k", &last, "an unknown table has claimed more");
	is(last >> 32, n + 4, "or may have: tokens go on above that");
	is(lh_close(lh), 0, "closed");

	fence_wipe(fence_ranges(table));
	is(mkdir(fence_ranges(table), 0700), 0, "the directory is empty");
	reopened("emptied");
	fence_larger(keep, "k", &last, "who had it open all the time");
	is(lh_close(keep), 0, "closed");
	return done();
}
