/* SPDX-License-Identifier: MIT */
/*
 * Directories of ranges: whatever names and bytes are in one, everything that
 * reads it comes to an end, and what is claimed there is above what was (G12).
 *
 * The script.  Its first byte is a set of flags:
 *	HELD	a table is open while the directory changes
 *	WIPED	the directory is emptied before
 * Then come operations, until its end: one byte, and
 *	0	a file: number (4 bytes), length (2), one byte to fill it with
 *	1	a file as range.c would write it, then changed: number (4),
 *		which byte (2), with what (1)
 *	2	any name: length (1), the bytes
 *	3	a directory by that number	4	a link	5	a pipe
 *	6	the file of that number is removed
 *	7	a claim, of at least (4)
 *	8	what the file of a number says
 *	9	a grant in scope local		10	lh_check()
 *	11	the table's object is lost
 *	12	many files: from a number (4), so many (1)
 * After the last, a table is opened, grants, and is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dirent.h>
#include <leasehold.h>
#include "fuzz/fuzz.h"
#include "live_files.h"
#include "base/hash.h"
#include "fence/range.h"

#define HELD	0x1u
#define WIPED	0x2u

#define OPS_MAX 60
#define STEPS	UINT64_C(2000000)
#define FAR	(UINT64_C(1) << 16)
#define CALLS	400		/* of the system, within one call */

const char fuzz_name[] = "fence";

static char state[64], dir[RANGE_PATH_MAX], table[32], object[96], floor_[96];
static int dir_fd = -1;
static struct lh *lh;
static unsigned calls;
static ssize_t (*really)(int fd, void *buf, size_t len);

/* Steps that touch no shared memory. */
static ssize_t
count_getdents(int fd, void *buf, size_t len)
{
	if (++calls > CALLS)
		fuzz_finding("it reads the directory without end");
	return really(fd, buf, len);
}

static void
begin(const char *what)
{
	calls = 0;
	fuzz_steps(what, STEPS);
}

static struct lh_open_opts
options(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;

	o.max_keys = 16;
	o.max_sessions = 4;
	o.max_leases = 128;
	o.fence_dir = state;
	o.flags = LH_NO_CLOCK_FLOOR;
	return o;
}

static void
wipe(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0
		    && unlinkat(fd, e->d_name, 0) != 0)
			wipe(fd, e->d_name);
	if (d != NULL)
		(void)closedir(d);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

static void
put(const char *name, const void *bytes, size_t len)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC |
	    O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return;
	if (write(fd, bytes, len) < 0)
		(void)unlinkat(dir_fd, name, 0);
	(void)close(fd);
}

static void
put_filled(const char *name, struct fuzz_input *in)
{
	unsigned char bytes[1024];
	size_t len = fuzz_take(in, 2) % sizeof(bytes);

	memset(bytes, (int)fuzz_take(in, 1), sizeof(bytes));
	put(name, bytes, len);
}

/* A real one, renamed and with a byte changed; half of them sealed again. */
static void
put_changed(const char *name, struct fuzz_input *in)
{
	unsigned char bytes[RANGE_FILE_LEN] = { 0 };
	size_t at = fuzz_take(in, 2);
	uint64_t sum, n = strtoull(name, NULL, 10);
	int fd;

	if (lhi_range_highest(dir, &sum) == 0 && sum != 0) {
		char from[32];

		(void)snprintf(from, sizeof(from), "%llu",
		    (unsigned long long)sum);
		fd = openat(dir_fd, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && read(fd, bytes, sizeof(bytes)) < 0)
			memset(bytes, 0, sizeof(bytes));
		if (fd >= 0)
			(void)close(fd);
	}
	memcpy(bytes + 32, &n, sizeof(n));
	bytes[at % sizeof(bytes)] ^= (unsigned char)fuzz_take(in, 1);
	if (at & 0x8000) {
		sum = lhi_hash(bytes, RANGE_FILE_LEN - 8);
		memcpy(bytes + RANGE_FILE_LEN - 8, &sum, sizeof(sum));
	}
	put(name, bytes, sizeof(bytes));
}

static void
put_any_name(struct fuzz_input *in)
{
	char name[256];
	size_t len = fuzz_take(in, 1);

	for (size_t i = 0; i < len; i++) {
		name[i] = (char)fuzz_take(in, 1);
		if (name[i] == '/' || name[i] == '\0')
			name[i] = '0';
	}
	name[len] = '\0';
	if (len > 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		put(name, name, len);
}

static void
put_many(uint64_t from, unsigned n)
{
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "%llu",
		    (unsigned long long)from + i);
		put(name, "", 0);
	}
}

/* Numbers that matter are small, or at the end of what there is. */
static uint64_t
take_number(struct fuzz_input *in)
{
	uint64_t n = fuzz_take(in, 4);

	return n & 0x80000000 ? RANGE_MAX + 2 - n % 64 : n % 4096;
}

