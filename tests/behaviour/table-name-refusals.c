/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a table's name has 1 to 64 characters of [A-Za-z0-9._-] and
 * does not begin with a dot; any other is refused with a reason before anything
 * is looked up or made in the file system.  All 255 bytes are tried at the
 * front, in the middle and alone.
 *
 * Otherwise a name could lead to a file outside the directory of tables.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct lh_open_opts opts;

static int
n_objects(void)
{
	char place[64];
	DIR *d;
	struct dirent *e;
	char mine[32];
	int n = 0;

	/* names that this test may have made: other tests run beside it */
	snprintf(mine, sizeof(mine), "n%d", (int)getpid());
	snprintf(place, sizeof(place), "/dev/shm/leasehold.%u",
	    (unsigned)geteuid());
	d = opendir(place);
	while (d != NULL && (e = readdir(d)) != NULL)
		n += strstr(e->d_name, mine) != NULL;
	if (d != NULL)
		closedir(d);
	return n;
}

static int
try_name(const char *name)
{
	struct lh *lh = NULL;
	int r = lh_open(&lh, name, &opts);

	if (r == 0) {
		lh_close(lh);
		(void)lh_table_remove(name, LH_FORGET_TOKENS);
	} else if (!t_has_detail()) {
		fail("the refusal of '%s' says why", name);
	}
	return r;
}

static void
refused(const char *name, int want, const char *what)
{
	is(try_name(name), want, "%s is refused", what);
}

static bool
legal(int c)
{
	return c < 128 && (isalnum(c) || c == '.' || c == '_' || c == '-');
}

static void
every_byte(void)
{
	int front = 0, middle = 0, alone = 0;
	char name[32];

	for (int c = 1; c < 256; c++) {
		snprintf(name, sizeof(name), "%cn%d", c, (int)getpid());
		front += try_name(name) ==
		    (legal(c) && c != '.' ? 0 : -EINVAL);
		snprintf(name, sizeof(name), "n%d%cx", (int)getpid(), c);
		middle += try_name(name) == (legal(c) ? 0 : -EINVAL);
		/* alone only where it is illegal: "a" may be somebody's */
		snprintf(name, sizeof(name), "%c", c);
		alone += (legal(c) && c != '.') || try_name(name) == -EINVAL;
	}
	is(front, 255, "every byte in front is judged rightly");
	is(middle, 255, "and in the middle");
	is(alone, 255, "and alone");
}

int
main(void)
{
	char longest[128];
	size_t len;

	opts = t_open_opts();
	opts.max_keys = 16;
	opts.max_sessions = 2;
	opts.max_leases = 128;
	refused("", -EINVAL, "an empty name");
	refused(".", -EINVAL, "a dot");
	refused("..", -EINVAL, "two dots");
	refused(".hidden", -EINVAL, "a leading dot");
	refused("a/b", -EINVAL, "a slash");
	refused("/a", -EINVAL, "a leading slash");
	refused("../a", -EINVAL, "a way out");
	refused("a b", -EINVAL, "a blank");
	refused("a\n", -EINVAL, "a line break");
	refused("\xc3\xa4", -EINVAL, "a letter beyond ASCII");

	len = (size_t)snprintf(longest, sizeof(longest), "n%d", (int)getpid());
	memset(longest + len, 'x', sizeof(longest) - len);
	longest[64] = '\0';
	t_remove_at_exit(t_object(longest));
	is(try_name(longest), 0, "64 characters are a name");
	longest[64] = 'x';
	longest[65] = '\0';
	refused(longest, -ENAMETOOLONG, "65 characters");
	memset(longest, 'x', sizeof(longest));
	longest[127] = '\0';
	refused(longest, -ENAMETOOLONG, "127 characters");
	every_byte();
	is(n_objects(), 0, "nothing is left in /dev/shm");
	return done();
}
