/* SPDX-License-Identifier: MIT */
/*
 * Gates: decide whether the holder of a token may pass.
 *
 * A gate is one page in a file, which every process that asks has mapped.
 * Nothing in it is locked, and no process has to be alive: a check is loads and
 * one swap.
 *
 *	  0	identification: the same in every gate, see gate_head
 *	512	synced, exclusive and shared: on the disk, at least	any
 *	528	marks, exclusive and shared: X and S below		any
 *	544	how often the page was about to be written		any
 *	552..	zero
 *
 * The marks and the synced values are in one sector, which a disk writes whole
 * or not at all.  Even if it wrote only some of the words, each of them would
 * be an old or a new one.
 *
 * I1	Marks only rise.
 * I2	A token passes only after its own mark has reached it (announce), and
 *	after a look at both marks, taken after that.
 * I3	synced <= mark in memory, in every state of the file on the disk, and
 *	after every crash.  synced = v is stored after a sync that wrote a mark
 *	of at least v, and every later picture of the sector has a mark that is
 *	not lower (I1; the kernel writes a page once at a time).  So a synced
 *	that was read from a disk can be believed.
 *
 * Order.  Every pass has a moment: a writer's is when X reached its token, a
 * reader's is its second look at X. Let a writer t and a reader r both pass.
 * If r < t, the reader's second look found X <= r, so it came before X reached
 * t: reader first.  If r >= t, the writer's second look found S < t, so it came
 * before S reached r, and r's second look came after that: writer first.  Two
 * writers are in the order of X. That is the order of their leases (G2), and it
 * agrees with every observation.  The stores and the looks are sequentially
 * consistent (a Dekker pair).
 *
 * A check that is refused at its second look has already raised its mark.  This
 * does no harm: the token was a real one, so all older ones are stale anyway.
 * The same holds for a process that is killed or stopped between the two: a
 * token that was shown counts, even if its owner never got the answer.
 *
 * Durable.  The answer comes after a sync that began after the mark was
 * reached; synced saves the sync for all later checks of that token.  The page
 * is written to just before each sync (the count at 544), so that there is
 * always something to write.  Otherwise a sync that fails may leave the page
 * marked as clean, and the next one would succeed without having written
 * anything.  So trying again after an error is safe, and until it succeeds the
 * answer is -EIO.
 *
 * A new gate is written under a temporary name, synced, and linked to its name;
 * of two makers the second finds the first one's.  A maker that is killed
 * leaves a file .gate-* that is never read.  With LH_GATE_DURABLE each process
 * that opens the gate syncs file and directory, because its maker may have died
 * before that.
 *
 * A file that is truncated between our check of its length and our access is
 * SIGBUS, or zeros if the process catches that (prim/sigbus.c). The page
 * identifies itself, and this is read together with the marks: zeros let
 * nothing pass.
 *
 * Not covered: a file that is replaced by an older copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold/gate.h>
#include "base/bits.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/random.h"
#include "prim/descriptor.h"
#include "prim/shared.h"
#include "prim/sigbus.h"

#define GATE_LEN 4096
#define GATE_TRIES 100
#define RESOURCE_MAX 80

struct gate_page {
	char head[512];
	shm_u64 synced[2];	/* by mode, as in enum lh_mode */
	shm_u64 mark[2];
	shm_u64 writes;
	char zero[GATE_LEN - 512 - 5 * 8];
};

_Static_assert(offsetof(struct gate_page, synced) == 512, "format");
_Static_assert(offsetof(struct gate_page, mark) == 528, "format");
_Static_assert(sizeof(struct gate_page) == GATE_LEN, "format");

/* Format 1, in the machine's byte order. */
static const struct {
	char magic[16];
	uint32_t format;
	uint32_t len;
	char zero[512 - 24];
} gate_head = { "leasehold gate\n", 1, GATE_LEN, "" };

_Static_assert(sizeof(gate_head) == 512, "format");

struct lh_gate {
	struct gate_page *page;
	int fd;			/* only to check the file */
	dev_t dev;
	ino_t ino;
	bool durable;
	char path[];
};

