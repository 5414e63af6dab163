/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a table is enlarged and its header says so, in order and with
 * memory, but it is not what this process has mapped.  Another attachment of
 * the process, which shares that mapping, is refused and does not read behind
 * its end.  The first attachment goes on: it reads nothing twice.
 *
 * Otherwise a changed header would make a process read outside its mapping.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "shm/layout.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define KEYS 64u
#define MORE_KEYS 200000u

static const char *table, *larger;

static int
make(const char *name, uint32_t keys)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;
	int r;

	o.max_keys = keys;
	o.max_leases = 128;
	o.max_sessions = 4;
	r = lh_open(&lh, name, &o);
	return r != 0 ? r : lh_close(lh);
}

/* Give the table the header, and the length, of the larger one. */
static int
grow(void)
{
	char header[sizeof(struct shm_header)];
	int from = open(t_object(larger), O_RDWR | O_CLOEXEC);
	int to = open(t_object(table), O_RDWR | O_CLOEXEC);
	struct stat st;
	bool done_it;

	done_it = fstat(from, &st) == 0 &&
	    posix_fallocate(to, 0, st.st_size) == 0 &&
	    pread(from, header, sizeof(header), 0) == sizeof(header) &&
	    pwrite(to, header, sizeof(header), 0) == sizeof(header);
	close(from);
	close(to);
	return done_it ? 0 : -EIO;
}

static int
ignore(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

/* In a process of its own, since the point is that it does not crash. */
static int
attach_again(void *arg)
{
	struct lh_stats st = { .size = sizeof(st) }, before = st;
	struct lh *a = t_open(table), *b = NULL;
	struct lh_lease l, m;
	int r;

	(void)arg;
	l = t_hold(a, "k");
	is(lh_stats(a, &before), 0, "a small table");
	is(grow(), 0, "it has grown");
	r = lh_open(&b, table, NULL);
	ok(r == -EUCLEAN || r == -EPROTO, "another attachment is refused (%d)",
	    r);
	if (r == 0) {
		/* whatever these say: they come back */
		(void)lh_stats(b, &st);
		(void)lh_list(b, NULL, ignore, NULL);
		(void)lh_close(b);
		return 1;
	}
	ok(t_has_detail(), "with a reason");
	ok(b == NULL, "and gets no handle");
	is(lh_verify(a, &l), 0, "the first one holds what it held");
	is(t_acquire(a, "new", 1000, 0, &m), 0, "works as before");
	is(lh_release(a, &m), 0, "and so on");
	is(lh_stats(a, &st), 0, "as far as it goes");
	is(st.max_keys, before.max_keys, "which is as far as before");
	is(st.bytes, before.bytes, "in keys and in bytes");
	is(lh_release(a, &l), 0, "it releases");
	is(lh_close(a), 0, "and closes");
	return tap_child_status();
}

int
main(void)
{
	table = t_table();
	larger = t_table();
	is(make(table, KEYS), 0, "a small table");
	is(make(larger, MORE_KEYS), 0, "a large one");
	is(t_reap(t_fork(attach_again, NULL), T_HANG_MS), 0,
	    "nobody reads behind the end of a mapping");
	return done();
}