static void
claim(uint64_t at_least)
{
	const uint64_t uuid[2] = { 1, 2 };
	uint64_t before, n, after;

	begin("lhi_range_claim");
	if (lhi_range_highest(dir, &before) != 0 ||
	    lhi_range_claim(dir, uuid, at_least, &n) != 0)
		return;
	if (n <= before || n < at_least)
		fuzz_finding("claimed %llu, at least %llu and above %llu",
		    (unsigned long long)n, (unsigned long long)at_least,
		    (unsigned long long)before);
	if (lhi_range_highest(dir, &after) != 0 || after != n)
		fuzz_finding("claimed %llu is not the highest",
		    (unsigned long long)n);
}

static void
open_table(void)
{
	struct lh_open_opts o = options();

	begin("lh_open");
	if (lh == NULL && lh_open(&lh, table, &o) != 0)
		lh = NULL;
	if (dir_fd < 0)
		dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
}

static void
grant(void)
{
	struct lh_acquire_opts a = LH_ACQUIRE_OPTS_INIT;
	struct lhi_range r;
	struct lh_lease l;
	uint64_t n;

	open_table();
	if (lhi_range_highest(dir, &n) == 0 && n > FAR)
		return;		/* millions of skips (W16) */
	begin("lh_acquire");
	a.max_wait_ms = 0;
	a.scope = LH_LOCAL;
	if (lh == NULL || lh_acquire(lh, "k", &a, &l) != 0)
		return;
	if (l.token >> 32 == 0 || l.token >> 32 > RANGE_MAX)
		fuzz_finding("token %llu", (unsigned long long)l.token);
	(void)lhi_range_read(dir, l.token >> 32, &r);
	(void)lh_release(lh, &l);
}

static void
no_finding(const char *text, void *arg)
{
	(void)text;
	(void)arg;
}

static void
close_table(void)
{
	begin("lh_close");
	if (lh != NULL)
		(void)lh_close(lh);
	lh = NULL;
}

static void
operate(struct fuzz_input *in)
{
	unsigned op = (unsigned)fuzz_take(in, 1) % 13;
	uint64_t n = op == 2 || op == 9 || op == 10 || op == 11 ? 0 :
	    take_number(in);
	struct lhi_range r;
	char name[32];

	(void)snprintf(name, sizeof(name), "%llu", (unsigned long long)n);
	switch (op) {
	case 0: put_filled(name, in); break;
	case 1: put_changed(name, in); break;
	case 2: put_any_name(in); break;
	case 3: (void)mkdirat(dir_fd, name, 0700); break;
	case 4: (void)symlinkat("/dev/zero", dir_fd, name); break;
	case 5: (void)mknodat(dir_fd, name, S_IFIFO | 0600, 0); break;
	case 6: (void)unlinkat(dir_fd, name, 0); break;
	case 7: claim(n); break;
	case 8:
		begin("lhi_range_read");
		(void)lhi_range_read(dir, n, &r);
		break;
	case 9: grant(); break;
	case 10:
		begin("lh_check");
		if (lh != NULL)
			(void)lh_check(lh, no_finding, NULL);
		break;
	case 11:
		close_table();
		(void)unlink(object);
		break;
	default: put_many(n, (unsigned)fuzz_take(in, 1)); break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned flags = (unsigned)fuzz_take(&in, 1);

	open_table();
	if (lh == NULL)
		fuzz_finding("no table can be made: %s", lh_error_detail());
	if (!(flags & HELD))
		close_table();
	if (flags & WIPED) {
		wipe(AT_FDCWD, dir);
		(void)mkdir(dir, 0700);
		(void)close(dir_fd);
		dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	}
	for (int i = 0; i < OPS_MAX && in.left > 0; i++)
		operate(&in);
	grant();
	grant();
	if (lh != NULL) {
		begin("lh_check");
		(void)lh_check(lh, no_finding, NULL);
	}
	close_table();
	begin("lh_table_remove");
	(void)lh_table_remove(table, LH_FORCE);
	(void)unlink(object);
	remove_live_files(object);
	(void)unlink(floor_);
	(void)close(dir_fd);
	dir_fd = -1;
	wipe(AT_FDCWD, dir);
	return 0;
}

static void
clean_up(void)
{
	wipe(AT_FDCWD, state);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	unsigned uid = (unsigned)geteuid();

	(void)argc;
	(void)argv;
	(void)snprintf(table, sizeof(table), "fuzz-fence-%d", (int)getpid());
	(void)snprintf(object, sizeof(object), "/dev/shm/leasehold.%u/%s.table",
	    uid, table);
	(void)snprintf(floor_, sizeof(floor_),
	    "/dev/shm/leasehold.%u/%s.floor", uid, table);
	(void)snprintf(state, sizeof(state), "/dev/shm/lh-fuzz-fence.%d",
	    (int)getpid());
	(void)mkdir(state, 0700);
	if (lhi_range_dir(dir, state, object) != 0)
		fuzz_finding("%s", lh_error_detail());
	really = lhi_range_sys.getdents;
	lhi_range_sys.getdents = count_getdents;
	(void)atexit(clean_up);
	return 0;
}
