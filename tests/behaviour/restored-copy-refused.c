/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, issue 21 B2: a table's object is copied, three leases are
 * granted, and the copy takes the object's place.  Each opener and a repair
 * refuse it, with words; after a forced removal the next table's tokens are
 * larger than all before.  Also with a fence file in scope local, and in a
 * fresh tmpfs where the copy gets the old device and inode numbers.  A table of
 * another boot is refused, too, and one whose place this process may not ask
 * for.
 *
 * Otherwise a restored backup would give the same tokens again.
 */
#include <fcntl.h>
#include <glob.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include "fence.h"
#include "shm/table_object.h"
#include "support/object.h"
#include "support/seccomp.h"
#include <leasehold/repair.h>

#define PIECE 65536

static const char *table;

/* All bytes, so that the copy has memory wherever the object has. */
static void
copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static char piece[PIECE];
	ssize_t n = 0;

	while (in >= 0 && out >= 0 && (n = read(in, piece, PIECE)) > 0)
		if (write(out, piece, (size_t)n) != n)
			break;
	if (in < 0 || out < 0 || n != 0)
		bail_out("no copy: %s", strerror(errno));
	(void)close(in);
	(void)close(out);
}

static uint64_t
granted(struct lh *lh, uint32_t scope)
{
	struct lh_acquire_opts o = t_opts(30000, 0);
	struct lh_lease l;

	o.scope = scope;
	if (lh_acquire(lh, "k", &o, &l) != 0 || lh_release(lh, &l) != 0)
		bail_out("not granted: %s", lh_error_detail());
	return l.token;
}

/* By every opener and by a repair, in these words; and then removed. */
static void
refused(const struct lh_open_opts *o, const char *words)
{
	struct lh *lh;

	is(lh_open(&lh, table, o), -EUCLEAN, "it is refused");
	ok(strstr(lh_error_detail(), words) != NULL, "with words: %s",
	    lh_error_detail());
	is(lh_table_repair(table, 0, NULL, NULL), -EUCLEAN,
	    "not to be repaired");
	is(lh_table_remove(table, 0), -EUCLEAN, "nor removed just so");
	is(lh_table_remove(table, LH_FORCE), 0, "but by force");
}

static void
put_back(struct lh_open_opts o, uint32_t scope, const char *what)
{
	static char copy[200];
	uint64_t last = 0, next;
	struct lh *lh;

	snprintf(copy, sizeof(copy), "%s.copy", t_object(table));
	t_remove_at_exit(copy);
	is(lh_open(&lh, table, &o), 0, "%s: a table", what);
	(void)granted(lh, scope);
	copy_file(t_object(table), copy);
	for (int i = 0; i < 3; i++)
		last = granted(lh, scope);
	is(lh_close(lh), 0, "closed, after three grants");
	is(rename(copy, t_object(table)), 0, "the copy is put back");
	refused(&o, "is a copy of a table");
	is(lh_open(&lh, table, &o), 0, "the next one");
	next = granted(lh, scope);
	cmp(next, >, last, "its tokens are larger");
	t_close(lh);
	(void)lh_table_remove(table, LH_FORCE);
}

/* The path of what stands beside the table, which is empty. */
static void
live_file(char path[200])
{
	const char *object = t_object(table);
	glob_t found;

	snprintf(path, 200, "%.*slive.*", (int)(strrchr(object, '.') -
	    object + 1), object);
	if (glob(path, 0, NULL, &found) != 0)
		bail_out("no file %s", path);
	snprintf(path, 200, "%s", found.gl_pathv[0]);
	globfree(&found);
}

/* The bytes of a table, put first into another file system of that kind. */
static int
in_fresh_tmpfs(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	char copy[100], dir[100], live[200];
	struct stat was, is_now;
	struct lh *lh;

	(void)arg;
	snprintf(copy, sizeof(copy), "/tmp/lh-copy.%d", (int)getpid());
	if (!t_mount("/dev/shm", "size=64m"))
		return T_NO_MOUNT;
	is(lh_open(&lh, table, &o), 0, "fresh tmpfs: a table");
	(void)granted(lh, LH_EPHEMERAL);
	copy_file(t_object(table), copy);
	for (int i = 0; i < 3; i++)
		(void)granted(lh, LH_EPHEMERAL);
	is(stat(t_object(table), &was), 0, "it is a file");
	is(lh_close(lh), 0, "closed, after three grants");
	live_file(live);
	is(umount("/dev/shm"), 0, "all is gone");
	is(mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64m"), 0, "anew");
	snprintf(dir, sizeof(dir), "/dev/shm/leasehold.%u",
	    (unsigned)geteuid());
	is(mkdir(dir, 0700), 0, "its directory");
	copy_file(copy, t_object(table));
	(void)unlink(copy);
	(void)close(open(live, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	is(stat(t_object(table), &is_now), 0, "the copy is put back");
	is(is_now.st_ino, was.st_ino, "with the same inode number");
	if (is_now.st_dev != was.st_dev)	/* another test mounted one */
		diag("the device is another one");
	refused(&o, "is a copy of a table");
	return done();
}

/* In its place, but for what the header says of the boot. */
static void
of_another_boot(void)
{
	struct lh_open_opts o = t_open_opts();
	struct t_object object;
	struct lh *lh;

	is(lh_open(&lh, table, &o), 0, "another boot: a table");
	is(lh_close(lh), 0, "closed");
	object = t_map_object(table);
	ok(sh64_load(&object.h->boot) != 0, "it knows its boot");
	sh64_store(&object.h->boot, sh64_load(&object.h->boot) ^ 2);
	sh64_store(&object.h->header_sum, lhi_object_sum(object.h));
	t_unmap_object(&object);
	refused(&o, "was made before this machine was started");
}

static int
without_marks(void *arg)
{
	const int *only_birth = arg;
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;

	if (seccomp_refuse(SYS_name_to_handle_at) != 0 ||
	    (!*only_birth && seccomp_refuse(SYS_statx) != 0))
		bail_out("no filter: %s", strerror(errno));
	if (*only_birth) {
		is(lh_open(&lh, table, &o), 0, "the birth time is enough");
		t_close(lh);
		return done();
	}
	is(lh_open(&lh, table, &o), -EXDEV, "a table is not believed");
	ok(strstr(lh_error_detail(), "cannot tell whether") != NULL,
	    "with words: %s", lh_error_detail());
	is(lh_open(&lh, t_table(), &o), -EOPNOTSUPP, "nor is one made");
	ok(t_has_detail(), "and that is said: %s", lh_error_detail());
	return done();
}

/* A process that may not ask the kernel which file it is. */
static void
not_to_be_told(void)
{
	struct lh *lh = t_open(table);
	int only_birth = 0;

	is(t_reap(t_fork(without_marks, &only_birth), T_HANG_MS), 0,
	    "without birth time and handle");
	only_birth = 1;
	is(t_reap(t_fork(without_marks, &only_birth), T_HANG_MS), 0,
	    "without the handle");
	t_close(lh);
	(void)lh_table_remove(table, LH_FORCE);
}

int
main(void)
{
	int r;

	table = t_table();
	put_back(t_open_opts(), LH_EPHEMERAL, "ephemeral");
	put_back(fence_opts(), LH_LOCAL, "scope local");
	of_another_boot();
	not_to_be_told();
	r = geteuid() == 0 ? t_reap(t_fork(in_fresh_tmpfs, NULL), T_HANG_MS) :
	    T_NO_MOUNT;
	if (r == T_NO_MOUNT)
		diag("no tmpfs can be mounted here");
	else
		is(r, 0, "a copy in a fresh tmpfs");
	return done();
}