static int
fail_errno(const char *what, const char *path)
{
	int e = errno;

	return lhi_fail(-e, "cannot %s the gate '%.200s': %s", what, path,
	    strerror(e));
}

/* Returns the length of path's directory, with its slash. */
static int
dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (int)(slash - path) + 1;
}

static int
sync_dir(const char *path)
{
	char dir[PATH_MAX];
	int fd, error = 0;

	(void)snprintf(dir, sizeof(dir), "%.*s.", dir_len(path), path);
	fd = lhi_fd_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0)
		error = fail_errno("sync the directory of", path);
	if (fd >= 0)
		(void)close(fd);
	return error;
}

static int
fill_file(int fd, const char *path)
{
	char page[GATE_LEN] = "";
	ssize_t n;

	memcpy(page, &gate_head, sizeof(gate_head));
	errno = ENOSPC;			/* the reason of a short write */
	n = lhi_fd_may_write(GATE_LEN) ? pwrite(fd, page, sizeof(page), 0) : -1;
	if (n != GATE_LEN || fsync(fd) != 0)
		return fail_errno("write", path);
	return 0;
}

/* Returns 0 also if another process was first. */
static int
make_file(const char *path)
{
	char tmp[PATH_MAX];
	unsigned long long name;
	int fd, error = lhi_random_fill(&name, sizeof(name));

	if (error != 0)
		return error;
	(void)snprintf(tmp, sizeof(tmp), "%.*s.gate-%016llx", dir_len(path),
	    path, name);
	fd = lhi_fd_openat(AT_FDCWD, tmp, O_RDWR | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_errno("create", path);
	error = fill_file(fd, path);
	(void)close(fd);
	if (error == 0 && link(tmp, path) != 0 && errno != EEXIST)
		error = fail_errno("create", path);
	(void)unlink(tmp);
	return error;
}

static int
open_or_make(const char *path, bool may_create)
{
	for (int i = 0; i < GATE_TRIES; i++) {
		int error, fd = lhi_fd_open(path, O_RDWR | O_CLOEXEC |
		    O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

		if (fd >= 0)
			return fd;
		if (errno == EISDIR)
			return lhi_fail(-EPROTO, "'%.200s' is a directory: to "
			    "keep gates in it, name the resource", path);
		if (errno != ENOENT || !may_create)
			return fail_errno("open", path);
		error = make_file(path);
		if (error != 0)
			return error;
	}
	return lhi_fail(-ENOENT, "the gate '%.200s' is removed as often as it "
	    "is made", path);
}

/* Checks that the file is what it was when it was opened. */
static int
check_unchanged(const struct lh_gate *g)
{
	struct stat st;

	/* closed by the application (closefrom) */
	if (fstat(g->fd, &st) != 0 || st.st_ino != g->ino ||
	    st.st_dev != g->dev)
		return 0;
	if (st.st_size != GATE_LEN)
		return lhi_fail(-EUCLEAN, "the gate '%.200s' was truncated: "
		    "find out by whom, and what passed; then remove it",
		    g->path);
	if (st.st_nlink == 0)
		return lhi_fail(-ENOENT, "the gate '%.200s' was removed: open "
		    "it again, if its resource is still there", g->path);
	return 0;
}

static int
read_marks(const struct lh_gate *g, uint64_t mark[2])
{
	uint64_t synced[2];

	/* punched, or zeros since it was truncated (prim/sigbus.c) */
	if (memcmp(g->page->head, &gate_head, sizeof(gate_head.magic)) != 0)
		return lhi_fail(-EUCLEAN, "the gate '%.200s' was truncated or "
		    "overwritten: find out by whom, and what passed; then "
		    "remove it", g->path);
	for (int i = 0; i < 2; i++) {
		synced[i] = sh64_load(&g->page->synced[i]);
		mark[i] = sh64_load_sc(&g->page->mark[i]);
		if (mark[i] > (uint64_t)TOKEN_MAX || synced[i] > mark[i])
			return lhi_fail(-EUCLEAN, "the gate '%.200s' is "
			    "damaged (a mark of %llu): find out what the last "
			    "token was before you remove it", g->path,
			    (unsigned long long)mark[i]);
	}
	return 0;
}

/* A mark that was to be raised kept changing: nothing passes. */
static int
fail_restless(const struct lh_gate *g)
{
	return lhi_fail(-EUCLEAN, "the gate '%.200s' is damaged: a mark keeps "
	    "changing while it is to be raised; find out who writes to the "
	    "file, and make a new gate", g->path);
}

static int
check_file(struct lh_gate *g)
{
	uint64_t mark[2];
	struct stat st;

	if (fstat(g->fd, &st) != 0)
		return fail_errno("look at", g->path);
	g->dev = st.st_dev;
	g->ino = st.st_ino;
	if (!S_ISREG(st.st_mode) || st.st_size != GATE_LEN)
		return lhi_fail(-EPROTO, "'%.200s' is not a gate: it is not a "
		    "file of %d bytes", g->path, GATE_LEN);
	g->page = lhi_sigbus_map(GATE_LEN, MAP_SHARED, g->fd);
	if (g->page == MAP_FAILED)
		return fail_errno("map", g->path);
	if (memcmp(g->page->head, &gate_head, sizeof(gate_head)) != 0)
		return lhi_fail(-EPROTO, "'%.200s' is not a gate, or another "
		    "version's: its first bytes are others", g->path);
	return read_marks(g, mark);
}

static void
free_gate(struct lh_gate *g)
{
	struct stat st;

	if (g->page != MAP_FAILED)
		lhi_sigbus_unmap(g->page, GATE_LEN);
	if (g->fd >= 0 && fstat(g->fd, &st) == 0 && st.st_ino == g->ino &&
	    st.st_dev == g->dev)
		(void)close(g->fd);
	g->page = MAP_FAILED;
	lhi_handle_free(HANDLE_GATE, g);
}

/* Writes path, or the file of the resource in it. */
static int
name_file(char out[PATH_MAX], const char *path, const char *resource)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n, len = resource == NULL ? 0 :
	    strnlen(resource, RESOURCE_MAX + 1);

	if (path == NULL || *path == '\0' || (resource != NULL && len == 0))
		return lhi_fail(-EINVAL, "no name of a gate was given");
	n = strnlen(path, PATH_MAX);
	if (n + 3 * len + 32 > PATH_MAX || len > RESOURCE_MAX)
		return lhi_fail(-ENAMETOOLONG, "a gate's path has at most %d "
		    "bytes, its resource at most %d", PATH_MAX - 32,
		    RESOURCE_MAX);
	memcpy(out, path, n + 1);
	if (resource == NULL)
		return 0;
	n += (size_t)sprintf(out + n, "/");
	for (size_t i = 0; i < len; i++)
		n += (size_t)sprintf(out + n, strchr(plain, resource[i]) &&
		    (i > 0 || resource[i] != '.') ? "%c" : "%%%02X",
		    (unsigned char)resource[i]);
	return 0;
}

static int
open_gate(struct lh_gate **out, const char *path, uint32_t flags)
{
	struct lh_gate *g = calloc(1, sizeof(*g) + strlen(path) + 1);
	int error;

	if (g == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	strcpy(g->path, path);
	g->page = MAP_FAILED;
	g->durable = flags & LH_GATE_DURABLE;
	g->fd = open_or_make(path, !(flags & LH_NO_CREATE));
	error = g->fd < 0 ? g->fd : check_file(g);
	if (error == 0 && g->durable)
		error = fsync(g->fd) != 0 ? fail_errno("sync", path) :
		    sync_dir(path);
	if (error != 0)
		free_gate(g);
	else
		*out = g;
	return error;
}

int
lh_gate_open(struct lh_gate **out, const char *path, const char *resource,
    uint32_t flags)
{
	char file[PATH_MAX];
	int saved = errno, error;

	if (out == NULL || (flags & ~(LH_GATE_DURABLE | LH_NO_CREATE)) != 0)
		return lhi_fail(-EINVAL, out == NULL ? "nowhere to put the "
		    "gate (NULL)" : "unknown flags for a gate");
	error = name_file(file, path, resource);
	if (error == 0)
		error = open_gate(out, file, flags);
	errno = saved;
	return error;
}

static int
check_open(const struct lh_gate *g)
{
	if (g == NULL)
		return lhi_fail(-EINVAL, "no gate was given (NULL)");
	return g->page != MAP_FAILED ? 0 : lhi_fail(-EINVAL, "this gate was "
	    "closed");
}

int
lh_gate_close(struct lh_gate *g)
{
	int saved = errno, error = check_open(g);

	if (error == 0)
		free_gate(g);
	errno = saved;
	return error;
}

/* Writes both marks to the disk, at least as they are now. */
static int
sync_marks(struct lh_gate *g)
{
	uint64_t mark[2];
	int error = read_marks(g, mark);

	if (error != 0)
		return error;
	(void)sh64_fetch_add(&g->page->writes, 1);
	lhi_point("gate.sync");
	if (msync(g->page, GATE_LEN, MS_SYNC) != 0)
		return lhi_fail(-EIO, "cannot write the gate '%.200s' to its "
		    "disk: %s; nothing may pass before that works", g->path,
		    strerror(errno));
	lhi_point("gate.synced");
	return sh64_max(&g->page->synced[LH_EXCLUSIVE], mark[LH_EXCLUSIVE]) &&
	    sh64_max(&g->page->synced[LH_SHARED], mark[LH_SHARED]) ? 0 :
	    fail_restless(g);
}

/* Decides by the marks as they are now: 0, -ESTALE, -EUCLEAN. */
static int
judge_token(const struct lh_gate *g, uint64_t token, uint32_t mode)
{
	uint64_t mark[2], larger;
	int error = read_marks(g, mark);

	if (error != 0)
		return error;
	if (token >= mark[LH_EXCLUSIVE] &&
	    (mode == LH_SHARED || token > mark[LH_SHARED]))
		return 0;
	larger = token < mark[LH_EXCLUSIVE] ? mark[LH_EXCLUSIVE] :
	    mark[LH_SHARED];
	return lhi_fail(-ESTALE, "the gate '%.200s' refuses token %llu: %llu "
	    "has been here, so its lease has ended; stop, and acquire again",
	    g->path, (unsigned long long)token, (unsigned long long)larger);
}

static int
check_token(struct lh_gate *g, uint64_t token, uint32_t mode)
{
	int error = check_unchanged(g);

	if (error == 0)
		error = judge_token(g, token, mode);
	if (error != 0)
		return error;
	lhi_point("gate.judged");
	if (!sh64_max(&g->page->mark[mode], token))
		return fail_restless(g);
	lhi_point("gate.raised");
	error = judge_token(g, token, mode);
	if (error == 0 && g->durable &&
	    sh64_load(&g->page->synced[mode]) < token)
		error = sync_marks(g);
	return error;
}

int
lh_gate_check(struct lh_gate *g, uint64_t token, uint32_t mode)
{
	int saved = errno, error = check_open(g);

	if (error != 0)
		return error;
	if (token == 0 || token > (uint64_t)TOKEN_MAX || mode > LH_SHARED)
		return lhi_fail(-EINVAL, "a token of %llu in mode %u: tokens "
		    "are 1 to 2^63 - 1, modes LH_EXCLUSIVE and LH_SHARED",
		    (unsigned long long)token, mode);
	error = check_token(g, token, mode);
	errno = saved;
	return error;
}

int
lh_gate_marks(struct lh_gate *g, uint64_t *exclusive, uint64_t *shared)
{
	uint64_t mark[2];
	int saved = errno, error = check_open(g);

	if (error == 0)
		error = check_unchanged(g);
	if (error == 0)
		error = read_marks(g, mark);
	errno = saved;
	if (error != 0)
		return error;
	if (exclusive != NULL)
		*exclusive = mark[LH_EXCLUSIVE];
	if (shared != NULL)
		*shared = mark[LH_SHARED];
	return 0;
}
