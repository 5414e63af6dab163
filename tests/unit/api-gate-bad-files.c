/* SPDX-License-Identifier: MIT */
/*
 * G8, G12: what is not a gate, or not one any more, is refused with a reason;
 * nothing of it is written to, and no descriptor stays behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/support.h"
#include "tap.h"

#define LEN 4096

static char dir[] = "/tmp/leasehold-gate.XXXXXX";
static char path[64];

static void
refused(int want, const char *what)
{
	struct lh_gate *g = NULL;
	int next = dup(0);

	close(next);
	errno = 12345;
	is(lh_gate_open(&g, path, NULL, LH_NO_CREATE), want, "%s", what);
	ok(g == NULL && errno == 12345, "%s: nothing is written", what);
	ok(t_has_detail(), "%s: it is said why", what);
	is(dup(0), next, "%s: no descriptor stays", what);
	close(next);
}

static void
put(off_t at, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || pwrite(fd, data, len, at) != (ssize_t)len)
		bail_out("cannot write: %s", strerror(errno));
	close(fd);
}

static struct lh_gate *
fresh(void)
{
	struct lh_gate *g;

	unlink(path);
	if (lh_gate_open(&g, path, NULL, 0) != 0 ||
	    lh_gate_check(g, 7, LH_EXCLUSIVE) != 0)
		bail_out("no gate: %s", lh_error_detail());
	return g;
}

static void
bad_files(void)
{
	const uint64_t huge = UINT64_MAX, eight = 8;

	refused(-ENOENT, "no file");
	put(0, "", 1);
	refused(-EPROTO, "a file of one byte");
	is(truncate(path, 2 * LEN), 0, "the file is cut or made longer");
	refused(-EPROTO, "a file that is too long");
	is(truncate(path, LEN), 0, "the file is cut or made longer");
	refused(-EPROTO, "a file of zeros");
	lh_gate_close(fresh());
	put(511, "x", 1);
	refused(-EPROTO, "another head");
	lh_gate_close(fresh());
	put(528, &huge, 8);
	refused(-EUCLEAN, "a mark that is no token");
	lh_gate_close(fresh());
	put(512, &eight, 8);
	refused(-EUCLEAN, "more on the disk than there ever was");
	unlink(path);
	mkfifo(path, 0600);
	refused(-EPROTO, "a FIFO");
	unlink(path);
	is(symlink("/etc/passwd", path), 0, "a link");
	refused(-ELOOP, "a symbolic link");
	unlink(path);
	mkdir(path, 0700);
	refused(-EPROTO, "a directory");
	rmdir(path);
}

static void
gone_bad(void)
{
	const uint64_t huge = UINT64_MAX;
	struct lh_gate *g = fresh();
	uint64_t mark = 99;

	put(536, &huge, 8);
	is(lh_gate_check(g, 9, LH_EXCLUSIVE), -EUCLEAN, "damaged while open");
	is(lh_gate_marks(g, &mark, NULL), -EUCLEAN, "also to be seen");
	ok(mark == 99, "nothing is written");
	lh_gate_close(g);
	g = fresh();
	is(truncate(path, 0), 0, "the file is cut or made longer");
	is(lh_gate_check(g, 9, LH_EXCLUSIVE), -EUCLEAN, "truncated");
	lh_gate_close(g);
	g = fresh();
	unlink(path);
	is(lh_gate_check(g, 9, LH_EXCLUSIVE), -ENOENT, "removed");
	ok(t_has_detail(), "it is said so");
	lh_gate_close(g);
}

/* closefrom(): the descriptor's number is a stranger's now. */
static void
descriptor_lost(void)
{
	int before = dup(0), fd;
	struct lh_gate *g;

	close(before);
	g = fresh();
	close(before);
	fd = open("/dev/null", O_RDONLY);
	is(fd, before, "the gate's descriptor belongs to somebody else");
	is(lh_gate_check(g, 6, LH_EXCLUSIVE), -ESTALE, "it works as before");
	is(lh_gate_check(g, 8, LH_EXCLUSIVE), 0, "either way");
	is(lh_gate_close(g), 0, "closed");
	ok(fcntl(fd, F_GETFD) >= 0, "the stranger's is not");
	close(fd);
}

static void
arguments(void)
{
	struct lh_gate *g = NULL;
	char name[128];

	is(lh_gate_open(NULL, path, NULL, 0), -EINVAL, "nowhere to put it");
	is(lh_gate_open(&g, NULL, NULL, 0), -EINVAL, "no path");
	is(lh_gate_open(&g, "", NULL, 0), -EINVAL, "an empty path");
	is(lh_gate_open(&g, dir, "", 0), -EINVAL, "an empty resource");
	is(lh_gate_open(&g, path, NULL, 0x80000000u), -EINVAL, "flags");
	memset(name, 'x', 81);
	name[81] = '\0';
	is(lh_gate_open(&g, dir, name, 0), -ENAMETOOLONG, "a long resource");
	is(lh_gate_open(&g, "/no/such/dir/gate", NULL, 0), -ENOENT,
	    "no directory");
	ok(g == NULL, "nothing is written");
	is(lh_gate_close(NULL), -EINVAL, "close NULL");
	is(lh_gate_check(NULL, 1, 0), -EINVAL, "check NULL");
	is(lh_gate_marks(NULL, NULL, NULL), -EINVAL, "marks of NULL");
	g = fresh();
	is(lh_gate_check(g, 0, 0), -EINVAL, "token 0");
	is(lh_gate_check(g, UINT64_C(1) << 63, 0), -EINVAL, "token 2^63");
	is(lh_gate_check(g, 9, 2), -EINVAL, "no such mode");
	is(lh_gate_check(g, 7, LH_EXCLUSIVE), 0, "which changed nothing");
	is(lh_gate_marks(g, NULL, NULL), 0, "no place for marks");
	lh_gate_close(g);
	unlink(path);
}

static void
odd_resource(void)
{
	static const char *const odd[] = { "../x", "..", "a/b", "%41", "A" };
	struct lh_gate *g;
	char file[128];
	uint64_t mark;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		is(lh_gate_open(&g, dir, odd[i], 0), 0, "'%s'", odd[i]);
		is(lh_gate_marks(g, &mark, NULL), 0, "its mark");
		ok(mark == 0, "no other's");
		is(lh_gate_check(g, 5, LH_EXCLUSIVE), 0, "passes");
		lh_gate_close(g);
	}
	snprintf(file, sizeof(file), "%s/%%2E.%%2Fx", dir);
	is(unlink(file), 0, "'../x' is in the directory");
	snprintf(file, sizeof(file), "%s/%%2E.", dir);
	is(unlink(file), 0, "'..' is");
	snprintf(file, sizeof(file), "%s/a%%2Fb", dir);
	is(unlink(file), 0, "'a/b' is");
	snprintf(file, sizeof(file), "%s/%%2541", dir);
	is(unlink(file), 0, "'%%41' is");
	snprintf(file, sizeof(file), "%s/A", dir);
	is(unlink(file), 0, "and it is not 'A'");
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		bail_out("no directory: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/gate", dir);
	bad_files();
	gone_bad();
	descriptor_lost();
	arguments();
	odd_resource();
	is(rmdir(dir), 0, "nothing is left");
	return done();
}
